"""The function that a task asks for, and whether a program defines it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from behavesim.programs.definitions import module_statements
from behavesim.programs.signatures import callables, complaint
from behavesim.state.verdict import Failure


@dataclass(frozen=True)
class EntryPoint:
    """The function that a task asks for: its name, and the arguments it is called with."""

    name: str
    arguments: ast.arguments

    def failure(self, tree: ast.Module) -> Failure | None:
        """Return why a program cannot be called as the task calls it (`no-function` or `signature`); None if it can."""
        functions = callables(tree.body)
        if self.name not in functions:
            return Failure("no-function", self._missing(tree)[:500])
        if said := complaint(functions[self.name], self.arguments):
            return Failure("signature", f"{self.name}: {said}"[:500])
        return None

    def _missing(self, tree: ast.Module) -> str:
        said = f"no function {self.name!r} is defined at module level"
        place = _class_with(tree, self.name)
        return said if place is None else f"{said}; it is a method of the class {place!r}"


def _class_with(tree: ast.Module, method: str) -> str | None:
    for node in module_statements(tree.body):
        if isinstance(node, ast.ClassDef) and method in callables(node.body):
            return node.name
    return None
