"""A run's folder: where its journal, settings, best program and log are, and who may write them."""

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
from behavesim.store.writing import append_line, replace_file, reported

if TYPE_CHECKING:
    from behavesim.base.config import Settings


@dataclass(frozen=True)
class RunFolder:
    """The folder `runs/<id>` of one run."""

    path: Path

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def argument(self) -> str:
        """What a command typed here calls the run: its id below `runs`, elsewhere its path, quoted for a shell."""
        return shlex.quote(self.run if self.path.parent == Path("runs") else str(self.path))

    @property
    def journal(self) -> Path:
        """The SQLite file with every event of the run."""
        return self.path / "run.db"

    @property
    def best(self) -> Path:
        """The best program so far, kept current."""
        return self.path / "best.py"

    @property
    def recommended(self) -> Path:
        """The program chosen on validation instances at the end."""
        return self.path / "recommended.py"

    @property
    def portfolio(self) -> Path:
        """Several programs that behave differently, in one file that runs them all."""
        return self.path / "portfolio.py"

    @property
    def inbox(self) -> Inbox:
        """Programs that people put in, until the run has them."""
        return Inbox(self.path / "inbox")

    @property
    def settings(self) -> Path:
        """The resolved settings."""
        return self.path / "settings.toml"

    @property
    def log(self) -> Path:
        """One line for each thing worth knowing that happened to the run."""
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
        """The folder of a run to be, not made yet; raises UsageError where the name could lead elsewhere."""
        if not re.fullmatch(r"[\w][\w.+-]*", name):
            raise UsageError(f"a run's name is made of letters, digits and . _ + -, not {name!r}")
        return cls(runs / name)

    @contextmanager
    def created(self) -> Iterator[None]:
        """Make the folder, and remove it again where what makes it a run fails or is cancelled.

        Raises UsageError where the name is taken, or the place is not writable.
        """
        self._create()
        try:
            yield
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def refuse_at_once(self) -> None:
        """Raise UsageError where it can be seen already that the folder cannot be made."""
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
        """The folder of a run given by its id, by the beginning of one that no other has, or by its path.

        Raises UsageError that names other runs where there is none, or several.
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
        """The run that was begun last; raises UsageError where there is none."""
        known = cls.all(runs)
        if not known:
            raise UsageError(f"there are no runs in {runs} yet; make one with: behavesim run tsp")
        return known[-1]

    @classmethod
    def all(cls, runs: Path, pattern: str = "*") -> list[RunFolder]:
        """All runs of a folder, oldest first; those of experiments lie below `*/*`."""
        found = (path.parent for path in runs.glob(f"{pattern}/run.db")) if runs.is_dir() else ()
        return sorted(map(cls, found), key=lambda folder: (folder._began(), folder.run))

    @staticmethod
    def fresh_name(task: str, now: datetime) -> str:
        """A name that tells task and time, and that no other run started in the same second has, on any machine."""
        stem = re.sub(r"[^\w.+-]+", "-", task).lstrip(".+-")
        return f"{stem or 'run'}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; raises BehavesimError where another process holds it.

        The kernel drops the lock with the process, so a killed run leaves nothing to clean up.
        """
        with reported(self.path):
            lock = Lock(self._lock)
        with closing(lock):
            if not lock.take():
                advice = f"watch it with `behavesim watch {self.argument}`"
                raise BehavesimError(f"run {self.run} is in use by another process; {advice}")
            yield

    def is_running(self) -> bool:
        """Whether a process holds the run; looking needs no right to write."""
        return is_held(self._lock)

    def has_begun(self) -> bool:
        """Whether there is something to resume: a run killed in its first instant has a folder and no event."""
        try:
            return last_event(self.journal) > 0
        except JournalError:
            return False

    def _began(self) -> float:
        """When the run was begun, in seconds since 1970; what came last to a folder without an event."""
        try:
            first = first_time(self.journal)
        except JournalError:
            first = None
        return self.path.stat().st_ctime if first is None else first

    def write_settings(self, values: Mapping[str, Any]) -> None:
        """Write the resolved settings as TOML; those that are None are left out.

        They are on the disk before they replace others: without them there is no going on after a power cut.
        """
        import tomli_w

        text = tomli_w.dumps({name: value for name, value in values.items() if value is not None})
        replace_file(self.settings, text, is_lasting=True)

    def read_settings(self) -> dict[str, Any]:
        """The settings as they stand in the folder now; raises UsageError where they cannot be read."""
        from behavesim.base.config import read_toml

        return read_toml(self.settings)

    def keep_task(self, task: str) -> None:
        """Copy the file that a task is in, once, so that the run can be moved; a task by its name needs no copy.

        The file keeps its name, which may be the task's.
        """
        file = Path(task)
        if file.suffix == ".py" and not self._task.exists():
            with reported(self._task):
                self._task.mkdir()
                shutil.copyfile(file, self._task / file.name)

    def with_task_at_hand(self, settings: Settings) -> Settings:
        """The settings, with the run's own copy of its task's file where that file is gone or was changed since."""
        file, kept = Path(settings.task), next(self._task.glob("*.py"), None)
        if kept is None or (file.is_file() and file.read_bytes() == kept.read_bytes()):
            return settings
        return settings.model_copy(update={"task": str(kept.resolve())})

    def write_best(self, source: str, headline: str) -> None:
        """Replace best.py in one step, so that a reader never sees half of it."""
        replace_file(self.best, headed(source, headline))

    def write_recommended(self, source: str, headline: str) -> None:
        """Replace recommended.py in one step."""
        replace_file(self.recommended, headed(source, headline))

    def write_portfolio(self, text: str) -> None:
        """Replace portfolio.py in one step."""
        replace_file(self.portfolio, text)

    def read_held_out(self) -> str | None:
        """What reports have found out about the run's programs on held-out instances, as JSON; None where nothing."""
        return self._held_out.read_text(encoding="utf-8") if self._held_out.is_file() else None

    def write_held_out(self, text: str) -> None:
        """Replace what reports know, in one step; a folder that may only be read stays as it is."""
        if os.access(self.path, os.W_OK):
            replace_file(self._held_out, text)

    def read_summary(self) -> str | None:
        """The run's summary as it was last found out, and what tells whether it still holds; None where it was not."""
        try:
            return self._summary.read_text(encoding="utf-8", errors="replace") if self._summary.is_file() else None
        except OSError:
            return None

    def write_summary(self, text: str) -> None:
        """Replace the summary, in one step; a folder that may only be read stays as it is."""
        if os.access(self.path, os.W_OK):
            replace_file(self._summary, text)

    def note(self, line: str) -> None:
        """Append a line to the log."""
        append_line(self.log, Notice(datetime.now().astimezone(), printable(line)).logged)


def headed(source: str, headline: str) -> str:
    """Return the program below a headline, which stays on one line of comment whatever a folder's name holds.

    Python reads an encoding from the first two lines alone, so a comment of the program's own names none.
    """
    return f"{comment(headline)}\n\n{source.strip()}\n"
