"""Reads evaluators without running them: their convention, configuration, template, and how they call a program."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behavesim.base.errors import TaskError, UsageError
from behavesim.base.text import parse, read_text_file, validation_message
from behavesim.evaluators.needs import imports_of, is_installed
from behavesim.programs.functions import functions_in
from behavesim.task.evaluated import INSTANCE, Convention, EvaluatorFile

# Names of evaluators' files, without suffix, as projects call them.
EVALUATORS = ("evaluator", "evaluate", "eval", "evaluation", "prob", "problem", "evaluator_stub", "validate")
# Prefix of an evaluator's text on the command line if the rest is a command.
COMMAND = "command:"


def convention_of(text: str) -> tuple[Convention, str]:
    """Return the convention of an evaluator that a person named, and its place: paths made absolute, or the command.

    The comments in `_of_file` and `_of_class` say by which shape each is found. A file with one evaluator class needs
    no `:Class`. "module:Class" is not looked up. Raises UsageError if it is none of these.
    """
    if text.startswith(COMMAND):
        command = text.removeprefix(COMMAND).strip()
        if "{program}" not in command:
            raise UsageError(f"the command {command!r} has no {{program}}, the place of the program's path; add it")
        return "command", command
    place, colon, name = text.rpartition(":")
    if colon and name.isidentifier():
        return _of_class(place, name), f"{_absolute(place)}:{name}"
    if not text.endswith((".py", ".txt")) or not Path(text).is_file():
        raise UsageError(
            f"there is no evaluator {text!r}{_perhaps(Path(text))}; name a Python file, FILE.py:Class, module:Class, "
            'or "command:CMD {program}"'
        )
    if (found := _of_file(text)) is None:
        raise UsageError(
            f"{text} has neither a function `evaluate(program_path)` nor the options --program_path and --results_dir"
            f"{_perhaps(Path(text))}; name a class in it as {text}:Class, or give a command; "
            "`behavesim list evaluators` shows all shapes"
        )
    convention, name = found
    return convention, f"{_absolute(text)}:{name}" if name else _absolute(text)


def _of_file(place: str) -> tuple[Convention, str] | None:
    """Return the convention of an evaluator's file, and the class in it that is meant, "" for none; else None."""
    source = read_text_file(Path(place), "evaluator")
    if "--program_path" in source and "--results_dir" in source:
        return "shinka", ""
    tree = tree_of(source, place)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if any(_mark(function) == "run" for function in functions.values()):  # @funsearch.run
        return "funsearch", ""
    # ReEvo and MCTS-AHD write each program to a module `gpt`
    if "gpt" in imports_of(tree):
        return "reevo", ""
    if any(_first_parameter(function) == "candidate" for function in functions.values()):
        return "gepa", ""
    if any(_first_parameter(each) == "solution" and "set_scores" in ast.unparse(each) for each in functions.values()):
        return "llamea", ""
    parameters = [each.arg for each in functions["evaluate"].args.args] if "evaluate" in functions else []
    has_verifier = (Path(place).resolve().parent / "verifier.py").is_file()
    if len(parameters) == 2 and has_verifier:  # evaluate(input_file, output_file)
        return "heurigym", ""
    if len(parameters) == 2 and parameters[1].startswith("result"):  # evaluate(program_path, results_path)
        return "codeevolve", ""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    own = [node.name for node in classes if _method(node, "evaluate_program")]
    if len(own) == 1:  # whatever helpers are beside it: some of LLM4AD's are called `evaluate`
        return _of_class(place, own[0]), own[0]
    if {"evaluate", "evaluate_stage1"} & {name for node in tree.body for name in _bound_by(node)}:
        return "openevolve", ""
    if any(is_algotune(node) for node in classes):
        return "algotune", ""
    for function, convention in _BY_FUNCTION.items():
        if function in functions:
            return convention, ""
    return None


# Most evaluators that a message names in place of one that is none.
_MOST_NAMED = 3


def _perhaps(path: Path) -> str:
    """Return words that name evaluators in a folder, or beside a file that is none; "" if there are none."""
    folder = path if path.is_dir() else path.parent
    # SkyDiscover has the evaluator in a folder below that of the problem
    beside = [each for pattern in ("*.py", "*/*.py") for each in sorted(folder.glob(pattern)) if each != path]
    found = [str(each) for each in beside if each.stem in EVALUATORS and is_evaluator(each)][:_MOST_NAMED]
    return f"; perhaps {' or '.join(found)} is meant" if found else ""


# Names of functions by which a convention is found, if nothing else tells it.
_BY_FUNCTION: Mapping[str, Convention] = {"validate": "gigaevo", "score_fn": "levi"}


# Names of parameters, behind the first, by which an evaluator's function takes the number of an instance.
NUMBERS = ("instance", "seed")


def takes_number(convention: Convention, place: str, folder: Path) -> bool:
    """Whether an evaluator takes the number of an instance.

    It does if its text, or that of a command's scripts in `folder`, speaks of INSTANCE, or if its function has a
    parameter of NUMBERS. So does a ShinkaEvolve script whose `num_runs` are runs with seeds, unless the package is
    installed: our stand-in for `run_shinka_eval` does one of these runs.
    """
    if convention == "command":
        words = (folder / word for word in re.findall(r"[\w./-]+\.\w+", place))
        texts = [place, *(word.read_text(errors="replace") for word in words if word.is_file())]
        return any(INSTANCE in text for text in texts)
    path = Path(place.partition(":")[0])
    if path.suffix != ".py":
        return False
    source = read_text_file(path, "evaluator")
    if INSTANCE in source or (convention == "shinka" and "num_runs" in source and not is_installed("shinka")):
        return True
    functions = [node for node in tree_of(source, place).body if isinstance(node, ast.FunctionDef)]
    called = {"openevolve": "evaluate", "codeevolve": "evaluate", "gepa": "evaluat"}.get(convention, "?")
    parameters = (each.arg for node in functions if node.name.startswith(called) for each in node.args.args[1:])
    return any(name in NUMBERS for name in parameters)


def _mark(function: ast.FunctionDef) -> str:
    """Return the name of FunSearch's decorator on a function, "run" or "evolve"; "" if it has none."""
    named = (ast.unparse(each).partition(".") for each in function.decorator_list)
    return next((name for module, _, name in named if module == "funsearch"), "")


def marked_function(source: str, mark: str) -> ast.FunctionDef:
    """Return the one function of a specification with the decorator `@funsearch.run` or `@funsearch.evolve`.

    Raises UsageError if there is not just one.
    """
    found = [node for node in parse(source).body if isinstance(node, ast.FunctionDef) and _mark(node) == mark]
    if len(found) != 1:
        raise UsageError(f"a specification marks one function with @funsearch.{mark}, and this marks {len(found)}")
    return found[0]


def _first_parameter(function: ast.FunctionDef) -> str:
    taken = [*function.args.posonlyargs, *function.args.args]
    return taken[0].arg if taken else ""


def is_algotune(node: ast.ClassDef) -> bool:
    """Whether a class has the methods of an AlgoTune task."""
    return {"generate_problem", "solve", "is_solution"} <= {
        each.name for each in node.body if isinstance(each, ast.FunctionDef)
    }


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _of_class(place: str, name: str) -> Convention:
    """Return the convention of an evaluator class, by the path of a .py file or the name of a module."""
    # `place` is the path of a .py file or the name of a module. In a file, a class with the base `BaseProblem` follows
    # "eoh", and one of EoH's older shape; a module does so if it is in the package `eoh`. A class whose
    # `evaluate_program` gets the program's text alone is one of algodisco, the framework of BehaveSim's authors. All
    # others follow "llm4ad".
    if not place.endswith(".py"):
        return "eoh" if place.split(".")[0] == "eoh" else "llm4ad"
    body = tree_of(read_text_file(Path(place), "evaluator"), place).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    for node in classes:
        if node.name == name:
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if is_algotune(node):
                return "algotune"
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            method = _method(node, "evaluate_program")
            if method and len(method.args.args) == 2 and not (method.args.vararg or method.args.kwarg):
                return "algodisco"
            is_older = not bases and "evaluate" in methods and "evaluate_program" not in methods
            return "eoh" if is_older or "BaseProblem" in bases else "llm4ad"
    if name in {each for node in body for each in _bound_by(node)}:  # an object, made with arguments
        return "eoh" if "eoh" in imports_of(ast.Module(body, [])) else "llm4ad"
    raise UsageError(f"{place} has no class {name!r}; it has {', '.join(node.name for node in classes) or 'none'}")


def is_evaluator(path: Path) -> bool:
    """Whether a Python file is an evaluator, as `convention_of` finds it, and binds no `task`."""
    try:
        if _of_file(str(path)) is None:
            return False
        bound = (
            name for node in tree_of(read_text_file(path, "evaluator"), str(path)).body for name in _bound_by(node)
        )
        return "task" not in bound
    except UsageError:
        return False


def most_thresholds(convention: Convention, place: str) -> int:
    """Return how many thresholds an evaluator uses: one for each stage but the last, one for a single stage, else 0."""
    if convention != "openevolve":
        return 0
    body = tree_of(read_text_file(Path(place), "evaluator"), place).body
    bound = {name for node in body for name in _bound_by(node)}
    stages = next((stage for stage in range(3) if f"evaluate_stage{stage + 1}" not in bound), 3)
    return max(stages - 1, 1) if stages else 0


def refuse_unused_thresholds(file: EvaluatorFile) -> None:
    """Raise UsageError if a task's file has more thresholds than its evaluator uses."""
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


# Evaluators are read, not imported: their code would run outside the sandbox.
def tree_of(source: str, place: str) -> ast.Module:
    """Return the syntax tree of an evaluator's text; raises UsageError if it is no Python."""
    try:
        return parse(source)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the evaluator {place} is no Python: {error}") from None


def _absolute(place: str) -> str:
    return str(Path(place).resolve()) if place.endswith((".py", ".txt")) else place


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

    def values(self, thresholds: int, is_minimised: bool) -> dict[str, Any]:
        """Return the known values, by names of `EvaluatorFile` fields and settings, with `thresholds` thresholds at
        most.
        """
        # Of the thresholds they have at most so many as the evaluator uses, and none of them if it has no stages.
        # OpenEvolve's own are least scores; for costs, nobody has said where a stage stops, so that none does.
        is_usual = "thresholds" not in self.model_fields_set
        known = (math.inf,) * thresholds if is_usual and is_minimised else self.thresholds[:thresholds]
        found = {
            "budget": self.budget,
            "seed": self.seed,
            "edits": None if self.is_diff is None else "diff" if self.is_diff else "full",
            "description": None if self.description is None else self.description.strip(),
            "timeout_s": self.timeout_s,
            "best_known": self.best_known,
            "thresholds": (self.has_stages and known) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Configuration:
    """Values of a config.yaml, by names of `EvaluatorFile` fields and settings; `ignored` are its other dotted keys."""

    values: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @classmethod
    def usual(cls, thresholds: int, is_minimised: bool = False) -> Configuration:
        """Return what holds without a file: as many of OpenEvolve's thresholds 0.5, 0.75 and 0.9 as are used.

        If lower scores are better, they are infinite: no stage is left out.
        """
        return cls(_Read.model_validate({}).values(thresholds, is_minimised))


def read_configuration(path: Path, thresholds: int, is_minimised: bool = False) -> Configuration:
    """Return what a config.yaml says; `thresholds` is the largest number of them that the evaluator uses.

    They are those of `Configuration.usual` if the file gives none and does not turn stages off. Raises UsageError if
    the file cannot be read, is not YAML, or a value has the wrong kind.
    """
    import yaml  # imported late: few runs have such a file

    try:
        said = yaml.safe_load(read_text_file(path, "configuration"))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    # OpenEvolve ignores what it does not know: those keys are named to the person, and refuse nothing
    flat = _flat(said if isinstance(said, dict) else {})
    read = {known.alias or name for name, known in _Read.model_fields.items()}
    try:
        found = _Read.model_validate({name: value for name, value in flat.items() if value is not None})
    except ValidationError as error:
        raise UsageError(f"{path}: {validation_message(error)}") from None
    values, given = (
        found.values(thresholds, is_minimised),
        found.thresholds if "thresholds" in found.model_fields_set else (),
    )
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

    Raises TaskError if it defines neither.
    """
    body = parse(template).body
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if not classes and not functions:
        raise TaskError("the evaluator's template_program defines no function and no class")
    return classes[0] if classes else functions[-1]


def is_class(template: str, name: str) -> bool:
    """Return whether a template program defines a class of this name."""
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in parse(template).body)


def annotation_of(template: str, name: str) -> str:
    """Return the annotation of what a function of the template returns, as text; "" if there is none."""
    function = functions_in(template).get(name)
    return "" if function is None or function.returns is None else ast.unparse(function.returns)
