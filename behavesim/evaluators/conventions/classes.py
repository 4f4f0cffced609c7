"""Conventions of classes with `evaluate_program`, which gets a program's text: LLM4AD's, EoH's and algodisco's."""

from __future__ import annotations

import abc
import ast
import asyncio
import importlib
import inspect
import itertools
import json
import math
import random
import sys
import textwrap
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.text import parse
from behavesim.evaluators.conventions import Convention, Description, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.evaluation import folders_of_runs, prepare_process
from behavesim.evaluators.modules import StandIns, module_of, why
from behavesim.evaluators.needs import imports_of
from behavesim.evaluators.source import annotation_of, functions_of, last_function
from behavesim.evaluators.tracing import fingerprint, numbers, thinned
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.verdict import Failure

# Address ("module:function") of what the sandbox calls to ask a class what it says of itself, and the longest text.
_DESCRIBER = "behavesim.evaluators.conventions.classes:load_description"
_LONGEST = 100_000
# The name in `sys.modules` of the module in which a program's text is executed.
_MODULE = "program"
# Names of the module typing that a program can use without importing them.
_TYPING = ("Any", "Callable", "Dict", "List", "Optional", "Tuple", "Union")
# The name in `sys.modules` of the module from which an OlderProblem's program takes its function.
_HANDED = "program_handed"
# Methods of an older problem's `prompts` that describe the task: what is sought, inputs and outputs, and more.
_SAID = ("get_task", "get_inout_inf", "get_other_inf")


class Llm4ad(Convention):
    """An object of the class is asked for the first program, and for changes to all programs."""

    called_as = "LLM4AD calls evaluations"
    shape = "a class with `evaluate_program(program_str, callable_func)`"
    example = "--evaluator evaluation.py:OBPEvaluation"
    is_of_classes = has_program = True
    has_metrics = False
    judged_by = "judge_replies"

    def finds(self, source: Source) -> bool:
        """Whether there is a class or an object: it is the last of the conventions of classes in ORDER."""
        return bool(source.name)

    def decides(self, place: str) -> Mapping[str, Any]:
        """The task has the name of the class."""
        return {"name": place.rpartition(":")[2]}

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Ask the class in the sandbox, since its code runs when it is imported.

        Raises TaskError if it cannot be loaded or says nothing usable, UsageError if the isolation is below "strong"
        and `allow_weak_isolation` is False.
        """
        return asyncio.run(_ask(file, allow_weak_isolation))

    def load(self, file: EvaluatorFile) -> Run:
        """Return the function that evaluates a program's file with the evaluator's object, which is made once, here.

        Raises TaskError if the object cannot be made, or its template program is unusable.
        """
        evaluation = evaluation_of(file.evaluator, file.root)
        template = _template(evaluation)
        entry = file.entry_point or _entry(evaluation, template)
        imports = [node for node in parse(template).body if isinstance(node, ast.Import | ast.ImportFrom)]
        returns = annotation_of(template, entry)

        def run(program: Path, recorder: Recorder) -> Result:
            source = _asked_for(evaluation, program.read_text(), entry)
            found = None
            if getattr(evaluation, "exec_code", True):
                module = _module(program, source, imports)
                found = getattr(module, entry, None)
                if found is None:
                    return Result(None, failure=f"the program defines no {entry!r}")
                found = recorder.watching(found, returns)
                setattr(module, entry, found)  # under the name by which it is pickled for other processes
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return result_of(evaluation.evaluate_program(source, found))

        return run


class EoH(Llm4ad):
    """What it does not say is as with LLM4AD."""

    called_as = "EoH calls problems"
    shape = "a class derived from `BaseProblem`, or in the package `eoh`"
    example = "--evaluator problem.py:Problem"

    def finds(self, source: Source) -> bool:
        """Whether a class has the base `BaseProblem` or is of the older shape, or an object's file imports `eoh`."""
        node = source.classes.get(source.name)
        if node is None:  # an object, made with arguments, or a class of an installed module
            return bool(source.name) and "eoh" in {source.place.partition(".")[0], *imports_of(source.tree)}
        bases, methods = {ast.unparse(base).rpartition(".")[2] for base in node.bases}, functions_of(node)
        is_older = not bases and "evaluate" in methods and "evaluate_program" not in methods
        return is_older or "BaseProblem" in bases

    def decides(self, place: str) -> Mapping[str, Any]:
        """Lower scores are better."""
        return {**super().decides(place), "direction": "minimise"}


class Algodisco(Convention):
    """A problem.py beside the evaluator has the first program and the task in words."""

    called_as = "algodisco calls evaluators"
    shape = "a class with `evaluate_program(program_str)` alone, as BehaveSim's authors have it"
    example = "--evaluator tasks/traveling_salesman/evaluator.py"
    is_of_classes = has_program = True
    has_metrics = False

    def finds(self, source: Source) -> bool:
        """Whether a class has `evaluate_program` with one argument."""
        node = source.classes.get(source.name)
        method = functions_of(node).get("evaluate_program") if node else None
        return bool(method and len(method.args.args) == 2 and not (method.args.vararg or method.args.kwarg))

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Read the first program and the task in words."""
        beside = Path(file.evaluator.partition(":")[0]).parent / "problem.py"
        known = Source(str(beside)).constants if beside.is_file() else {}
        template = str(known.get("template_program") or "")
        entry = self.last_function(file, template)
        return Description(template, entry, str(known.get("task_description") or ""))

    def load(self, file: EvaluatorFile) -> Run:
        """Make the class's object; return what gives it a program's text. Raises TaskError if it cannot be made."""
        evaluation = evaluation_of(file.evaluator, file.root)
        return lambda program, _: _evaluate(evaluation, program.read_text())


llm4ad, eoh, algodisco = Llm4ad(), EoH(), Algodisco()


# What is imported from these projects, and how an evaluator's object is made.


class Evaluation(abc.ABC):
    """Stand-in for the base class of LLM4AD's evaluators, used where the package `llm4ad` is not installed.

    It keeps its arguments as attributes; those about timeouts and processes have no effect.
    """

    def __init__(
        self,
        template_program: Any,
        task_description: str = "",
        use_numba_accelerate: bool = False,
        use_protected_div: bool = False,
        protected_div_delta: float = 1e-5,
        random_seed: int | None = None,
        timeout_seconds: float | None = None,
        *,
        exec_code: bool = True,
        safe_evaluate: bool = True,
        daemon_eval_process: bool = False,
    ) -> None:
        """Keep all arguments as attributes of their names; the last two and `timeout_seconds` change nothing here."""
        self.template_program, self.task_description = template_program, task_description
        self.use_numba_accelerate, self.use_protected_div = use_numba_accelerate, use_protected_div
        self.protected_div_delta, self.random_seed = protected_div_delta, random_seed
        self.timeout_seconds, self.exec_code = timeout_seconds, exec_code
        self.safe_evaluate, self.daemon_eval_process = safe_evaluate, daemon_eval_process

    @abc.abstractmethod
    def evaluate_program(self, program_str: str, callable_func: Any, **kwargs: Any) -> Any:
        """Evaluators override this: return a program's score, the higher the better, or None if it is invalid."""


class BaseProblem(abc.ABC):
    """Stand-in for the base class of EoH's problems, used where the package `eoh` is not installed."""

    template_program = ""
    task_description = ""

    def __init__(self, timeout: int = 40, n_processes: int = 1) -> None:
        """Keep both arguments as attributes; they change nothing here."""
        self.timeout, self.n_processes = timeout, n_processes

    @abc.abstractmethod
    def evaluate_program(self, program_str: str, callable_func: Any) -> float | None:
        """Problems override this: return a program's score, the lower the better, or None if it is invalid."""


class OlderProblem:
    """EoH's older shape of problem, called as today's are; it has no template program.

    Its `evaluate(code_string)` executes a program's text and calls a function in it, which `prompts.get_func_name()`
    names.
    """

    template_program = ""

    def __init__(self, problem: Any) -> None:
        """`problem` has `evaluate` and `prompts`; raises what the methods of `prompts` raise."""
        self._problem = problem
        self.entry_point = str(problem.prompts.get_func_name())
        asked = (getattr(problem.prompts, name, None) for name in _SAID)
        self.task_description = "\n".join(filter(None, (str(get()).strip() for get in asked if get is not None)))

    def evaluate_program(self, program_str: str, callable_func: Any) -> Any:
        """Return the problem's score of a program whose function is replaced by `callable_func`."""
        handed = sys.modules[_HANDED] = ModuleType(_HANDED)
        setattr(handed, self.entry_point, callable_func)
        # the problem executes the text by itself: its last line alone can put a function that is recorded in its place
        return self._problem.evaluate(f"{program_str}\nfrom {_HANDED} import {self.entry_point}\n")


def sandbox_run(*_: Any, **__: Any) -> Any:
    """Stand-in for algodisco's decorator of methods that run in a process of their own: it leaves them as they are."""
    return lambda method: method


def evaluation_of(place: str, root: str = "") -> Any:
    """Import "module:Name" or "FILE.py:Name" and return that object; a class is made without arguments.

    Stand-ins take the place of `llm4ad`, `eoh` and `algodisco` if these are not installed, also if they are in the
    repository `root`. An object with `evaluate` and `prompts` alone is returned as an OlderProblem. Raises
    TaskError, in one line, if there is no usable object.
    """
    base, problem = {"Evaluation": Evaluation}, {"BaseProblem": BaseProblem}
    StandIns({"llm4ad.base": base, "llm4ad.base.evaluate": base, "llm4ad.task": {}}).install(root)
    StandIns({"eoh": problem, "eoh.problem": problem}).install()
    StandIns(
        {
            "algodisco.base.evaluator": {"Evaluator": object},
            "algodisco.methods.funsearch_behavesim.evaluator": {"FunSearchBehaveSimEvaluator": object},
            "algodisco.toolkit.sandbox": {"sandbox_run": sandbox_run},
        }
    ).install(root)
    module, _, name = place.rpartition(":")
    found = getattr(module_of(module), name, None)
    if found is None:
        raise TaskError(f"there is no {name!r} in {module}; write the evaluator as module:Class or FILE.py:Class")
    is_older = not callable(getattr(found, "evaluate_program", None))
    if is_older and not callable(getattr(found, "evaluate", None)):
        raise TaskError(f"{place} has no method `evaluate_program(program_str, callable_func)`; write it")
    try:
        made = found() if inspect.isclass(found) else found
    except Exception as error:  # of its constructor: else nobody would say how to give it arguments
        said = f"{place} cannot be made without arguments: {why(error, module)}"
        how = f"import {name} in a file beside it, write `evaluation = {name}(...)` there, with arguments"
        raise TaskError(f"{said}; {how}, and name that: --evaluator FILE.py:evaluation") from error
    if not is_older:
        return made
    if not callable(getattr(getattr(made, "prompts", None), "get_func_name", None)):
        raise TaskError(f"{place} has neither `evaluate_program` nor, as EoH's older problems, `prompts`; write one")
    return OlderProblem(made)


async def _ask(file: EvaluatorFile, allow_weak_isolation: bool) -> Description:
    # of an installed evaluator no folder is shown
    readable, hidden = ([file.readable], folders_of_runs(file)) if file.evaluator_path else ([], set())
    asked = (_DESCRIBER, file.to_json(), 1, Limits(timeout_s=60.0), readable, hidden, allow_weak_isolation)
    async with TreePool(*asked) as pool:
        sent = await pool.send("")
    if isinstance(sent, Failure):
        raise TaskError(f"the evaluator {file.evaluator} cannot be loaded: {sent.message}")
    try:
        said = json.loads(sent.data)
        if error := said.get("error"):
            raise TaskError(str(error))
        found = Description(**said)
    except (ValueError, AttributeError, TypeError):
        raise TaskError(f"the evaluator {file.evaluator} sent no description that can be read") from None
    if not all(isinstance(text, str) and len(text) <= _LONGEST for text in vars(found).values()):
        raise TaskError(
            f"the evaluator {file.evaluator} must describe itself in texts of at most {_LONGEST} characters"
        )
    return found


def load_description(given: str) -> Callable[[str], bytes]:
    """Return a function that gives the Description of an EvaluatorFile in JSON, as JSON; its argument is not used.

    An Exception of the evaluator is returned as {"error": message}.
    """
    file, _ = prepare_process(given)

    def describe(_: str) -> bytes:
        try:
            evaluation = evaluation_of(file.evaluator, file.root)
            template = _template(evaluation)
            words = str(getattr(evaluation, "task_description", "") or "").strip()
            said = asdict(Description(template, _entry(evaluation, template), words))
        except Exception as error:  # noqa: BLE001 - else its owner would not see what it raised
            raised = f"the evaluator {file.evaluator} cannot be loaded: {type(error).__name__}: {error}"
            said = {"error": (str(error) if isinstance(error, TaskError) else raised)[:1000]}
        return json.dumps(said).encode()

    return describe


def _entry(evaluation: Any, template: str) -> str:
    """Return the name by which an object calls a program: of its template the first class, else the last function."""
    if isinstance(evaluation, OlderProblem):  # which says it
        return evaluation.entry_point
    classes = (node.name for node in parse(template).body if isinstance(node, ast.ClassDef))
    if not (found := next(classes, "") or last_function(template)):
        raise TaskError("the evaluator's template_program defines no function and no class")
    return found


def _template(evaluation: Any) -> str:
    """Return the `template_program` of an evaluator's object, or a line feed alone if it has none."""
    # It is without common indentation, and ends with one line feed.
    template = textwrap.dedent(str(getattr(evaluation, "template_program", ""))).strip() + "\n"
    try:
        parse(template)
    except SyntaxError as error:
        raise TaskError(f"the evaluator's template_program is no Python: line {error.lineno}, {error.msg}") from None
    return template


def result_of(returned: Any) -> Result:
    """Return the result in what `evaluate_program` returned; it holds a failure if there is no finite score.

    The score is a number, the `score` of a mapping, or the first item of a list, tuple or array of one dimension; None
    means an invalid program.
    """
    if returned is None:
        return Result(None, failure="the evaluator found the program invalid (it returned None)")
    if isinstance(returned, Mapping):
        known = numbers(returned)
    elif isinstance(returned, list | tuple) or getattr(returned, "ndim", 0) == 1:  # goals: the first is the score
        known = numbers({f"goal {place}" if place else "score": value for place, value in enumerate(returned)})
    else:
        known = numbers({"score": returned})
    score = known.pop("score", None)
    if not isinstance(score, float):
        return Result(None, known, failure=f"the evaluator returned {returned!r:.100}, which holds no finite score")
    return Result(score, known)


def _evaluate(evaluation: Any, source: str) -> Result:
    """Return the result of algodisco's evaluator on a program's text; what it returns as `behavior` are the steps."""
    returned = evaluation.evaluate_program(source)
    found = result_of(returned)
    behaviour = returned.get("behavior") if isinstance(returned, Mapping) else None
    # a list of states for each instance, and each state mostly holds the one before: the last is all of them
    states = [each for instance in behaviour or () for each in _decisions(instance)]
    steps = tuple(fingerprint(each) for each in thinned(states))
    return replace(found, steps=steps, traced="`behavior`") if steps else found


def _decisions(states: Any) -> Sequence[Any]:
    is_growing = all(
        isinstance(later, list) and later[: len(state)] == state and len(later) == len(state) + 1
        for state, later in itertools.pairwise(states)
    )
    return list(states[-1]) if is_growing and len(states) > 1 else list(states)


def _asked_for(evaluation: Any, source: str, entry: str) -> str:
    # in LLM4AD's order: the divisions that are replaced must be compiled, too
    is_accelerated = bool(getattr(evaluation, "use_numba_accelerate", False))
    if is_accelerated:
        source = remove_acceleration(source, entry)
    if getattr(evaluation, "use_protected_div", False):
        source = without_zero_division(source, evaluation.protected_div_delta, is_accelerated)
    if (seed := getattr(evaluation, "random_seed", None)) is not None:
        source = seed_random(source, entry, seed)
    return source


def _module(path: Path, source: str, imports: Sequence[ast.stmt]) -> ModuleType:
    """Execute the template's imports and then a program, as the module `program`, and return that module."""
    # It may use numpy, math, random and typing without an import, as in LLM4AD and EoH.
    module = sys.modules[_MODULE] = ModuleType(_MODULE)
    numpy = importlib.import_module("numpy")
    vars(module).update({"np": numpy, "numpy": numpy, "math": math, "random": random, "typing": typing})
    vars(module).update({name: getattr(typing, name) for name in _TYPING})
    exec(compile(ast.Module(list(imports), []), "template", "exec"), vars(module))
    exec(compile(source, str(path), "exec"), vars(module))
    return module


# Changes to a program's text that LLM4AD's evaluators ask for before it is run.


_PROTECTED = "_protected_div"


def remove_acceleration(source: str, name: str) -> str:
    """Return the program with `@numba.jit(nopython=True)` on each function of this name, and numba imported."""
    tree, compiled = parse(source), parse("numba.jit(nopython=True)")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.decorator_list += [each.value for each in compiled.body if isinstance(each, ast.Expr)]
    return _importing(tree, "import numba")


def without_zero_division(source: str, delta: float, is_accelerated: bool) -> str:
    """Return the program with each x / y replaced by a call that returns x / (y + delta), but not `x /= y`.

    `is_accelerated` compiles the called function with numba.
    """
    divided = ast.unparse(ast.fix_missing_locations(_Division().visit(parse(source))))
    defined = f"\n\ndef {_PROTECTED}(x, y, delta={delta}):\n    return x / (y + delta)\n"
    return remove_acceleration(divided + defined, _PROTECTED) if is_accelerated else divided + defined


def seed_random(source: str, name: str, seed: int) -> str:
    """Return the program with numpy's global generator (as `np`) seeded first in each top-level function `name`."""
    tree = parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.body.insert(0, parse(f"np.random.seed({seed})").body[0])
    return ast.unparse(tree)


class _Division(ast.NodeTransformer):
    """Replaces each x / y in a syntax tree by a call of the protected division."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name(_PROTECTED, ast.Load()), [node.left, node.right], [])


def _importing(tree: ast.Module, statement: str) -> str:
    is_future = [isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body]
    last = max((place for place, found in enumerate(is_future) if found), default=-1)
    tree.body.insert(last + 1, parse(statement).body[0])
    return ast.unparse(ast.fix_missing_locations(tree))
