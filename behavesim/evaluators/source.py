"""Reads an evaluator's text without running it, as its code would run outside the sandbox; and texts of programs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.base.text import parse, read_text_file
from behavesim.programs.functions import functions_in


class Source:
    """What stands at the top level of an evaluator's file; of an installed module, which is not read, nothing.

    Reading raises UsageError if the file cannot be read or, at the first question about its tree, is no Python.
    """

    def __init__(self, place: str | Path, named: str = "") -> None:
        """`place` is a file's path or a module's dotted name; `named` is the class or object that a person named."""
        self.place, self.path, self._named = str(place), Path(place), named
        self.text = read_text_file(self.path, "evaluator") if self.path.suffix in (".py", ".txt") else ""

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        try:
            return parse(self.text)
        except (SyntaxError, ValueError) as error:
            raise UsageError(f"the evaluator {self.place} is no Python: {error}") from None

    @cached_property
    def functions(self) -> Mapping[str, ast.FunctionDef]:
        """The functions by name."""
        return functions_of(self.tree)

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def names(self) -> set[str]:
        """The names bound by definitions of functions, `from` imports, and assignments to names."""
        return {name for node in self.tree.body for name in _bound_by(node)}

    @cached_property
    def name(self) -> str:
        """The class or object that is meant: the one named, or the one with `evaluate_program`; "" for neither."""
        # whatever helpers are beside it: some of LLM4AD's are called `evaluate`
        own = [name for name, node in self.classes.items() if "evaluate_program" in functions_of(node)]
        return self._named or (own[0] if len(own) == 1 else "")

    @property
    def constants(self) -> dict[str, Any]:
        """The names that are assigned and can be read (see `value_of`), each with its value."""
        return constants_in(self.tree)


def functions_of(node: ast.Module | ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """Return the functions that a module or a class defines itself, by name."""
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def parameters_of(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's parameters that can be given by their place."""
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)


_CALCULATED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def constants_in(tree: ast.Module) -> dict[str, Any]:
    """Return the names that are assigned at the top level and can be read (see `value_of`), each with its value."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and (value := value_of(node.value, found)) is not None:
            found |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}
    return found


def value_of(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Return the value of a literal, a constant, or a sum, difference or product of numbers; None for anything else."""
    match node:
        case ast.Name(name):
            return constants.get(name)
        case ast.BinOp(left, operation, right) if type(operation) in _CALCULATED:
            both = value_of(left, constants), value_of(right, constants)
            is_number = all(isinstance(each, int | float) for each in both)
            return _CALCULATED[type(operation)](*both) if is_number else None
        case ast.JoinedStr(parts):
            told = [each.value if isinstance(each, ast.FormattedValue) else each for each in parts]
            texts = [value_of(each, constants) for each in told]
            return None if None in texts else "".join(map(str, texts))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


# Texts of programs.


def last_function(program: str) -> str:
    """Return the name of a program's last function; "" if it has none, or is no Python."""
    try:
        body = parse(program).body
    except SyntaxError:
        return ""
    return next((node.name for node in reversed(body) if isinstance(node, ast.FunctionDef)), "")


def annotation_of(template: str, name: str) -> str:
    """Return the annotation of what a function of the template returns, as text; "" if there is none."""
    function = functions_in(template).get(name)
    return "" if function is None or function.returns is None else ast.unparse(function.returns)
