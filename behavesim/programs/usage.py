"""What a program does besides defining functions: it tries them out, which a search has no use for."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence, Set

from behavesim.programs.definitions import names_in, read_by_functions
from behavesim.programs.parsing import Parsed, without

_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
_MOST_STATEMENTS = 100


def without_main_guard(program: Parsed) -> Parsed:
    """The program without its `if __name__ == "__main__":` blocks, which a search never runs."""
    return without(program, [node for node in program.tree.body if isinstance(node, ast.If) and _is_guard(node.test)])


def without_usage(program: Parsed, functions: Collection[str]) -> Parsed:
    """The program without the statements that call its functions where it is imported, and what only those need.

    An example would run again for each evaluation, and may fail where the function does not. It stands below the
    function, and touches no variable that any function reads.
    """
    places = [place for place, node in enumerate(program.tree.body) if _name(node) in functions]
    below = [node for node in program.tree.body[min(places, default=0) :] if not isinstance(node, _DEFINITION)]
    if not places or not below or len(below) > _MOST_STATEMENTS:
        return program
    callers = _callers(program.tree.body, functions)
    others = [node for node in program.tree.body if not isinstance(node, _DEFINITION)]
    shared = read_by_functions(program.source) & _bound(others)
    free = [node for node in below if not shared & names_in(node) and _bound([node]).isdisjoint(functions)]
    usage = [node for node in free if _calls(node, callers)]
    kept = [node for node in others if node not in usage]
    while more := [node for node in free if node in kept and usage and _belongs(node, usage, kept)]:
        usage += more
        kept = [node for node in kept if node not in more]
    return program if any(_bound(usage) & names_in(node) for node in kept) else without(program, usage)


def _is_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(
        isinstance(side, ast.Name) and side.id == "__name__" for side in (test.left, *test.comparators)
    )


def _belongs(node: ast.stmt, usage: Sequence[ast.stmt], kept: Sequence[ast.stmt]) -> bool:
    """Whether a statement needs what the usage binds, or binds what the usage needs and no other statement."""
    if _bound(usage) & names_in(node):
        return True
    made = _bound([node])
    return any(made & names_in(each) for each in usage) and not any(
        made & names_in(other) for other in kept if other is not node
    )


def _callers(body: Sequence[ast.stmt], functions: Collection[str]) -> set[str]:
    """The functions, those that mention them, those that mention these, and so on."""
    mentions = {node.name: names_in(node) for node in body if isinstance(node, ast.FunctionDef)}
    callers = {*functions}
    while more := {name for name, names in mentions.items() if name not in callers and names & callers}:
        callers |= more
    return callers


def _calls(node: ast.stmt, functions: Set[str]) -> bool:
    called = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(function, ast.Name) and function.id in functions for function in called)


def _bound(nodes: Sequence[ast.stmt]) -> set[str]:
    names = (each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in names if not isinstance(each.ctx, ast.Load)}


def _name(node: ast.stmt) -> str | None:
    """The name of a function, or of what a lambda is assigned to."""
    match node:
        case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name
    return None
