"""From term to source: writes a program as a function of short, named steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from behavesim.base.syntax import parsed
from behavesim.programs.functions import functions_in, signature
from behavesim.proposers.genetic.grammar import Grammar
from behavesim.proposers.genetic.term import Term

LINE = 64
"""Width of an expression, in characters, above which its widest parts become lines of their own. Some expressions stay
longer: parts that are narrow, or of a type that gets no names, are not moved."""
WORTH_A_NAME = 16
"""Only parts wider than this, in characters, become lines of their own."""


@dataclass(frozen=True)
class _Text:
    """An expression, and about how many characters it is wide."""

    node: ast.expr
    width: int


class Writer:
    """Writes the programs of one grammar, with the imports and the signature of the task's template."""

    def __init__(self, grammar: Grammar, template: str, entry_point: str) -> None:
        self._grammar = grammar
        own = [node for node in parsed(template).body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports = dict.fromkeys(map(ast.unparse, [*own, *grammar.imports]))
        function = functions_in(template)[entry_point]
        # two blank lines between imports and the function, as formatters write it
        self._head = "\n".join(imports) + "\n\n\n" if imports else ""
        self._signature = f"{signature(function)}:"
        self._reserved = grammar.names | {argument.arg for argument in function.args.args}

    def write(self, program: Term) -> str:
        """Return the source of a program; long expressions are split into named lines, and equal parts share a line."""
        needed = self._grammar.needs[None].union(*(self._grammar.needs[rule] for rule in program.rules()))
        body = _Body(self._grammar, self._reserved)
        roots = [
            f"{name} = {ast.unparse(body.expression(root).node)}"
            for name, root in zip(self._grammar.roots, program.children, strict=True)
        ]
        definitions = [rule.line for name, rule in self._grammar.definitions.items() if name in needed]
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
        """Return the term as an expression of about LINE characters; wider parts become lines, computed before it."""
        if term.rule is None:
            return _Text(ast.Constant(term.value), len(str(term.value)))
        parts = [self.expression(child) for child in term.children]
        # the widest parts first, so that few lines are added
        for index in sorted(range(len(parts)), key=lambda index: -parts[index].width):
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
        """Return an unused name, such as by_near or by_near_2, from the first definition that the term uses.

        Without a definition it is made from the term's type.
        """
        defined = (inner.rule.name for _, inner in term.sites() if inner.rule is not None and inner.rule.name)
        stem = f"by_{next(defined, term.type)}"
        names = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        return next(name for name in names if name not in self._taken)


def _filled(pattern: Any, fillers: Iterator[_Text], grammar: Grammar) -> Any:
    """Return a copy of a pattern, or of a part of it, with its holes filled in order by the next fillers."""
    if isinstance(pattern, ast.Name):
        return next(fillers).node if pattern.id in grammar.rules else pattern
    if isinstance(pattern, ast.AST):
        return type(pattern)(**{name: _filled(value, fillers, grammar) for name, value in ast.iter_fields(pattern)})
    if isinstance(pattern, list):
        return [_filled(part, fillers, grammar) for part in pattern]
    return pattern
