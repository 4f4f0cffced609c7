"""Reads evaluators without running them: their convention, configuration file and template."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behavesim.base.errors import TaskError, UsageError
from behavesim.base.text import parse, validation_message
from behavesim.base.text_file import read_text_file
from behavesim.programs.functions import functions_in
from behavesim.task.evaluated import Convention, EvaluatorFile

# Prefix of an evaluator's text on the command line if the rest is a command.
COMMAND = "command:"


def convention_of(text: str) -> tuple[Convention, str]:
    """Return the convention of an evaluator that a person named, and its place: paths made absolute, or the command.

    A script with `--program_path` and `--results_dir` is ShinkaEvolve's, a file with `evaluate` or `evaluate_stage1`
    OpenEvolve's. A class derived from `BaseProblem`, or in the package `eoh`, is EoH's. So is one of EoH's older shape:
    without a base class and with `evaluate`, not `evaluate_program`. Any other is LLM4AD's;
    "module:Class" is not looked up. Raises UsageError if it is none of these, a file cannot be read or is no Python, or
    a command has no `{program}`.
    """
    if text.startswith(COMMAND):
        command = text.removeprefix(COMMAND).strip()
        if "{program}" not in command:
            raise UsageError(f"the command {command!r} has no {{program}}, the place of the program's path; add it")
        return "command", command
    place, colon, name = text.rpartition(":")
    if colon and name.isidentifier():
        return _of_class(place, name), f"{_absolute(place)}:{name}"
    if not text.endswith(".py") or not Path(text).is_file():
        raise UsageError(
            f"there is no evaluator {text!r}; name a Python file, FILE.py:Class, module:Class, or "
            '"command:CMD {program}"'
        )
    return _of_file(text), _absolute(text)


def _of_file(place: str) -> Convention:
    """Return a file's convention by the names in its text; raises UsageError if it has none, or cannot be read."""
    source = read_text_file(Path(place), "evaluator")
    if "--program_path" in source and "--results_dir" in source:
        return "shinka"
    if {"evaluate", "evaluate_stage1"} & {name for node in _tree(source, place).body for name in _bound_by(node)}:
        return "openevolve"
    raise UsageError(
        f"{place} has neither a function `evaluate(program_path)` nor the options --program_path and --results_dir; "
        f"name a class in it as {place}:Class, or give a command"
    )


def _of_class(place: str, name: str) -> Convention:
    """Return the convention of an evaluator class: "eoh" or "llm4ad"."""
    # `place` is the path of a .py file or the name of a module. In a file, a class with the base `BaseProblem` follows
    # "eoh", and one of EoH's older shape; a module does so if it is in the package `eoh`. All others follow "llm4ad".
    if not place.endswith(".py"):
        return "eoh" if place.split(".")[0] == "eoh" else "llm4ad"
    classes = [
        node for node in _tree(read_text_file(Path(place), "evaluator"), place).body if isinstance(node, ast.ClassDef)
    ]
    for node in classes:
        if node.name == name:
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            is_older = not bases and "evaluate" in methods and "evaluate_program" not in methods
            return "eoh" if is_older or "BaseProblem" in bases else "llm4ad"
    raise UsageError(f"{place} has no class {name!r}; it has {', '.join(node.name for node in classes) or 'none'}")


def is_evaluator(path: Path) -> bool:
    """Whether a Python file is an evaluator, as `convention_of` finds it, and binds no `task`; False if unreadable."""
    try:
        _of_file(str(path))
        bound = (name for node in _tree(read_text_file(path, "evaluator"), str(path)).body for name in _bound_by(node))
        return "task" not in bound
    except UsageError:
        return False


def stages_in(place: str) -> int:
    """Return how many stages the file of an OpenEvolve evaluator defines: `evaluate_stage1`, 2 and 3, without a gap.

    Raises UsageError if the file cannot be read or is no Python.
    """
    body = _tree(read_text_file(Path(place), "evaluator"), place).body
    bound = {name for node in body for name in _bound_by(node)}
    return next((stage for stage in range(3) if f"evaluate_stage{stage + 1}" not in bound), 3)


def most_thresholds(convention: Convention, place: str) -> int:
    """Return how many thresholds of stages an evaluator uses; `convention` and `place` are as from `convention_of`.

    It is one for each stage but the last, one for a single stage, and 0 without stages. Raises as `stages_in`.
    """
    stages = stages_in(place) if convention == "openevolve" else 0
    return max(stages - 1, 1) if stages else 0


def refuse_unused_thresholds(file: EvaluatorFile) -> None:
    """Raise UsageError if a task's file has more thresholds than its evaluator uses, or as `stages_in`."""
    if file.thresholds and len(file.thresholds) > (most := most_thresholds(file.convention, file.evaluator)):
        used = f"uses {most} of them: one for each stage but the last" if most else "has no stages, so it uses none"
        raise UsageError(f"there are {len(file.thresholds)} thresholds, and the evaluator {used}; delete the others")


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names bound by a function definition, a `from` import, or an assignment to names."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)


def _tree(source: str, place: str) -> ast.Module:
    try:
        return parse(source)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the evaluator {place} is no Python: {error}") from None


def _absolute(place: str) -> str:
    return str(Path(place).resolve()) if place.endswith(".py") else place


# Reads an OpenEvolve configuration file (config.yaml): the values that are used here, and the keys ignored.


class _Read(BaseModel):
    """The keys of the file that are read, dotted, as fields with the names that they have here."""

    # Null counts as missing.

    model_config = ConfigDict(allow_inf_nan=False)

    budget: int | None = Field(None, alias="max_iterations")
    seed: int | None = Field(None, alias="random_seed")
    is_diff: bool | None = Field(None, alias="diff_based_evolution")
    description: str | None = Field(None, alias="prompt.system_message")
    timeout_s: float | None = Field(None, alias="evaluator.timeout")
    best_known: float | None = None
    has_stages: bool = Field(True, alias="evaluator.cascade_evaluation")
    thresholds: tuple[float, ...] = Field((0.5, 0.75, 0.9), alias="evaluator.cascade_thresholds")

    def values(self, thresholds: int) -> dict[str, Any]:
        """Return the values that are known, by names of `EvaluatorFile` fields and settings."""
        # Of the thresholds they have at most so many as the evaluator uses, and none of them if it has no stages.
        found = {
            "budget": self.budget,
            "seed": self.seed,
            "edits": None if self.is_diff is None else "diff" if self.is_diff else "full",
            "description": None if self.description is None else self.description.strip(),
            "timeout_s": self.timeout_s,
            "best_known": self.best_known,
            "thresholds": (self.has_stages and self.thresholds[:thresholds]) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Configuration:
    """Values of a config.yaml, by names of `EvaluatorFile` fields and settings.

    `ignored` are its other dotted keys; among them that of the thresholds, with those that are not used.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @classmethod
    def usual(cls, thresholds: int) -> Configuration:
        """Return what holds without a file: only so many of OpenEvolve's thresholds 0.5, 0.75 and 0.9."""
        return cls(_Read.model_validate({}).values(thresholds))


def read_configuration(path: Path, thresholds: int) -> Configuration:
    """Return what a config.yaml says; `thresholds` is the largest number of them that the evaluator uses.

    They are OpenEvolve's defaults if the file gives none and does not turn stages off. A file without a mapping counts
    as empty. Raises UsageError if the file cannot be read, is not YAML, or a value has the wrong kind.
    """
    import yaml  # imported late: few runs have such a file

    try:
        said = yaml.safe_load(read_text_file(path, "configuration"))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    flat = _flat(said if isinstance(said, dict) else {})
    read = {known.alias or name for name, known in _Read.model_fields.items()}
    try:
        found = _Read.model_validate(flat)
    except ValidationError as error:
        raise UsageError(f"{path}: {validation_message(error)}") from None
    values, given = found.values(thresholds), found.thresholds if "thresholds" in found.model_fields_set else ()
    unused = "/".join(map(str, given[len(values.get("thresholds", ())) :]))
    others = tuple(key for key in flat if key not in read)
    return Configuration(values, (f"evaluator.cascade_thresholds {unused}", *others) if unused else others)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


# What the text of a class evaluator's template program says: the name that is called, and what it returns.


def entry_point(template: str) -> str:
    """Return the name that an evaluator calls a template program by: its first class, else its last function.

    Raises TaskError if it defines neither, SyntaxError if it is no Python.
    """
    body = parse(template).body
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if not classes and not functions:
        raise TaskError("the evaluator's template_program defines no function and no class")
    return classes[0] if classes else functions[-1]


def is_class(template: str, name: str) -> bool:
    """Return whether a template program defines a class of this name; raises SyntaxError if it is no Python."""
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in parse(template).body)


def annotation_of(template: str, name: str) -> str:
    """Return the text of the annotation of what a function returns; "" if there is none, or no such function.

    Raises SyntaxError if the template is no Python.
    """
    function = functions_in(template).get(name)
    return "" if function is None or function.returns is None else ast.unparse(function.returns)
