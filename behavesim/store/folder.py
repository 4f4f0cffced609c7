"""A run's folder: its files and how they are written, its inbox, its task's copy, and the lock that admits one writer.

Lists of runs read these, so that what takes long to load (pydantic, numpy, tasks) is imported where it is used.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behavesim.base.errors import JournalError, RunInUse, UsageError, nearest
from behavesim.base.notices import Notice
from behavesim.base.text import count_noun, printable, with_header
from behavesim.store.database import last_event_number, read_first_time

if TYPE_CHECKING:
    from behavesim.base.config import Settings

# Names under which reports keep scores on held-out and on shifted instances, and a run's summary for lists of runs.
HELD_OUT, SHIFTED, SUMMARY = "held-out.json", "shifted.json", ".summary"
# Largest number of characters of a note on a run: lists and pages show it whole or its beginning.
LONGEST_NOTE = 500
# Most bytes that are read of a file beside the journal, which anything may have written, and most characters of notes.
MOST_KEPT, MOST_NOTES = 2**26, 10**6


@dataclass(frozen=True)
class RunFolder:
    """The folder `runs/<id>` of one run; it need not exist."""

    path: Path

    @property
    def run(self) -> str:
        """The run's id: the folder's name."""
        return self.path.name

    @property
    def argument(self) -> str:
        """The text, shell-quoted, that names this run in a command: its id if its path is runs/ID, else its path."""
        return shlex.quote(self.run if self.path.parent == Path("runs") else str(self.path))

    @property
    def journal(self) -> Path:
        """The SQLite file with every event of the run."""
        return self.path / "run.db"

    @property
    def best(self) -> Path:
        """The path of the best program's file so far, or of the folder of its files; best.py while there is none."""
        others = (".draft", ".patch")  # a file that is being written, and the best program of a repository as a patch
        found = (path for path in self.path.glob("best*") if path.stem == "best" and path.suffix not in others)
        return next(found, self.path / "best.py")

    @property
    def recommended(self) -> Path:
        """The file of the program that was chosen on validation instances after the search."""
        return self.path / "recommended.py"

    @property
    def portfolio(self) -> Path:
        """The file of the portfolio: several programs of different behaviour, and code that runs them all."""
        return self.path / "portfolio.py"

    @property
    def inbox(self) -> Inbox:
        """The folder of programs and advice that people have added and the run has not taken yet; it need not exist."""
        return Inbox(self.path / "inbox")

    @property
    def settings(self) -> Path:
        """The TOML file of the resolved settings."""
        return self.path / "settings.toml"

    @property
    def notes_file(self) -> Path:
        """The text file of what people noted on the run, a line for each note; it need not exist."""
        return self.path / "notes.txt"

    @property
    def notes(self) -> tuple[str, ...]:
        """What people noted on the run, oldest first; `add_note` begins each with its day."""
        lines = (self.kept(self.notes_file.name) or "")[-MOST_NOTES:].splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    @property
    def log(self) -> Path:
        """The log file: a line for each start, resumption, fork, stop, notice and regrouping of islands."""
        return self.path / "log.txt"

    @classmethod
    def named(cls, runs: Path, name: str) -> RunFolder:
        """Return the folder `runs/name` for a new run, without making it; UsageError for a name that is not allowed."""
        if not re.fullmatch(r"[\w][\w.+-]*", name) or len(name.encode()) > 255:
            rule = "at most 255 letters, digits and . _ + -, of which . + - do not stand first"
            raise UsageError(f"a run's name is made of {rule}; not {name!r:.300}")
        return cls(runs / name)

    @contextmanager
    def created(self) -> Iterator[None]:
        """Make the folder for the block; UsageError if the name is taken or the folder cannot be made."""
        # If the block raises or is cancelled, the folder goes with all its files. Only its owner may enter it.
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            raise self._not_made(error.strerror) from None
        try:
            yield
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def refuse_at_once(self) -> None:
        """Raise UsageError if the folder exists, or no right to write prevents making it; make nothing."""
        if os.access(self.path, os.F_OK):
            raise self._taken()
        above = next(folder for folder in self.path.absolute().parents if os.access(folder, os.F_OK))
        if not os.access(above, os.W_OK | os.X_OK):
            raise self._not_made(f"{above} cannot be written to")

    def _taken(self) -> UsageError:
        return UsageError(f"{self.path} exists; resume it, or choose another name")

    def _not_made(self, reason: str | None) -> UsageError:
        return UsageError(f"cannot make the run's folder {self.path}: {reason}; choose another --runs-dir")

    @classmethod
    def is_named(cls, runs: Path, text: str) -> bool:
        """Whether `text` is the whole id of a run in `runs`, or the path of a run's folder."""
        return any(cls(path).journal.is_file() for path in (runs / text, Path(text)))

    @classmethod
    def find(cls, runs: Path, text: str) -> RunFolder:
        """Return the folder of a run given by its id in `runs`, a unique beginning of it, its path, or its journal's.

        Raises UsageError, which names up to 5 runs that could be meant, if no run or several runs match.
        """
        for path in (runs / text, Path(text), Path(text).parent if text.endswith(".db") else Path(text)):
            if (path / "run.db").is_file():  # an id in `runs` goes before a path
                return cls(path if path.name not in ("", "..") else path.resolve())  # the id is the folder's name
        if held := cls.held_by(runs, text):
            raise UsageError(
                f"{text} is no run, but holds {count_noun(len(held), 'run')}; name one, such as {text}/{held[0].run}"
            )
        known = [folder.run for folder in cls.all(runs)]
        meant = [run for run in known if text and run.startswith(text)]
        if len(meant) == 1:
            return cls(runs / meant[0])
        if meant:
            listed = ", ".join(meant[-5:])
            raise UsageError(f"{len(meant)} runs in {runs} begin with {text!r}: {listed}; name one")
        which = "runs there" if len(known) <= 5 else f"the newest of the {len(known)} runs there"
        hint = f"{which}: {', '.join(known[-5:])}" if known else "there are none yet"
        raise UsageError(f"there is no run {text!r} in {runs}; {nearest(text, known) or hint}")

    @classmethod
    def newest(cls, runs: Path) -> RunFolder:
        """Return the folder of the run in `runs` that began last; raises UsageError if there is none."""
        known = cls.all(runs)
        if not known:
            raise UsageError(f"there are no runs in {runs} yet; make one with: behavesim run tsp")
        return known[-1]

    @classmethod
    def all(cls, runs: Path, pattern: str = "*") -> list[RunFolder]:
        """Return the runs in `runs` whose folders match `pattern`, the oldest first; [] if there is no such folder."""
        found = (path.parent for path in runs.glob(f"{pattern}/run.db")) if runs.is_dir() else ()
        return sorted(map(cls, found), key=lambda folder: (folder._began(), folder.run))

    @classmethod
    def held_by(cls, runs: Path, text: str) -> list[RunFolder]:
        """Return the runs of a folder, such as an experiment's, named in `runs` or by its path; [] if it has none."""
        return (cls.all(runs / text) or cls.all(Path(text))) if text else []

    @staticmethod
    def fresh_name(task: str, now: datetime) -> str:
        """Return a name for a new run, such as "tsp-20261123-061500-3f9a": task, time, random digits."""
        stem = re.sub(r"[^\w.+-]+", "-", task).lstrip(".+-")
        return f"{stem or 'run'}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"

    @classmethod
    def fresh(cls, runs: Path, task: str, now: datetime) -> RunFolder:
        """Return the folder of a new run in `runs`, by a `fresh_name` that no run there has; nothing is made."""
        while (folder := cls.named(runs, cls.fresh_name(task, now))).path.exists():
            pass  # two runs of one second have equal digits once in 65536 times
        return folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run's lock for the block, so that no other process writes; RunInUse if one does."""
        # the kernel releases the lock when the process ends, so a killed run leaves nothing to clean up
        with ExitStack() as stack:
            with as_journal_errors(self.path):
                is_ours = stack.enter_context(lock(self.path / ".lock"))
            if not is_ours:
                advice = f"watch it with `behavesim report {self.argument} --follow`"
                raise RunInUse(f"run {self.run} is in use by another process; {advice}")
            yield

    def is_running(self) -> bool:
        """Whether a process holds the run's lock; False if its file cannot be read. This needs no right to write."""
        return is_held(self.path / ".lock")

    def has_begun(self) -> bool:
        """Whether the journal can be read and has an event; otherwise there is nothing to resume."""
        try:
            return last_event_number(self.journal) > 0
        except JournalError:
            return False

    def _began(self) -> float:
        """Return when the run began, in seconds since 1970; without a readable event, the folder's last change."""
        try:
            first = read_first_time(self.journal)
        except JournalError:
            first = None
        return self.path.stat().st_ctime if first is None else first

    def write_settings(self, values: Mapping[str, Any]) -> None:
        """Write the resolved settings as TOML, without those that are None; JournalError if it fails."""
        import tomli_w

        text = tomli_w.dumps({name: value for name, value in values.items() if value is not None})
        # on the disk before it replaces the old one: a run cannot resume without its settings
        replace_file(self.settings, text, is_lasting=True)

    def read_settings(self) -> dict[str, Any]:
        """Return the settings from the file as it is now; raises UsageError if it cannot be read."""
        from behavesim.base.config import read_toml

        return read_toml(self.settings)

    def keep_parts(self, settings: Settings) -> None:
        """Copy the files of the task and the method into the folder, if there is no copy yet; see `keep_copy`."""
        for part in PARTS:
            keep_copy(getattr(settings, part), self.path / part)

    def at_hand(self, values: Mapping[str, Any], *, but_changed: bool = False) -> dict[str, Any]:
        """Return settings by name with the run's copies in place of those files of PARTS that are gone or changed.

        `but_changed`: leave a .py file that changed as it is.
        """
        parts = {part: values[part] for part in PARTS if isinstance(values.get(part), str)}
        stay = {part for part, text in parts.items() if but_changed and text.endswith(".py") and Path(text).is_file()}
        return {**values, **{part: at_hand(text, self.path / part) for part, text in parts.items() if part not in stay}}

    def with_task_at_hand(self, settings: Settings) -> Settings:
        """Return the settings; if the task's file is gone or changed, with the run's copy, if any, in its place."""
        task = at_hand(settings.task, self.path / "task")
        return settings if task == settings.task else settings.model_copy(update={"task": task})

    def write_best(self, source: str, headline: str, suffix: str = ".py") -> None:
        """Replace the file best`suffix` in one step by the program, below `headline` as a comment."""
        # A program of several files (suffix "") replaces the folder `best`: for an instant there is none.
        from behavesim.task.evaluated import separate_files

        files = {"": source} if suffix else separate_files(source)
        if "" in files:
            replace_file(self.path / f"best{suffix}", with_header(source, headline, suffix))
            return
        draft, best = self.path / "best.draft", self.path / "best"
        with as_journal_errors(best):
            shutil.rmtree(draft, ignore_errors=True)
            for name, text in files.items():
                place = draft / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(with_header(text, headline, place.suffix), encoding="utf-8")
            shutil.rmtree(best, ignore_errors=True)
            draft.rename(best)

    def write_recommended(self, source: str, headline: str) -> None:
        """Write the program to recommended.py as `write_best` does."""
        replace_file(self.recommended, with_header(source, headline))

    def kept(self, name: str) -> str | None:
        """Return the text that `keep` last stored under this name, of a longer one the last MOST_KEPT bytes.

        None if there is none or it cannot be read.
        """
        with suppress(OSError):
            if (self.path / name).is_file():  # reading a pipe would wait for a writer
                with (self.path / name).open("rb") as file:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_KEPT))
                    return file.read(MOST_KEPT).decode(errors="replace")
        return None

    def keep(self, name: str, text: str) -> None:
        """Write `text` to the file `name` of the folder, for `kept`; do nothing if the folder is not writable."""
        if os.access(self.path, os.W_OK):
            replace_file(self.path / name, text)

    def add_note(self, text: str) -> None:
        """Append a note of one line to the run's notes, also while a search goes on; UsageError if it is too long."""
        line = printable(" ".join(text.split()))
        if not line or len(line) > LONGEST_NOTE:
            raise UsageError(f"a note has 1 to {LONGEST_NOTE} characters, this one {len(line)}; shorten or divide it")
        append_line(self.notes_file, f"{datetime.now():%Y-%m-%d} {line}")

    def note(self, line: str) -> None:
        """Append a line to the log, with the local time; raises JournalError if it cannot be written."""
        append_line(self.log, Notice(datetime.now().astimezone(), printable(line)).logged)


# The suffixes of files in an inbox: a program, whatever its language, or a sentence of advice.
PROGRAM, ADVICE = ".py", ".txt"
# Largest number of characters in a file: a program has at most 30 000, and huge texts do not fit a row of SQLite.
LONGEST = 1_000_000


@dataclass(frozen=True)
class Inbox:
    """A folder, which need not exist, of files that stay until their content is committed."""

    path: Path

    def put(self, stem: str, text: str, suffix: str = PROGRAM) -> None:
        """Add a text as the file TIME-RANDOM-`stem` with the suffix, in one step; UsageError if that fails."""
        name = f"{time.time_ns()}-{secrets.token_hex(2)}-{stem}{suffix}"
        draft = self.path / f".{name}.draft"
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            # the draft has another suffix, so the run cannot take half a text
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; put it in as its owner") from None

    def waiting(self, suffix: str = PROGRAM) -> list[tuple[str, str]]:
        """Return (file name, text) of every file with the suffix, by name, which is in order of time.

        A program that cannot be read is a comment that says so, which the run rejects; such advice is left out, as
        prompts would carry the comment.
        """
        found = [(path.name, _read(path)) for path in sorted(self.path.glob(f"*{suffix}")) if path.is_file()]
        if suffix == ADVICE:
            return [(name, text) for name, (text, why) in found if not why]
        return [(name, f"# cannot be read: {why}" if why else text) for name, (text, why) in found]

    def remove(self, name: str) -> None:
        """Delete the file `name` of the folder; do nothing if it is gone. Raises OSError if it cannot be deleted."""
        (self.path / name).unlink(missing_ok=True)


def _read(path: Path) -> tuple[str, str]:
    """Return the text of a file and "", or "" and why it is too long or cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        return "", error.strerror or type(error).__name__
    return (text, "") if len(text) <= LONGEST else ("", f"it has more than {LONGEST:,} characters")


# Tries to take the lock, and seconds between them. `is_held` of another process may hold it for an instant. And if the
# holder was killed while it started a process, that one holds the lock until it has begun its program, which takes some
# tenths of a second on a busy machine.
ATTEMPTS, PAUSE_S = 50, 0.02


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock file at `path`, made if missing, for the block; yield False if it stays taken for a second."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield any(_taken(descriptor) for _ in range(ATTEMPTS))
    finally:
        os.close(descriptor)  # which releases the lock


def _taken(descriptor: int) -> bool:
    """Return True if the lock could be taken now; else wait for PAUSE_S seconds and return False."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(PAUSE_S)
        return False
    return True


def is_held(path: Path) -> bool:
    """Whether a process holds the lock; False if the file is missing or unreadable. Needs no right to write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


# Files beside a journal are written in one step, with errors that say what to do next.


def owner_only(path: str, flags: int) -> int:
    """Open a file that, if it is made, only its owner may read: the `opener` of `open` for a run's files."""
    # a run's folder holds prompts, replies and programs, which other users of a machine must not read
    return os.open(path, flags, 0o600)


def replace_file(path: Path, text: str, is_lasting: bool = False) -> None:
    """Replace a file's text in one step, so that a reader never sees half; JournalError if it fails."""
    # with `is_lasting`, it is on the disk before it replaces the old one: a power cut leaves one of the two, never none
    draft = path.with_suffix(".draft")
    with as_journal_errors(path):
        refuse_pipe(draft)
        with open(draft, "w", encoding="utf-8", opener=owner_only) as file:
            file.write(text)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)


def append_line(path: Path, line: str) -> None:
    """Append a line and a line end to a file, made if missing; raises JournalError if it cannot be written."""
    with as_journal_errors(path):
        refuse_pipe(path)
        with open(path, "a", encoding="utf-8", opener=owner_only) as file:
            file.write(f"{line}\n")


def refuse_pipe(path: Path) -> None:
    """Raise JournalError if the path is a named pipe: opening it would wait without end for a reader."""
    if path.is_fifo():
        raise JournalError(f"cannot write {path}: it is a named pipe, not a file; remove it, then resume the run")


@contextmanager
def as_journal_errors(path: Path) -> Iterator[None]:
    """Raise an OSError of the block as JournalError, whose one line names `path` and what to do next."""
    try:
        yield
    except OSError as error:
        advice = "make room on the disk" if error.errno == errno.ENOSPC else "check that the folder is yours to write"
        raise JournalError(f"cannot write {path}: {error.strerror}; {advice}, then resume the run") from error


# The copies of a run's files in its folder, so that the run can be moved to another machine.

# The settings whose files have a copy, each in its own folder. A proposer has none: a person's may hold a key.
PARTS = ("task", "method")


def keep_copy(task: str, folder: Path) -> None:
    """Copy a part's .py or .toml file, and an evaluator's first program, into the new folder `folder`, in one step."""
    # The copy keeps the file's name, as the task may be named after it. JournalError if it fails, UsageError for bad
    # TOML.
    file = Path(task)
    if file.suffix not in (".py", ".toml") or not file.is_file() or folder.exists():
        return
    draft = folder.with_name(f"{folder.name}.draft")
    with as_journal_errors(folder):
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed while it copied
        draft.mkdir(mode=0o700)
        if file.suffix == ".py":
            shutil.copyfile(file, draft / file.name)
        else:
            _copy_evaluator(file, draft)
        # in one step: half a copy would differ from the file, and from then on be taken in its place
        draft.rename(folder)


def _copy_evaluator(file: Path, folder: Path) -> None:
    from behavesim.task.evaluated import EvaluatorFile

    said = EvaluatorFile.read(file)
    program = folder / "program" / Path(said.program).name
    program.parent.mkdir()
    if Path(said.program).is_dir():
        shutil.copytree(said.program, program, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(said.program, program)
    inside = replace(said, program=str(program.relative_to(folder)))
    (folder / file.name).write_text(inside.to_toml(), encoding="utf-8")


def at_hand(task: str, folder: Path) -> str:
    """Return `task`, or the copy's path if the file is gone or changed and there is a copy in `folder`."""
    # an evaluator's first program counts as part of the file; the evaluator has a copy, beside it, in a recording alone
    file, kept = Path(task), next((each for kind in ("*.toml", "*.py") for each in folder.glob(kind)), None)
    return task if kept is None or _is_equal(file, kept) else str(kept.resolve())


def _is_equal(file: Path, kept: Path) -> bool:
    """Whether the .py file is unchanged, or the .toml file has the same values and the same first program."""
    from behavesim.task.evaluated import EvaluatorFile, first_program

    if not file.is_file():
        return False
    if kept.suffix == ".py":
        return file.read_bytes() == kept.read_bytes()
    try:
        now, then = EvaluatorFile.read(file), EvaluatorFile.read(kept)
        programs = first_program(Path(now.program)), first_program(Path(then.program))
    except UsageError:  # such as a program that is gone
        return False
    return programs[0] == programs[1] and replace(now, program="") == replace(then, program="")
