"""Load a task, method, proposer or metric by the name of its entry point or by the path of its file."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from behavesim.base.errors import BehavesimError, PartError, nearest
from behavesim.base.text import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

READING_S = 10.0
"""CPU seconds that importing a file may take, libraries that it imports included."""


@dataclass(frozen=True)
class Kind:
    """A kind of part: the noun for it, by which its file names it too, and what is raised where one cannot be had."""

    noun: str
    error: type[BehavesimError]

    @property
    def group(self) -> str:
        """Return the group of its entry points."""
        return f"behavesim.{self.noun}s"

    def installed(self) -> list[str]:
        """Return the names of all installed parts of this kind, sorted."""
        return sorted({point.name for point in _entry_points(self.group)})

    def load(self, text: str) -> Any:
        """Return the part that `text` names; raises this kind's error where it cannot be loaded."""
        return self._from_file(Path(text)) if text.endswith(".py") else self._from_entry_point(text)

    def place(self, text: str) -> str:
        """Return where the part that `text` names is: a file's path, or MODULE:NAME. Raises this kind's error."""
        return resolved(text) if text.endswith(".py") else self._entry_point(text).value

    def load_from(self, place: str) -> Any:
        """The part that stands there, without a look at all that is installed, nor what such a look leaves in memory;
        raises whatever importing it does."""
        if place.endswith(".py"):
            return self._from_file(Path(place))
        module, name = place.split(":")
        return getattr(importlib.import_module(module), name)

    def _entry_point(self, name: str) -> EntryPoint:
        # ours first: nobody's package takes a name of ours, and looking through all that is installed takes 10 ms
        point = _ours().get((self.group, name)) or next(iter(_entry_points(self.group).select(name=name)), None)
        if point is None:
            known = self.installed()
            listed = f"there are {', '.join(known)}, or give the path of a {self.noun} file, which ends in .py"
            raise self.error(f"no {self.noun} {name!r}; {nearest(name, known) or listed}")
        return point

    def _from_entry_point(self, name: str) -> Any:
        point = self._entry_point(name)
        try:
            return point.load()
        except Exception as error:
            failure = one_line(f"raised {type(error).__name__}: {error}")
            raise self.error(f"the {self.noun} {name} ({point.value}) {failure}; mend or uninstall it") from error

    def _from_file(self, path: Path) -> Any:
        if not path.is_file():
            meant = nearest(path.name, (other.name for other in path.parent.glob("*.py")))
            raise self.error(f"there is no {self.noun} file {path}{meant and f'; {meant}'}")
        # files of one name in two folders are two modules: what is looked up by a module's name must find its own
        name = f"behavesim_{self.noun}_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path, loader=_CompiledAnew(name, str(path)))
        assert spec is not None and spec.loader is not None, "a path that ends in .py always has a loader"
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses of the file look their module up there
        try:
            with cpu_limited(READING_S):
                spec.loader.exec_module(module)
        except TakesTooLong:
            line = f"the {self.noun} file {path} is not read after {READING_S:g} s of CPU time"
            raise self.error(
                f"{line}; look for a loop at its top level, and compute in methods what takes long"
            ) from None
        except Exception as error:
            failure = one_line(f"raised {type(error).__name__}: {error}")
            number = _line_in(str(path), error)
            where = f", in line {number}" if number else ""
            raise self.error(f"the {self.noun} file {path} {failure}{where}") from error
        if not hasattr(module, self.noun):
            raise self.error(f"the {self.noun} file {path} names no `{self.noun}`; end it with `{self.noun} = …`")
        return getattr(module, self.noun)


class _CompiledAnew(SourceFileLoader):
    """Loads a file without Python's bytecode cache, which compares size and modification time (1 s resolution).

    A file rewritten within a second could load its old code."""

    def path_stats(self, path: str) -> NoReturn:
        raise OSError("whether the file has changed is not asked")

    def source_to_code(self, data: Any, path: Any) -> CodeType:  # type: ignore[override]
        """Compile with asserts and docstrings, whatever PYTHONOPTIMIZE says: a task may need both."""
        code: CodeType = compile(data, path, "exec", dont_inherit=True, optimize=0)
        return code


class TakesTooLong(Exception):
    """A plug-in's code used more CPU time than it may."""


@contextmanager
def cpu_limited(seconds: float) -> Iterator[None]:
    """Raise TakesTooLong in what takes more CPU time; other threads than the main one hear no signals, nor limits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum: int, frame: FrameType | None) -> None:
        raise TakesTooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _entry_points(group: str) -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _ours() -> dict[tuple[str, str], EntryPoint]:
    """Return the entry points of this package, by group and name."""
    from importlib.metadata import distributions

    points = (point for package in distributions(name="behavesim") for point in package.entry_points)
    return {(point.group, point.name): point for point in points}


def resolved(text: str) -> str:
    """Return a part's name, or the absolute path of its file."""
    path = Path(text)
    return str(path.resolve()) if path.suffix == ".py" and path.is_file() else text


def file_of(part: type) -> Path:
    """Return the file that defines a part's class."""
    return Path(str(sys.modules[part.__module__].__file__))


def file_hash(part: type) -> str:
    """Return the SHA-256 of that file, as hexadecimal digits."""
    return hashlib.sha256(file_of(part).read_bytes()).hexdigest()


def docstring(part: type) -> str:
    """Return the docstring of a class, from its source where PYTHONOPTIMIZE=2 left it out; empty if it has none."""
    if part.__doc__ or sys.flags.optimize < 2:
        return inspect.cleandoc(part.__doc__ or "")
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    except OSError:  # nobody has its source
        return ""
    return (ast.get_docstring(definition) or "") if isinstance(definition, ast.ClassDef) else ""


def is_own(part: type) -> bool:
    """Return whether a part comes from outside this package, so that a run depends on its file."""
    return not part.__module__.startswith("behavesim.")


@contextmanager
def failures_named(part: type, noun: str) -> Iterator[None]:
    """Turn exceptions of a plug-in into PartError, which names its line; those of our own parts stay."""
    try:
        yield
    except BehavesimError:
        raise
    except Exception as error:
        line = line_in(part, error)
        if line is None or not is_own(part):
            raise
        said = one_line(f"{type(error).__name__}: {error}")
        advice = "mend it, and go on with --fork NEW-ID"
        raise PartError(f"the {noun} {file_of(part)} raised {said}, in line {line}; {advice}") from error


def line_in(part: type, error: BaseException) -> int | None:
    """Return the last line of a part's file in an error's traceback; None where there is none."""
    return _line_in(str(file_of(part)), error)


def _line_in(file: str, error: BaseException) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
