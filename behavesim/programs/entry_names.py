"""Programs that others wrote, whose function does what a task asks for under another name."""

from __future__ import annotations

import ast

from behavesim.base.syntax import parsed
from behavesim.programs.signatures import callables, complaint


def with_entry_point(source: str, template: str, entry_point: str) -> str:
    """Return a program that binds its function to `entry_point` too, if only the function's name is another.

    The function is the only one at module level that can be called as the template's, and that no other function there
    names. A source that defines `entry_point`, that has no such function or several, or that is no Python is unchanged.
    """
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return source
    functions = callables(tree.body)
    wanted = callables(parsed(template).body).get(entry_point)
    if entry_point in functions or not isinstance(wanted, ast.arguments):
        return source
    named = _named_by_others(tree)
    fitting = [name for name, found in functions.items() if name not in named and not complaint(found, wanted)]
    return f"{source.rstrip()}\n\n\n{entry_point} = {fitting[0]}\n" if len(fitting) == 1 else source


def _named_by_others(tree: ast.Module) -> set[str]:
    """Return the names that functions and classes at module level use, each without its own."""
    return {
        node.id
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and node.id != each.name
    }
