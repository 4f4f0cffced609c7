"""Finds by which convention an evaluator is called: its file is read, never imported."""

from __future__ import annotations

from pathlib import Path

from behavesim.base.errors import UsageError
from behavesim.evaluators.conventions import ORDER, convention_named
from behavesim.evaluators.source import Source
from behavesim.task.evaluated import ConventionName

# Names of evaluators' files, without suffix, as projects call them.
EVALUATORS = ("evaluator", "evaluate", "eval", "evaluation", "prob", "problem", "evaluator_stub", "validate")
# Prefix of an evaluator's text on the command line if the rest is a command.
COMMAND = "command:"
# Most evaluators that a message names in place of one that is none.
_MOST_NAMED = 3


def convention_of(text: str) -> tuple[ConventionName, str]:
    """Return the convention of an evaluator that a person named, and its place: paths made absolute, or the command.

    A file with one evaluator class needs no `:Class`. "module:Class" is not looked up. Raises UsageError if it is none
    of these.
    """
    if text.startswith(COMMAND):
        command = text.removeprefix(COMMAND).strip()
        if "{program}" not in command:
            raise UsageError(f"the command {command!r} has no {{program}}, the place of the program's path; add it")
        return "command", command
    place, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        place, name = text, ""
        if not text.endswith((".py", ".txt")) or not Path(text).is_file():
            raise UsageError(
                f"there is no evaluator {text!r}{_perhaps(Path(text))}; name a Python file, FILE.py:Class, "
                'module:Class, or "command:CMD {program}"'
            )
    source = Source(place, name)
    if name and place.endswith(".py") and name not in {*source.classes, *source.names}:
        raise UsageError(f"{place} has no class {name!r}; it has {', '.join(source.classes) or 'none'}")
    if (found := _find(source, bool(name))) is None:
        raise UsageError(
            f"{text} has neither a function `evaluate(program_path)` nor the options --program_path and --results_dir"
            f"{_perhaps(Path(text))}; name a class in it as {text}:Class, or give a command; "
            "`behavesim list evaluators` shows all shapes"
        )
    absolute = str(source.path.resolve()) if place.endswith((".py", ".txt")) else place
    has_class = convention_named(found).is_of_classes and source.name
    return found, f"{absolute}:{source.name}" if has_class else absolute


def _find(source: Source, is_class: bool) -> ConventionName | None:
    # `is_class` says that a person named a class: then only the conventions of classes are tried.
    tried = ((name, convention_named(name)) for name in ORDER)
    return next((name for name, each in tried if (each.is_of_classes or not is_class) and each.finds(source)), None)


def _perhaps(path: Path) -> str:
    """Return words that name evaluators in a folder, or beside a file that is none; "" if there are none."""
    folder = path if path.is_dir() else path.parent
    # SkyDiscover has the evaluator in a folder below that of the problem
    beside = [each for pattern in ("*.py", "*/*.py") for each in sorted(folder.glob(pattern)) if each != path]
    found = [str(each) for each in beside if each.stem in EVALUATORS and is_evaluator(each)][:_MOST_NAMED]
    return f"; perhaps {' or '.join(found)} is meant" if found else ""


def is_evaluator(path: Path) -> bool:
    """Whether a Python file is an evaluator, as `convention_of` finds it, and binds no `task`."""
    try:
        source = Source(str(path))
        return _find(source, False) is not None and "task" not in source.names
    except UsageError:
        return False
