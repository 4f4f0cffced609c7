"""From term to source: write a program as a function of short, named steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from behavesim.proposers.genetic.grammar import Grammar
from behavesim.proposers.genetic.term import Term

LINE = 64
"""Maximum width of an expression in characters; the widest parts of a longer one become lines of their own."""
WORTH_A_NAME = 16
"""Minimum width in characters of a part that becomes a line of its own."""


@dataclass(frozen=True)
class _Text:
    node: ast.expr
    width: int


class Writer:
    """Writes the programs of one grammar, with the imports and the signature of the task's template."""

    def __init__(self, grammar: Grammar, template: str, entry_point: str) -> None:
        self._grammar = grammar
        tree = ast.parse(template)
        imports = [*(node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)), *grammar.imports]
        function = next(
            node for node in tree.body[::-1] if isinstance(node, ast.FunctionDef) and node.name == entry_point
        )
        self._head = "\n".join(dict.fromkeys(map(ast.unparse, imports))) + "\n\n\n" if imports else ""
        self._signature = ast.unparse(
            ast.FunctionDef(
                name=function.name,
                args=function.args,
                body=[],
                decorator_list=[],
                returns=function.returns,
                lineno=1,
            )
        ).rstrip()
        self._reserved = grammar.names | {argument.arg for argument in function.args.args}
        self._lines = {name: rule.line for name, rule in grammar.definitions.items()}

    def write(self, program: Term) -> str:
        """Return the source of a program."""
        needed = self._grammar.needs[None].union(*(self._grammar.needs[rule] for rule in program.rules()))
        body = _Body(self._grammar, self._reserved)
        roots = [
            f"{name} = {ast.unparse(body.expression(root).node)}"
            for name, root in zip(self._grammar.roots, program.children, strict=True)
        ]
        definitions = [line for name, line in self._lines.items() if name in needed]
        lines = [*definitions, *body.lines, *roots, *self._grammar.form_lines]
        return self._head + "\n    ".join([self._signature, *lines]) + "\n"


class _Body:
    """The lines of one program, added in the order in which they are needed."""

    def __init__(self, grammar: Grammar, reserved: frozenset[str]) -> None:
        self._grammar = grammar
        self._taken = set(reserved)
        self._named_before: dict[Term, _Text] = {}
        self.lines: list[str] = []

    def expression(self, term: Term) -> _Text:
        """Return the term as an expression of about LINE characters; wider parts become lines before it."""
        if term.rule is None:
            return _Text(ast.Constant(term.value), len(str(term.value)))
        parts = [self.expression(child) for child in term.children]
        by_width = sorted(range(len(parts)), key=lambda index: -parts[index].width)
        for index in by_width:
            too_wide = term.rule.width + sum(part.width for part in parts) > LINE
            if too_wide and parts[index].width > WORTH_A_NAME and term.children[index].type in self._grammar.nameable:
                parts[index] = self._named(parts[index].node, term.children[index])
        node = _filled(term.rule.pattern, iter(parts), self._grammar)
        return _Text(node, term.rule.width + sum(part.width for part in parts))

    def _named(self, node: ast.expr, term: Term) -> _Text:
        """Add a line that computes the term and return its name; equal terms share one line."""
        if term not in self._named_before:
            name = self._name(term)
            self._taken.add(name)
            self.lines.append(f"{name} = {ast.unparse(node)}")
            self._named_before[term] = _Text(ast.Name(name, ast.Load()), len(name))
        return self._named_before[term]

    def _name(self, term: Term) -> str:
        """Return an unused name, made from the first definition that the term uses."""
        defined = (inner.rule.name for _, inner in term.sites() if inner.rule is not None and inner.rule.name)
        stem = f"by_{next(defined, term.type)}"
        if stem not in self._taken:
            return stem
        number = 2
        while f"{stem}_{number}" in self._taken:
            number += 1
        return f"{stem}_{number}"


def _filled(pattern: Any, fillers: Iterator[_Text], grammar: Grammar) -> Any:
    """Return the pattern with its holes filled in order."""
    if isinstance(pattern, ast.Name):
        return next(fillers).node if pattern.id in grammar.rules else pattern
    if isinstance(pattern, ast.AST):
        return type(pattern)(**{name: _filled(value, fillers, grammar) for name, value in ast.iter_fields(pattern)})
    if isinstance(pattern, list):
        return [_filled(part, fillers, grammar) for part in pattern]
    return pattern
