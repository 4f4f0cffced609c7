"""The options that name an evaluator in place of a task, and task files written around one."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, Literal

import typer

from behavesim.application.evaluator_task import ONE_NUMBER, Made, Wanted, task_file
from behavesim.application.repository import WantedRepository
from behavesim.base.errors import UsageError
from behavesim.base.text import read_text_file
from behavesim.evaluators.calls import Called, call_evaluator
from behavesim.evaluators.conventions import convention_named
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.source import annotation_of
from behavesim.programs.edits import Frame
from behavesim.programs.functions import functions_in
from behavesim.programs.parsing import usual_imports, with_imports
from behavesim.task.evaluated import JUDGED_APART, ConventionName, EvaluatorFile

from .options import complete_tasks
from .output import tell, write_example

TaskOrNone = Annotated[
    str | None,
    typer.Argument(
        metavar="TASK",
        help="A task's name, or the path of a task file; none with --evaluator.",
        autocompletion=complete_tasks,
    ),
]
EvaluatorOption = Annotated[
    str | None,
    typer.Option(
        "--evaluator",
        metavar="E",
        help='An evaluator instead of a task: FILE.py, FILE.py:Class, module:Class, or command:"CMD {program}".',
    ),
]
ProgramOption = Annotated[
    Path | None, typer.Option("--program", metavar="FILE|DIR", help="The program that the search starts from.")
]
ConfigurationOption = Annotated[
    Path | None,
    typer.Option(
        "--evaluator-config",
        metavar="FILE.yaml",
        help="The evaluator's configuration (default: config.yaml beside it, if it is OpenEvolve's).",
    ),
]
EditsOption = Annotated[
    Literal["full", "diff"] | None,
    typer.Option(
        help="Ask for whole programs, or for SEARCH/REPLACE edits (default: the configuration's, else edits of a first "
        "program of more than 60 lines)."
    ),
]
MinimiseOption = Annotated[bool, typer.Option("--minimise", help="A lower score of the evaluator is better.")]
BestKnownOption = Annotated[
    float | None,
    typer.Option(metavar="X", help="Best score known of the evaluator, which prompts and gaps are measured by."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="The number that is the score (default: combined_score, score, or the only number beside times).",
    ),
]
BoundOption = Annotated[
    float | None, typer.Option(metavar="X", help="A score that no program can pass: a better one is rejected.")
]
RepoOption = Annotated[
    Path | None,
    typer.Option("--repo", metavar="DIR", help="Change files of this git repository; give a --command for the score."),
]
CommandOption = Annotated[
    str | None,
    typer.Option("--command", metavar="CMD", help="With --repo: prints a number or JSON last, run in a copy of it."),
]
ShowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="GLOB",
        help="With --repo: files that may change, such as 'src/*.py'; repeatable (default: sources, but no tests).",
    ),
]


# The options that belong to an evaluator, by the fields of Wanted, whose names commands give their parameters.
_FLAGS = {
    **{"program": "--program", "configuration": "--evaluator-config", "edits": "--edits"},
    **{"is_minimised": "--minimise", "best_known": "--best-known", "bound": "--bound", "metric": "--metric"},
}


@contextmanager
def open_task(task: str | None, options: Mapping[str, Any], runs: Path) -> Iterator[Made]:
    """Yield the task that a command is about: `task`, a name or path, or the file made for an evaluator.

    `options` are the command's parameters by name. A file made here lies below `runs`, the folder of the runs, and is
    removed after the block if no run uses it. Raises UsageError if no task or two are named, and as `task_file` does.
    """
    wanted = _read_options(options)
    if wanted is None and task is not None:
        yield Made(Path(task))
    elif wanted is not None and task is None:
        with task_file(wanted, runs, tell, bool(options.get("allow_weak_isolation"))) as made:
            yield made
    elif task is not None:
        raise UsageError(f"name a task or an --evaluator, not both ({task!r} stands where a task's name would)")
    else:
        raise UsageError(
            "name a task, such as tsp (`behavesim list tasks` lists them), or an evaluator and its first program "
            "with --evaluator and --program"
        )


def _read_options(options: Mapping[str, Any]) -> Wanted | None:
    """Return what the options say of an evaluator; None if they name no evaluator."""
    evaluator, repository = options.get("evaluator"), _read_repository(options)
    given = {name: options[name] for name in _FLAGS if options.get(name) is not None and options[name] is not False}
    if evaluator is None and repository is None:
        if given:
            raise UsageError(f"{_FLAGS[next(iter(given))]} belongs to an evaluator; name it with --evaluator")
        return None
    # old releases of Typer, such as 0.19, give texts here: they make paths of them for the command alone
    given |= {name: Path(given[name]) for name in ("program", "configuration") if name in given}
    return Wanted(evaluator or "", repository=repository, **given)


def _read_repository(options: Mapping[str, Any]) -> WantedRepository | None:
    folder, command, show = (options.get(name) for name in ("repo", "command", "show"))
    if folder is None:
        if command or show:
            raise UsageError(f"{'--command' if command else '--show'} belongs to a repository; name it with --repo")
        return None
    own = {"evaluator": "--evaluator", **{name: _FLAGS[name] for name in ("program", "configuration")}}
    if used := [flag for name, flag in own.items() if options.get(name)]:
        raise UsageError(f"--repo brings its program and --command its evaluator; leave {used[0]} out")
    if not (command or "").strip():
        raise UsageError('--repo needs the command that prints the score; add --command "make score"')
    return WantedRepository(Path(folder), str(command), tuple(show or ()))


# Write a task file around an evaluator, whose score is then trusted.


_READ = "the calls of the function, in order, as the evaluator makes them."
# Words above the list of calls in the written file: _READ if the calls were read from the evaluator, else _UNREAD.
_UNREAD = "the arguments of each call, in order: they could not be read from the evaluator."


def write_around(name: str, evaluator: str, program: Path | None, is_minimised: bool, metric: str = "") -> None:
    """Write the file NAME.py in the current folder: a task whose programs an evaluator scores.

    `evaluator` is a file, a class or a command, as after --evaluator. `program` is the file of the first program; None
    is allowed only for a class, which brings a program of its own. `metric` names the number that is the score. The
    calls of the program's function are read from the evaluator's text as far as possible.

    Raises UsageError if the program is missing or not a Python file. The same error follows if the evaluator calls none
    of its functions, if it lacks the function that a class calls, or if a class asks for classes. It also follows if
    `name` is not a Python name, or if the file exists or cannot be written. Raises TaskError if a class cannot say what
    it asks for, or if an EVOLVE-BLOCK has no end, SandboxError if a class is asked and the sandbox fails.
    """
    kind, place = convention_of(evaluator)
    convention = convention_named(kind)
    if kind in JUDGED_APART:
        raise UsageError(f"scores of {evaluator} are trusted already; run it with --evaluator as it is")
    if not convention.judged_by:
        raise UsageError(
            f"{evaluator} is called as {convention.called_as}, and a task is written around a file with "
            "`evaluate(program_path)`, a script, a class or a command; run it with --evaluator as it is"
        )
    better = "minimise" if is_minimised else "maximise"
    direction = {"DIRECTION": convention.decides(place).get("direction", better)}
    if convention.is_of_classes:
        if metric:
            raise UsageError(ONE_NUMBER)
        write_example("task", name, "class_evaluator", {**direction, **_around_class(kind, place, program)})
        return
    if program is None or not program.is_file():
        raise UsageError("--evaluator needs the file of the program to start from; add --program FILE")
    if program.suffix != ".py":
        raise UsageError(f"a task's programs are Python, and {program} is not; run it with --evaluator as it is")
    template = read_text_file(program, "program")
    try:
        found = _find_call(kind, place, template)
    except SyntaxError as error:
        raise UsageError(f"the first program {program} is no Python: {error}") from None
    if found is None:
        raise UsageError(f"{evaluator} calls no function of {program} by name; start from `behavesim task init {name}`")
    is_fixed = any(re.search(rf"^def {found.function}\b", text, re.MULTILINE) for text in Frame.of(template).fixed)
    path = write_example("task", name, "evaluator", {**direction, **_around_file(kind, place, found, template, metric)})
    if not found.is_known:
        lines = path.read_text(encoding="utf-8").splitlines()
        number = 1 + next(place for place, line in enumerate(lines) if line.lstrip().startswith("calls = "))
        unread = f"how often {evaluator} calls `{found.function}`, and with what, could not be read"
        tell(f"{unread}; edit line {number} of {path}")
    if is_fixed:
        tell(
            f"`{found.function}` stands outside the EVOLVE-BLOCK of {program}, and programs of the task may change it "
            "too: let `score` compute whatever it computes of an answer, or a program can give itself any score"
        )


def _find_call(kind: ConventionName, place: str, template: str) -> Called | None:
    """Return which function of the template an evaluator calls, and with what; None if it calls none by name."""
    # `place` is the evaluator's file or command. For a command, the Python files among its words are read, and the
    # first that calls a function of the template counts. If none does, it is the template's last function, with unknown
    # arguments; None if the template has none.
    if kind != "command":
        return call_evaluator(read_text_file(Path(place), "evaluator"), template, "load_evaluator(EVALUATOR)")
    scripts = [Path(word) for word in shlex.split(place) if word.endswith(".py") and Path(word).is_file()]
    found = [call_evaluator(read_text_file(script, "evaluator"), template) for script in scripts]
    functions = [node.name for node in ast.parse(template).body if isinstance(node, ast.FunctionDef)]
    guessed = Called(functions[-1], "[()]", is_known=False) if functions else None
    return next(filter(None, found), guessed)


def _around_file(kind: ConventionName, place: str, found: Called, template: str, metric: str) -> dict[str, str]:
    """Return texts for the example of a task file, by the placeholder that each replaces there."""
    # They are for an evaluator that is a script or a command, which `place` gives. `found` is the function of the first
    # program that the evaluator calls, with its calls. `template` is the text of that program.
    here = "Path(__file__).parent"
    judged = convention_named(kind).judged_by
    imported = {"behaviour_of", "send_program", judged, "Command" if kind == "command" else judged}
    return {
        "EVALUATOR_PLACE": f"Command({place!r}, {here})"
        if kind == "command"
        else f"{here} / {os.path.relpath(place)!r}",
        "IMPORTED": ", ".join(sorted(imported | ({"load_evaluator"} if "load_evaluator" in found.calls else set()))),
        "CALLS_SAID": _READ if found.is_known else _UNREAD,
        "CALLS": found.calls,
        "STARS": "**" if found.are_named else "*",
        "JUDGED": judged,
        ", CHOSEN": f", metric={metric!r}" if metric else "",
        "FUNCTION": found.function,
        "DESCRIPTION": f'"""CHANGE: say what is sought. `{found.function}` is called, and its answers are scored."""',
        "TEMPLATE_TEXT": _quote(template),
    }


def _around_class(kind: ConventionName, place: str, program: Path | None) -> dict[str, str]:
    """Return texts for the example of a task file around a class evaluator, by the placeholder that each replaces."""
    # The template is the text of `program`, or the class's own if that is None.
    said = convention_named(kind).describe(EvaluatorFile(kind, place, ""), allow_weak_isolation=True)
    template = said.template if program is None else read_text_file(program, "program")
    classes = [node.name for node in ast.parse(said.template).body if isinstance(node, ast.ClassDef)]
    if said.entry_point in classes:
        raise UsageError(f"{place} asks for a class, and a task's programs are functions; run it as it is")
    _refuse_without(said.entry_point, template, program)
    module, _, name = place.rpartition(":")
    if module.endswith(".py"):
        place = f"{os.path.relpath(module)}:{name}"
    told = (
        said.description or f"CHANGE: say what is sought. `{said.entry_point}` is called, and its replies are scored."
    )
    return {
        "EVALUATOR_PLACE": repr(place),
        "FUNCTION": said.entry_point,
        "RETURNS": annotation_of(said.template, said.entry_point),
        "DESCRIPTION": _quote(
            "\n    ".join(line for each in told.splitlines() for line in wrap(each, 110) or [""]), '"'
        ),
        "TEMPLATE_TEXT": _quote(with_imports(template.lstrip("\n"), usual_imports(""))),
    }


def _refuse_without(function: str, template: str, program: Path | None) -> None:
    """Raise UsageError if a template is no Python or has no function of this name; `program` is its file, if any."""
    try:
        if function in functions_in(template):
            return
    except SyntaxError as error:
        raise UsageError(f"the first program {program} is no Python: {error}") from None
    where = f"{program} has no" if program else "the class has no template program; add --program FILE with a"
    raise UsageError(f"{where} function `{function}`, which the evaluator calls")


def _quote(text: str, mark: str = "'") -> str:
    """Return a text as Python's triple-quoted literal, its first line below the opening quotes if `mark` is '."""
    escaped = text.replace("\\", "\\\\").replace(mark * 3, f"\\{mark}" * 3)
    if mark == '"':
        return f'"""{escaped}"""' if not escaped.endswith('"') else f'"""{escaped} """'
    return f"'''\n{escaped}'''"
