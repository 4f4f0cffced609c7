"""Write a task file around an evaluator, whose score is then trusted."""

from __future__ import annotations

import ast
import asyncio
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file
from behavesim.evaluators.calling import Called, called_by
from behavesim.evaluators.description import described
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.template import annotation_of, is_class, with_imports
from behavesim.task.evaluated import Convention

from .output import tell
from .own_file import write_example

_JUDGED = {"openevolve": "judged", "shinka": "judged_by_script", "command": "judged_by_command"}
"""What the written file asks for a score, for each kind of evaluator."""
_IMPORTED = {
    "openevolve": "behaviour_of, judged, sent",
    "shinka": "behaviour_of, judged_by_script, loaded, sent",
    "command": "Command, behaviour_of, judged_by_command, sent",
}
_READ = "the calls of the function, in order, as the evaluator makes them."
_UNREAD = "the arguments of each call, in order: they could not be read from the evaluator."


@dataclass(frozen=True)
class Around:
    """What a person named: the evaluator's kind and place, the first program, and whether lower scores are better."""

    kind: Convention
    place: str
    program: Path | None
    is_minimised: bool


def write_around(name: str, evaluator: str, program: Path | None, is_minimised: bool) -> None:
    """Write the file NAME.py in the current folder, around an evaluator of any kind and a first program.

    The function that the evaluator calls, and what it calls it with, are read from its text as far as possible. Raises
    UsageError if the program is not a Python file, if none of its functions is called, or as `write_example` does;
    TaskError if a class is unusable.
    """
    kind, place = convention_of(evaluator)
    around = Around(kind, place, program, is_minimised or kind == "eoh")
    if kind in ("llm4ad", "eoh"):
        write_example("task", name, "class_evaluator", _around_class(around))
        return
    if program is None or not program.is_file():
        raise UsageError("--evaluator needs the file of the program to start from; add --program FILE")
    if program.suffix != ".py":
        raise UsageError(f"a task's programs are Python, and {program} is not; run it with --evaluator as it is")
    template = read_text_file(program, "program")
    try:
        found = _called(around, template)
    except SyntaxError as error:
        raise UsageError(f"the first program {program} is no Python: {error}") from None
    if found is None:
        raise UsageError(f"{evaluator} calls no function of {program} by name; start from `behavesim task init {name}`")
    path = write_example("task", name, "evaluator", _around_file(around, found, template))
    if not found.is_known:
        lines = path.read_text(encoding="utf-8").splitlines()
        number = 1 + next(place for place, line in enumerate(lines) if line.lstrip().startswith("calls = "))
        unread = f"how often {evaluator} calls `{found.function}`, and with what, could not be read"
        tell(f"{unread}; edit line {number} of {path}")


def _called(around: Around, template: str) -> Called | None:
    """Return what an evaluator calls; of a command, the first Python file among its words.

    If that calls none, it is the program's last function, with unknown arguments."""
    if around.kind != "command":
        return called_by(read_text_file(Path(around.place), "evaluator"), template, "loaded(EVALUATOR)")
    scripts = [Path(word) for word in shlex.split(around.place) if word.endswith(".py") and Path(word).is_file()]
    found = [called_by(read_text_file(script, "evaluator"), template) for script in scripts]
    functions = [node.name for node in ast.parse(template).body if isinstance(node, ast.FunctionDef)]
    guessed = Called(functions[-1], "[()]", is_known=False) if functions else None
    return next(filter(None, found), guessed)


def _around_file(around: Around, found: Called, template: str) -> dict[str, str]:
    here = "Path(__file__).parent"
    command = f"Command({around.place!r}, {here})"
    return {
        "EVALUATOR_PLACE": command if around.kind == "command" else f"{here} / {os.path.relpath(around.place)!r}",
        "IMPORTED": _IMPORTED[around.kind]
        if "loaded" in found.calls
        else _IMPORTED[around.kind].replace("loaded, ", ""),
        "DIRECTION": "minimise" if around.is_minimised else "maximise",
        "CALLS_SAID": _READ if found.is_known else _UNREAD,
        "CALLS": found.calls,
        "STARS": "**" if found.are_named else "*",
        "JUDGED": _JUDGED[around.kind],
        "FUNCTION": found.function,
        "DESCRIPTION": f'"""CHANGE: say what is sought. `{found.function}` is called, and its answers are scored."""',
        "TEMPLATE_TEXT": _quoted(template),
    }


def _around_class(around: Around) -> Mapping[str, str]:
    said = asyncio.run(described(around.place, allow_weak_isolation=True))
    template = said.template if around.program is None else read_text_file(around.program, "program")
    if is_class(said.template, said.entry_point):
        raise UsageError(f"{around.place} asks for a class, and a task's programs are functions; run it as it is")
    module, _, name = around.place.rpartition(":")
    place = f"{os.path.relpath(module)}:{name}" if module.endswith(".py") else around.place
    told = (
        said.description or f"CHANGE: say what is sought. `{said.entry_point}` is called, and its replies are scored."
    )
    return {
        "EVALUATOR_PLACE": repr(place),
        "DIRECTION": "minimise" if around.is_minimised else "maximise",
        "FUNCTION": said.entry_point,
        "RETURNS": annotation_of(said.template, said.entry_point),
        "DESCRIPTION": _quoted(
            "\n    ".join(line for each in told.splitlines() for line in wrap(each, 110) or [""]), '"'
        ),
        "TEMPLATE_TEXT": _quoted(with_imports(template)),
    }


def _quoted(text: str, mark: str = "'") -> str:
    """Return a text as Python's triple-quoted literal, its first line below the opening quotes if `mark` is '."""
    escaped = text.replace("\\", "\\\\").replace(mark * 3, f"\\{mark}" * 3)
    if mark == '"':
        return f'"""{escaped}"""' if not escaped.endswith('"') else f'"""{escaped} """'
    return f"'''\n{escaped}'''"
