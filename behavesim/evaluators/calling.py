"""Reads from an evaluator's text which function of a program it calls, and with which arguments."""

from __future__ import annotations

import ast
import operator
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from behavesim.base.syntax import parsed

_RUN = "run_shinka_eval"
_SEEDED = 'lambda run: {"seed": run + 1}'
"""What ShinkaEvolve gives a program's function if the script does not say: the keyword arguments of a run."""
UNREAD = "CHANGE"
"""What stands for an argument that could not be read; `task check` looks for it in the instances."""
_CALCULATED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


@dataclass(frozen=True)
class Called:
    """A function of the program, and how an evaluator calls it.

    `calls` is Python text: a list with the arguments of each call, as a tuple or, if `are_named`, as a mapping of
    keyword arguments. `is_known` is whether all could be read. If not, UNREAD stands for a positional argument, and
    others are left out or guessed.
    """

    function: str
    calls: str
    are_named: bool = False
    is_known: bool = True


def called_by(evaluator: str, program: str, module: str = "") -> Called | None:
    """Return what a Python evaluator calls of a program, both as texts; None if it names none of its functions.

    `module` is the name under which `calls` may use the evaluator's own functions. Raises SyntaxError if a text is no
    Python.
    """
    tree = parsed(evaluator)
    functions = [node.name for node in parsed(program).body if isinstance(node, ast.FunctionDef)]
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
    """Return what a `call` of `run_shinka_eval` evaluates, by its keyword arguments; None if none of `functions`.

    `constants` are the values by name in the script `tree`; `module` is the name under which its functions can be used.
    """
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
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _name(node: ast.expr) -> str:
    """Return the name in `name`, `module.name` and `names["name"]`; "" for any other expression."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
