"""A run's folder: the paths of its journal, settings, programs and log, and the lock that lets one process write."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behavesim.base.errors import BehavesimError, JournalError, UsageError, nearest
from behavesim.base.notices import Notice
from behavesim.base.text import comment, number, printable
from behavesim.store.database import first_time, last_event
from behavesim.store.inbox import Inbox
from behavesim.store.lock import Lock, is_held
from behavesim.store.writing import append_line, replace_file, write_errors_named

if TYPE_CHECKING:
    from behavesim.base.config import Settings


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
        """The argument that names this run in a shell command: its id if it is in `runs`, else its path; quoted."""
        return shlex.quote(self.run if self.path.parent == Path("runs") else str(self.path))

    @property
    def journal(self) -> Path:
        """The SQLite file with every event of the run."""
        return self.path / "run.db"

    @property
    def best(self) -> Path:
        """The file of the best program so far; the search keeps it up to date."""
        return self.path / "best.py"

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
        """The programs that people have added and the run has not taken yet."""
        return Inbox(self.path / "inbox")

    @property
    def settings(self) -> Path:
        """The TOML file of the resolved settings."""
        return self.path / "settings.toml"

    @property
    def log(self) -> Path:
        """The log file: one line for each start, stop or notice."""
        return self.path / "log.txt"

    @property
    def _task(self) -> Path:
        return self.path / "task"

    @property
    def _lock(self) -> Path:
        return self.path / ".lock"

    @property
    def _held_out(self) -> Path:
        return self.path / "held-out.json"

    @property
    def _summary(self) -> Path:
        return self.path / ".summary"

    @classmethod
    def named(cls, runs: Path, name: str) -> RunFolder:
        """Return the folder `runs/name` for a new run, without making it.

        Raises UsageError if the name has other characters than letters, digits and . _ + -, or begins with . + or -.
        """
        if not re.fullmatch(r"[\w][\w.+-]*", name):
            raise UsageError(f"a run's name is made of letters, digits and . _ + -, not {name!r}")
        return cls(runs / name)

    @contextmanager
    def created(self) -> Iterator[None]:
        """Make the folder for the block; remove it with all its files if the block raises or is cancelled.

        Raises UsageError if the name is taken or the folder cannot be made.
        """
        self._create()
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
        return UsageError(f"{self.path} exists; resume it, or choose another --name")

    def _not_made(self, reason: str | None) -> UsageError:
        return UsageError(f"cannot make the run's folder {self.path}: {reason}; choose another --runs-dir")

    def _create(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir()
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            raise self._not_made(error.strerror) from None

    @classmethod
    def find(cls, runs: Path, text: str) -> RunFolder:
        """Return the folder of a run given by its id, the beginning of one id alone, its path or its journal's path.

        Raises UsageError that names the possible runs if no run or several runs match.
        """
        for path in (runs / text, Path(text), Path(text).parent if text.endswith(".db") else Path(text)):
            if (path / "run.db").is_file():
                return cls(path if path.name not in ("", "..") else path.resolve())  # the id is the folder's name
        if text and (held := cls.all(runs / text)):
            raise UsageError(
                f"{text} is no run, but holds {number(len(held), 'run')}; name one, such as {text}/{held[0].run}"
            )
        known = [folder.run for folder in cls.all(runs)]
        meant = [run for run in known if text and run.startswith(text)]
        if len(meant) == 1:
            return cls(runs / meant[0])
        if meant:
            listed = ", ".join(meant[-5:])
            raise UsageError(f"{len(meant)} runs in {runs} begin with {text!r}: {listed}; name one")
        hint = f"runs there: {', '.join(known[-5:])}" if known else "there are none yet"
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
        """Return the runs in `runs` that match `pattern`, oldest first; an experiment's runs match `*/*`."""
        found = (path.parent for path in runs.glob(f"{pattern}/run.db")) if runs.is_dir() else ()
        return sorted(map(cls, found), key=lambda folder: (folder._began(), folder.run))

    @staticmethod
    def fresh_name(task: str, now: datetime) -> str:
        """Return a name for a new run: the task, the time `now`, and random digits to tell runs of one second apart."""
        stem = re.sub(r"[^\w.+-]+", "-", task).lstrip(".+-")
        return f"{stem or 'run'}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; raises BehavesimError where another process holds it.

        The kernel drops the lock with the process, so a killed run leaves nothing to clean up.
        """
        with write_errors_named(self.path):
            lock = Lock(self._lock)
        with closing(lock):
            if not lock.take():
                advice = f"watch it with `behavesim watch {self.argument}`"
                raise BehavesimError(f"run {self.run} is in use by another process; {advice}")
            yield

    def is_running(self) -> bool:
        """Whether a process holds the run's lock; needs no right to write."""
        return is_held(self._lock)

    def has_begun(self) -> bool:
        """Whether the journal can be read and has an event. A run killed in its first instant has none to resume."""
        try:
            return last_event(self.journal) > 0
        except JournalError:
            return False

    def _began(self) -> float:
        """Return when the run began, in seconds since 1970; without a readable event, the folder's last change."""
        try:
            first = first_time(self.journal)
        except JournalError:
            first = None
        return self.path.stat().st_ctime if first is None else first

    def write_settings(self, values: Mapping[str, Any]) -> None:
        """Write the resolved settings as TOML; settings that are None are left out.

        The file is synced to the disk before it replaces the old one: a run cannot resume without its settings.
        Raises JournalError if it cannot be written.
        """
        import tomli_w

        text = tomli_w.dumps({name: value for name, value in values.items() if value is not None})
        replace_file(self.settings, text, is_lasting=True)

    def read_settings(self) -> dict[str, Any]:
        """Return the settings from the file as it is now; raises UsageError if it cannot be read."""
        from behavesim.base.config import read_toml

        return read_toml(self.settings)

    def keep_task(self, task: str) -> None:
        """Copy the task's file into the folder, so that the run can be moved to another machine.

        Do nothing if `task` is a name and not a `.py` file, or if there is a copy already. The copy keeps the file's
        name, because the task may be named after it. Raises JournalError if the copy fails.
        """
        file = Path(task)
        if file.suffix == ".py" and not self._task.exists():
            with write_errors_named(self._task):
                self._task.mkdir()
                shutil.copyfile(file, self._task / file.name)

    def with_task_at_hand(self, settings: Settings) -> Settings:
        """Return the settings; if the task's file is gone or was changed, with the run's own copy of it instead."""
        file, kept = Path(settings.task), next(self._task.glob("*.py"), None)
        if kept is None or (file.is_file() and file.read_bytes() == kept.read_bytes()):
            return settings
        return settings.model_copy(update={"task": str(kept.resolve())})

    def write_best(self, source: str, headline: str) -> None:
        """Replace best.py by the program below its headline; atomic, raises JournalError if it cannot be written."""
        replace_file(self.best, headed(source, headline))

    def write_recommended(self, source: str, headline: str) -> None:
        """Replace recommended.py as `write_best` replaces best.py."""
        replace_file(self.recommended, headed(source, headline))

    def write_portfolio(self, text: str) -> None:
        """Replace portfolio.py by this text; atomic, raises JournalError if it cannot be written."""
        replace_file(self.portfolio, text)

    def read_held_out(self) -> str | None:
        """Return the JSON that `write_held_out` kept: results on held-out instances; None if there is none."""
        return self._held_out.read_text(encoding="utf-8") if self._held_out.is_file() else None

    def write_held_out(self, text: str) -> None:
        """Keep results on held-out instances, as JSON; atomic. Do nothing if the folder is not writable."""
        if os.access(self.path, os.W_OK):
            replace_file(self._held_out, text)

    def read_summary(self) -> str | None:
        """Return the text that `write_summary` kept last; None if there is none or it cannot be read."""
        try:
            return self._summary.read_text(encoding="utf-8", errors="replace") if self._summary.is_file() else None
        except OSError:
            return None

    def write_summary(self, text: str) -> None:
        """Keep the run's summary for later lists of runs; atomic. Do nothing if the folder is not writable."""
        if os.access(self.path, os.W_OK):
            replace_file(self._summary, text)

    def note(self, line: str) -> None:
        """Append a line to the log, with the local time; raises JournalError if it cannot be written."""
        append_line(self.log, Notice(datetime.now().astimezone(), printable(line)).logged)


def headed(source: str, headline: str) -> str:
    """Return the program's text below the headline, which becomes one line of comment.

    A blank line follows: Python reads an encoding from the first two lines only, so none of the program's own
    comments can set one.
    """
    return f"{comment(headline)}\n\n{source.strip()}\n"
