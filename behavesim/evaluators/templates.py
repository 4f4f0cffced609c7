"""Reads from an evaluator's files, without running them, the first program and what they say and call of it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.base.text import parse, read_text_file
from behavesim.evaluators.detection import is_algotune, marked_function, tree_of
from behavesim.task.evaluated import Convention


@dataclass(frozen=True)
class Description:
    """What an evaluator says of itself: a program to start from, the name that it calls, and the task in words.

    The program is blank if it has none.
    """

    template: str
    entry_point: str
    description: str


def describe_by_files(convention: Convention, place: str, program: str = "") -> Description:
    """Return what an evaluator's files say; `place` is its file or "FILE.py:Class".

    `program` is the text of the first program that a person chose, "" for none. Raises UsageError if a file cannot be
    read, or does not name a function.
    """
    path = Path(place.partition(":")[0])
    return _READERS[convention](path, program)


def _of_specification(path: Path, program: str) -> Description:
    """Read a specification of FunSearch's: the marked function, below the imports, is the first program."""
    text = read_text_file(path, "evaluator")
    tree = parse(text)
    evolved, scored = marked_function(text, "evolve"), marked_function(text, "run")
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.splitlines()[evolved.lineno - 1 : evolved.end_lineno]
    said = filter(None, (ast.get_docstring(node) for node in (tree, scored)))
    head = "\n".join(name for name in imports if name != "import funsearch")
    return Description("\n".join([head, "", "", *lines, ""]).lstrip("\n"), evolved.name, "\n\n".join(said))


def _of_levi(path: Path, program: str) -> Description:
    """Read LEVI's constants: the first program, the signature of its function, and the problem in words."""
    known = constants_in(read_text_file(path, "evaluator"))
    template, signature = (str(known.get(name) or "") for name in ("SEED_PROGRAM", "FUNCTION_SIGNATURE"))
    called = re.search(r"^def (\w+)", signature, re.MULTILINE)
    entry = called[1] if called else last_function(program or template)
    return Description(template, entry, str(known.get("PROBLEM_DESCRIPTION") or "").strip())


def _of_algodisco(path: Path, program: str) -> Description:
    """Read the first program and the task in words from problem.py, beside the evaluator."""
    beside = path.parent / "problem.py"
    known = constants_in(read_text_file(beside, "problem")) if beside.is_file() else {}
    template = str(known.get("template_program") or "")
    return Description(template, last_function(program or template), str(known.get("task_description") or ""))


def _of_reevo(path: Path, program: str) -> Description:
    """Read ReEvo's texts of a problem: the seed function, as its second version, and what is said of it."""
    prompts = path.parents[2] / "prompts" / _problem_of_reevo(path)
    seed = prompts / "seed_func.txt"
    template = read_text_file(seed, "program") if seed.is_file() else ""
    # functions have versions there: an evaluator imports the second
    template = re.sub(r"\b(def \w+)_v1\b", r"\1_v2", template)
    about = prompts / "func_desc.txt"
    said = settings_of_reevo(path).get("description", ""), read_text_file(about, "text") if about.is_file() else ""
    return Description(template, last_function(program or template), "\n".join(filter(None, said)))


def _of_algotune(path: Path, program: str) -> Description:
    """Make the first program of the task's own `solve`, which is the reference: its speed is 1."""
    tree = tree_of(read_text_file(path, "evaluator"), str(path))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    # the methods that a solution needs, and all that stands beside the class but AlgoTune's own
    task = next(filter(is_algotune, classes))
    kept = [node for node in task.body if getattr(node, "name", "") not in ("generate_problem", "is_solution")]
    solver = ast.ClassDef("Solver", [], [], kept, [])
    beside = [node for node in tree.body if node is not task and "AlgoTuneTasks" not in ast.unparse(node)]
    text = ast.unparse(ast.fix_missing_locations(ast.Module([*beside, solver], [])))
    said = path.parent / "description.txt"
    about = read_text_file(said, "text").strip() if said.is_file() else ast.get_docstring(task) or ""
    return Description(f"{text}\n", "", about)


def settings_of_reevo(script: Path) -> Mapping[str, str]:
    """Return the settings of ReEvo's problem whose script this is, by name; {} if its repository has none."""
    path = script.parents[2] / "cfg/problem" / f"{_problem_of_reevo(script)}.yaml"
    if not path.is_file():
        return {}
    lines = re.findall(r"^(\w+):[ \t]*(.+?)[ \t]*(?:[ \t]#.*)?$", read_text_file(path, "settings"), re.MULTILINE)
    return dict(lines)


def metric_of_codeevolve(evaluator: Path) -> str:
    """Return which number is the score, as configurations beside an evaluator's folder say; "" unless they agree."""
    texts = [path.read_text(errors="replace") for path in sorted(evaluator.parents[1].glob("configs/*.yaml"))]
    found = {name for text in texts for name in re.findall(r"fitness_key['\"]?: *['\"]?(\w+)", text)}
    return found.pop() if len(found) == 1 else ""


def _problem_of_reevo(script: Path) -> str:
    return script.parent.name + ("_black_box" if script.stem.endswith("_black_box") else "")


_READERS: Mapping[Convention, Callable[[Path, str], Description]] = {
    "funsearch": _of_specification,
    "levi": _of_levi,
    "algodisco": _of_algodisco,
    "reevo": _of_reevo,
    "algotune": _of_algotune,
}
# Conventions whose files hold a first program, beside the classes that are asked for theirs.
BY_FILES = tuple(_READERS)


# Reads from an evaluator's text which function of a program it calls, and with which arguments.


_RUN = "run_shinka_eval"
# What ShinkaEvolve gives a program's function if the script does not say: the keyword arguments of a run.
_SEEDED = 'lambda run: {"seed": run + 1}'
# What stands for an argument that could not be read; `task check` looks for it in the instances.
UNREAD = "CHANGE"
_CALCULATED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


@dataclass(frozen=True)
class Called:
    """A function of the program, and how an evaluator calls it.

    `calls` is Python text: a list with the arguments of each call, as a tuple or, if `are_named`, as a mapping. If not
    all are known, UNREAD stands for a positional argument, and others are left out or guessed.
    """

    function: str
    calls: str
    are_named: bool = False
    is_known: bool = True


def call_evaluator(evaluator: str, program: str, module: str = "") -> Called | None:
    """Return what a Python evaluator calls of a program, both as texts; None if it names none of its functions.

    `module` is the name under which `calls` may use the evaluator's own functions.
    """
    tree = parse(evaluator)
    functions = [node.name for node in parse(program).body if isinstance(node, ast.FunctionDef)]
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == _RUN:
            return _by_shinka(node, functions, constants, tree, module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _name(node.func)) in functions and name not in own:
            values = [_value(each, constants) for each in node.args]
            is_known = None not in values and not node.keywords
            read = [UNREAD if each is None else each for each in values]
            return Called(name, repr([tuple(read)]), is_known=is_known)
    named = {_name(node) for node in ast.walk(tree) if isinstance(node, ast.expr)}
    found = next((name for name in functions if name in named), None)
    return None if found is None else Called(found, "[()]", is_known=False)


def _by_shinka(
    call: ast.Call, functions: Collection[str], constants: Mapping[str, Any], tree: ast.Module, module: str
) -> Called | None:
    # `constants` are the values by name in the script `tree`; `module` is the name under which its functions can be
    # used.
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    function = _value(given["experiment_fn_name"], constants) if "experiment_fn_name" in given else None
    runs = _value(given["num_runs"], constants) if "num_runs" in given else 1
    if not isinstance(function, str) or function not in functions:
        return None
    making = given.get("get_experiment_kwargs")
    known = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    match making:
        case ast.Name(name) if name in known:
            text = f"{module}.{name}"
        case ast.Lambda(args=ast.arguments(args=[parameter])) if not _names(making.body) - {parameter.arg}:
            text = f"({ast.unparse(making)})"
        case _:
            text = f"({_SEEDED})"
    is_known = isinstance(runs, int) and (making is None or text != f"({_SEEDED})")
    return Called(function, f"[{text}(run) for run in range({runs or 1})]", True, is_known)


def constants_in(source: str) -> dict[str, Any]:
    """Return the names that a Python text assigns at its top level, each with its value where that can be read.

    Raises UsageError if it is no Python.
    """
    return dict(_constants(tree_of(source, "evaluator")))


def last_function(source: str) -> str:
    """Return the name of the last function at the top level of a Python text; "" if there is none."""
    try:
        body = parse(source).body
    except SyntaxError:
        return ""
    return next((node.name for node in reversed(body) if isinstance(node, ast.FunctionDef)), "")


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Yield the names that are assigned at a script's top level and can be read (see `_value`), each with its value."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            value = _value(node.value, found)
            for target in node.targets:
                if isinstance(target, ast.Name) and value is not None:
                    found[target.id] = value
                    yield target.id, value


def _value(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Return the value of a literal, a constant, or a sum, difference or product of numbers; None for anything else."""
    match node:
        case ast.Name(name):
            return constants.get(name)
        case ast.BinOp(left, operation, right) if type(operation) in _CALCULATED:
            both = _value(left, constants), _value(right, constants)
            is_number = all(isinstance(each, int | float) for each in both)
            return _CALCULATED[type(operation)](*both) if is_number else None
        case ast.JoinedStr(parts):
            texts = [_value(each.value if isinstance(each, ast.FormattedValue) else each, constants) for each in parts]
            return None if None in texts else "".join(map(str, texts))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _name(node: ast.expr) -> str:
    """Return the name in `name`, `module.name` and `names["name"]`; "" for any other expression."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
