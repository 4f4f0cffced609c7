"""Loading of tasks, methods, proposers and metrics, by the name of an entry point or the path of a Python file."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import os
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

from behavesim.base.errors import RAISED, BehavesimError, PartError, nearest
from behavesim.base.text import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

# Most CPU seconds that running a plug-in's file may take when it is loaded, its imports included.
READING_S = 10.0


@dataclass(frozen=True)
class Kind:
    """A kind of plug-in: a noun such as "task", which its file assigns it to, and the error if it cannot be loaded."""

    noun: str
    error: type[BehavesimError]

    @property
    def group(self) -> str:
        """The group of its entry points, such as "behavesim.tasks"."""
        return f"behavesim.{self.noun}s"

    def installed(self) -> list[str]:
        """Return the names of all installed plug-ins of this kind, sorted."""
        return sorted({point.name for point in _entry_points(self.group)})

    def load(self, text: str) -> Any:
        """Return the plug-in that `text` names: a file's path if it ends in .py, else an entry point.

        Raises the kind's `error` if there is none, its code raises, or a file takes over READING_S of CPU time.
        """
        return self._from_file(Path(text)) if text.endswith(".py") else self._from_entry_point(text)

    def load_type(self, text: str, base: type) -> type[Any]:
        """Return the class that `text` names, as `load` does; raises `error`, too, if it is no subclass of `base`."""
        found = self.load(text)
        if not (isinstance(found, type) and issubclass(found, base)):
            wanted = f"a subclass of behavesim.{self.noun.capitalize()}"
            raise self.error(f"`{self.noun}` of {text} must be {wanted}, not {found!r}")
        least, given = getattr(base, "settings_type", object), getattr(found, "settings_type", object)
        if not (isinstance(given, type) and issubclass(given, least)):
            wanted = f"a subclass of behavesim.{least.__name__}"
            raise self.error(f"`settings_type` of the {self.noun} {text} must be {wanted}, not {given!r}")
        return found

    def place(self, text: str) -> str:
        """Return where a plug-in is, for `load_from`: a .py file's path, absolute if it exists, or MODULE:NAME."""
        return absolute(text) if text.endswith(".py") else self._entry_point(text).value

    def load_from(self, place: str) -> Any:
        """Return the plug-in at a place, without a search of the installed packages, which takes time and memory.

        Raises what `load` does for a file, for a module what importing it raises, or AttributeError.
        """
        if place.endswith(".py"):
            return self._from_file(Path(place))
        module, name = place.split(":")
        return getattr(importlib.import_module(module), name)

    def _entry_point(self, name: str) -> EntryPoint:
        # Ours first: no other package may take a name of ours, and a search of all that is installed takes 10 ms, in
        # each process of a sandbox.
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
        except RAISED as error:  # its code may raise anything, and the error must name the plug-in
            failure = one_line(f"raised {type(error).__name__}: {error}")
            raise self.error(f"the {self.noun} {name} ({point.value}) {failure}; mend or uninstall it") from error

    def _from_file(self, path: Path) -> Any:
        if not path.is_file():
            meant = nearest(path.stem, (other.stem for other in path.parent.glob("*.py") if other.is_file()), ".py")
            raise self.error(f"there is no {self.noun} file {path}{meant and f'; {meant}'}")
        # Files of one name in two folders are two modules. With one name pickle and dataclasses, which look a module up
        # by its name, would find the other file.
        name = f"behavesim_{self.noun}_{path.stem}_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path, loader=_CompiledAnew(name, str(path)))
        assert spec is not None and spec.loader is not None, "a path that ends in .py always has a loader"
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses of the file look their module up there
        try:
            with limit_cpu(READING_S):  # CPU time, so that a busy machine refuses no file
                spec.loader.exec_module(module)
        except TakesTooLong:
            line = f"the {self.noun} file {path} is not read after {READING_S:g} s of CPU time"
            raise self.error(
                f"{line}; look for a loop at its top level, and compute in methods what takes long"
            ) from None
        except RAISED as error:  # its code may raise anything, and the error must name the file and the line
            failure = one_line(f"raised {type(error).__name__}: {error}")
            number = line_in(path, error)
            where = f", in line {number}" if number else ""
            raise self.error(f"the {self.noun} file {path} {failure}{where}") from error
        if not hasattr(module, self.noun):
            raise self.error(f"the {self.noun} file {path} names no `{self.noun}`; end it with `{self.noun} = …`")
        return getattr(module, self.noun)


class _CompiledAnew(SourceFileLoader):
    """Loads a file without Python's bytecode cache: rewritten within a second, a file could load its old code."""

    # the cache compares size and modification time, with a resolution of 1 s
    def path_stats(self, path: str) -> NoReturn:
        raise OSError("the cache is not used")  # which makes Python compile the file

    def source_to_code(self, data: Any, path: Any) -> CodeType:  # type: ignore[override]
        """Return the file's code, with asserts and docstrings even under `python -OO`: a task may need both."""
        code: CodeType = compile(data, path, "exec", dont_inherit=True, optimize=0)
        return code


class TakesTooLong(Exception):
    """The block in `limit_cpu` used more CPU time than allowed."""


@contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """Raise TakesTooLong in the block once the process has used `seconds` of CPU time in it, all threads together."""
    # Time in the kernel does not count. Only the main thread receives signals: elsewhere there is no limit.
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
    from importlib.metadata import distributions

    points = (point for package in distributions(name="behavesim") for point in package.entry_points)
    return {(point.group, point.name): point for point in points}


def python_path() -> str:
    """Return PYTHONPATH for a process that can import what this one can; relative paths would mean other folders."""
    return os.pathsep.join(path for path in sys.path if Path(path).is_absolute())


def absolute(text: str) -> str:
    """Return the absolute path if `text` is that of an existing .py or .toml file, else `text`."""
    path = Path(text)
    return str(path.resolve()) if path.suffix in (".py", ".toml") and path.is_file() else text


def file_of(part: type) -> Path:
    """Return the path of the file that defines a plug-in's class; raises AttributeError in an interactive session."""
    return Path(str(sys.modules[part.__module__].__file__))


def file_hash(part: type) -> str:
    """Return the SHA-256 of the file that defines a plug-in's class; raises OSError if it is gone."""
    return hashlib.sha256(file_of(part).read_bytes()).hexdigest()


def docstring(part: type) -> str:
    """Return a class's docstring; from its source if `python -OO` left it out; "" if none."""
    found = None if part.__doc__ else definition(part)
    return inspect.cleandoc(part.__doc__ or (found and ast.get_docstring(found)) or "")


def definition(part: type) -> ast.ClassDef | None:
    """Return the syntax tree of a class statement; None if its source cannot be read."""
    try:
        text = textwrap.dedent(inspect.getsource(part))
    except OSError:
        return None
    # not ast.parse: since Python 3.14 it leaves docstrings out under `python -OO`
    tree: Any = compile(text, "<class>", "exec", ast.PyCF_ONLY_AST, optimize=0)
    (found,) = tree.body
    return found if isinstance(found, ast.ClassDef) else None


def is_own(part: type) -> bool:
    """Whether a plug-in's class is a user's, or of a built-in task."""
    # a run keeps the hash of such a file, and is not resumed with another; ours change with the version
    return not part.__module__.startswith(("behavesim.", "behavesim_offline."))


@contextmanager
def as_part_errors(part: type, noun: str) -> Iterator[None]:
    """Raise an exception of a user's plug-in in the block as PartError, which names the plug-in's file and line.

    Left as they are: a BehavesimError, and exceptions of our own parts or without a line of the part's file.
    """
    try:
        yield
    except BehavesimError:
        raise
    except RAISED as error:  # a person's code may raise anything; else nobody could tell it from a defect of ours
        line = line_in(file_of(part), error)
        if line is None or not is_own(part):
            raise
        said = one_line(f"{type(error).__name__}: {error}")
        advice = "mend it, and go on with --fork NEW-ID"
        raise PartError(f"the {noun} {file_of(part)} raised {said}, in line {line}; {advice}") from error


def line_in(file: Path, error: BaseException) -> int | None:
    """Return the number of the innermost line of `file` in an error's traceback; None if it has no line of the file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None
