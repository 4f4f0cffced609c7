"""Imports an evaluator's module, with its folder on `sys.path`, and gives stand-ins for packages not installed."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.base.text import parse
from behavesim.evaluators.needs import advice_on, how_to_get
from behavesim.task.evaluated import INSTANCE

# Names of parameters, behind the first, by which an evaluator's function takes the number of an instance.
NUMBERS = ("instance", "seed")
# Finds an import from a module beside a file, and the name of the package that stands in for the folder then.
_RELATIVE = re.compile(rb"^[ \t]*from \.", re.MULTILINE)
_FOLDER = "evaluators_folder"


def module_of(place: str, name: str = "") -> ModuleType:
    """Import and return the module at a path that ends in .py, or of a dotted name.

    A file is executed at each call, under `name` or its stem; its folder is put on `sys.path`. Raises TaskError, in one
    line, if the import fails.
    """
    with loading(place):
        return _import(place, name or Path(place).stem) if place.endswith(".py") else importlib.import_module(place)


@contextlib.contextmanager
def loading(place: str) -> Iterator[None]:
    """Raise TaskError, in one line, for whatever the code of the evaluator at `place` raises in the block."""
    try:
        yield
    except BehavesimError:  # which says it already
        raise
    except (Exception, SystemExit) as error:  # a script may end itself: else nobody would say why
        raise TaskError(f"the evaluator {place} cannot be loaded: {why(error, place)}") from error


def function_in(module: ModuleType, name: str, said: str) -> Callable[..., Any]:
    """Return a function of an evaluator's module; TaskError if it is missing, with `said` behind "`name"."""
    found: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(found):
        raise TaskError(f"{module.__file__} has no function `{name}{said}")
    return found


def function_taking(module: ModuleType, parameter: str, usual: str, said: str) -> Callable[..., Any]:
    """Return a module's own function whose first parameter has this name, one whose name matches `usual` if there is.

    Raises TaskError, with `said` behind the module's path, if there is none.
    """
    own = [each for each in vars(module).values() if inspect.isfunction(each) and each.__module__ == module.__name__]
    found = [each for each in own if next(iter(inspect.signature(each).parameters), "") == parameter]
    if not found:
        raise TaskError(f"{module.__file__} {said}")
    return next((each for each in found if re.fullmatch(usual, each.__name__)), found[0])


def value_in(module: ModuleType, *names: str) -> Any:
    """Return the value of the first of these names that a module has; None if it has none."""
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def numbered_arguments(function: Callable[..., Any]) -> dict[str, int]:
    """Return the number of the instance, by the name of the parameter that takes it; {} if there is none of either."""
    if INSTANCE not in os.environ:
        return {}
    taken = [name for name in list(inspect.signature(function).parameters)[1:] if name in NUMBERS]
    return {name: int(os.environ[INSTANCE]) for name in taken[:1]}


def program_function(path: Path, name: str, arguments: str = "") -> Callable[..., Any]:
    """Import a program's file and return its function of this name; ValueError if it has none."""
    found = getattr(program_at(path), name, None)
    if not callable(found):
        raise ValueError(f"the program defines no function `{name}{arguments}`")
    return found  # type: ignore[no-any-return]


def program_at(path: Path) -> ModuleType:
    """Import and return a program's file as the module `program`; raises what that raises."""
    return _import(str(path), "program")


def import_as(place: str) -> None:
    """Run only a script's top-level import statements. Raises TaskError if it cannot be read or an import fails."""
    with loading(place):
        _on_path(Path(place))
        for node in parse(Path(place).read_bytes(), place).body:
            # those below `if` and `try` are the script's own business: it may do without them
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), place, "exec"), {"__name__": "__main__"})


def why(error: BaseException, place: str) -> str:
    """Return in one line why the evaluator at `place` could not be loaded, and what to do where that is known."""
    path = place.rpartition(":")[0] if ".py:" in place else place
    script = Path(path) if path.endswith(".py") else None
    match error:
        case SyntaxError() if error.filename == place:
            return f"line {error.lineno} is no Python ({error.msg})"
        case ModuleNotFoundError() if error.name:
            package = error.name.partition(".")[0]
            return f"it imports {error.name!r}, which is not installed: {how_to_get(package, near=script)}"
        case SystemExit():
            return "it ends when it is imported; put what it does as a script below `if __name__ == '__main__':`"
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500].rstrip(".")
    advice = "" if script is None else advice_on(said, script)
    return f"{said}; {advice}" if advice else said


def tool_path() -> str:
    """Return a PATH on which `python` is this process's interpreter, with its libraries, before the system's tools."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath), "/usr/local/bin"])


def _import(place: str, name: str) -> ModuleType:
    path = Path(place)
    _on_path(path)
    if _RELATIVE.search(path.read_bytes()):
        # a package that holds the folder's modules and nothing else: its own `__init__` would import the file again
        package = sys.modules[_FOLDER] = ModuleType(_FOLDER)
        package.__path__ = [str(path.parent)]
        name = f"{_FOLDER}.{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that what it pickles for worker processes is found there
    spec.loader.exec_module(module)
    return module


def _on_path(path: Path) -> None:
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))


class StandIns(MetaPathFinder, Loader):
    """Makes modules importable that are not installed. It is the last finder, so installed modules take precedence."""

    is_stand_in = True  # what it offers does not count as installed

    def __init__(self, modules: Mapping[str, Mapping[str, object]]) -> None:
        """`modules` maps each module's full name to its contents; missing parent packages are added, empty."""
        self._contents = {
            **{parent: {} for name in modules for parent in _parents(name)},
            **{name: dict(contents) for name, contents in modules.items()},
        }
        self._repository = ""

    def install(self, repository: str = "") -> None:
        """Put this finder behind all others, or before them if only the folder `repository` has the packages.

        Modules of the repository's packages that have no stand-in are then found below the stand-ins.
        """
        # an installed package is always preferred to its stand-in; one in a repository needs packages of its own, and
        # LLM4AD's imports all its tasks
        others = [each for each in sys.path if each != repository]
        is_installed = any(PathFinder.find_spec(name, others) for name in self._contents if "." not in name)
        self._repository = "" if is_installed else repository
        sys.meta_path.insert(0 if self._repository else len(sys.meta_path), self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a stand-in; None for other names, or if the parent package is installed."""
        package = fullname.rpartition(".")[0]
        parent = sys.modules.get(package) if package else None  # others leave modules without a name there
        if fullname not in self._contents or (parent and getattr(parent.__spec__, "loader", None) is not self):
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        folder = Path(self._repository, *fullname.split("."))
        if self._repository and folder.is_dir():
            spec.submodule_search_locations = [str(folder)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Fill a stand-in module with its contents."""
        vars(module).update(self._contents[module.__name__])


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
