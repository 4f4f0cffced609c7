"""Reads from an evaluator's text which function of a program it calls, and with which arguments."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from behavesim.base.text import parse
from behavesim.evaluators.source import constants_in, functions_of, value_of

_RUN = "run_shinka_eval"
# What ShinkaEvolve gives a program's function if the script does not say: the keyword arguments of a run.
_SEEDED = 'lambda run: {"seed": run + 1}'
# What stands for an argument that could not be read; `task check` looks for it in the instances.
UNREAD = "CHANGE"


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
    functions, own = functions_of(parse(program)), functions_of(tree)
    constants = constants_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == _RUN:
            return _by_shinka(node, functions, constants, tree, module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _name(node.func)) in functions and name not in own:
            values = [value_of(each, constants) for each in node.args]
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
    function = value_of(given["experiment_fn_name"], constants) if "experiment_fn_name" in given else None
    runs = value_of(given["num_runs"], constants) if "num_runs" in given else 1
    if not isinstance(function, str) or function not in functions:
        return None
    making = given.get("get_experiment_kwargs")
    match making:
        case ast.Name(name) if name in functions_of(tree):
            text = f"{module}.{name}"
        case ast.Lambda(args=ast.arguments(args=[parameter])) if not _names(making.body) - {parameter.arg}:
            text = f"({ast.unparse(making)})"
        case _:
            text = f"({_SEEDED})"
    is_known = isinstance(runs, int) and (making is None or text != f"({_SEEDED})")
    return Called(function, f"[{text}(run) for run in range({runs or 1})]", True, is_known)


def _name(node: ast.expr) -> str:
    """Return the name in `name`, `module.name` and `names["name"]`; "" for any other expression."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
