"""From source to term: parse a program by finding the grammar rules that produce it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule, plain_number
from behavesim.proposers.genetic.term import Term

PROGRAM = "program"
"""The type of a term that is a whole program."""

READABLE = 500
"""Maximum number of terms of a program after expansion: a few lines that each double the last make millions."""


class Reader:
    """Parses programs of one grammar: assignments without branches, followed by the grammar's form."""

    def __init__(self, grammar: Grammar, entry_point: str) -> None:
        self._grammar = grammar
        self._entry_point = entry_point
        self._by_key: dict[tuple[str, Any], list[Rule]] = {}
        for kind, rules in grammar.rules.items():
            for rule in rules:
                key = None if _is_hole(rule) else _key(rule.pattern)
                self._by_key.setdefault((kind, key), []).append(rule)

    def read(self, source: str) -> Term | None:
        """Return the program as a term; None if the grammar cannot produce it."""
        try:
            program = self._read(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # no Python, or nested beyond any use
            return None
        return program if program is not None and program.size <= READABLE else None

    def _read(self, source: str) -> Term | None:
        function = self._function(source)
        if function is None:
            return None
        body = [statement for statement in function.body if not _is_docstring(statement)]
        split = len(body) - len(self._grammar.form)
        if split < 0 or not _same(body[split:], self._grammar.form):
            return None
        values = self._values(body[:split])
        if values is None or not self._grammar.roots.keys() <= values.keys():
            return None
        memo: dict[tuple[int, str], Term | None] = {}
        roots = [self._derived(values[name], kind, memo) for name, kind in self._grammar.roots.items()]
        children = tuple(root for root in roots if root is not None)
        return Term(PROGRAM, children=children) if len(children) == len(roots) else None

    def _function(self, source: str) -> ast.FunctionDef | None:
        body = ast.parse(source).body
        functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == self._entry_point]
        return functions[-1] if functions else None

    def _values(self, statements: list[ast.stmt]) -> dict[str, ast.expr] | None:
        """Return the expression of each assigned name, with earlier names replaced by their expressions.

        Names that the grammar defines are kept. Returns None for any statement that is not a plain assignment.
        """
        values: dict[str, ast.expr] = {}
        for statement in statements:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                return None
            name = statement.targets[0].id
            if name not in self._grammar.definitions or not _same(
                [statement.value], [self._grammar.definitions[name].definition]
            ):
                values[name] = _written_out(statement.value, values)
        return values

    def _derived(self, node: ast.expr, kind: str, memo: dict[tuple[int, str], Term | None]) -> Term | None:
        """Return the expression as a term of a type, by the first rules that match; None if none does."""
        if kind == NUMBER:
            value = plain_number(node)
            return None if value is None else Term(NUMBER, value=value)
        if (id(node), kind) not in memo:
            memo[id(node), kind] = self._first_fit(node, kind, memo)
        return memo[id(node), kind]

    def _first_fit(self, node: ast.expr, kind: str, memo: dict[tuple[int, str], Term | None]) -> Term | None:
        candidates = self._by_key.get((kind, _key(node)), []) + self._by_key.get((kind, None), [])
        for rule in candidates:
            fillers: list[ast.expr] = []
            if not self._matches(rule.pattern, node, fillers):
                continue
            children = []
            for hole, filler in zip(rule.holes, fillers, strict=True):
                child = self._derived(filler, hole, memo)
                if child is None:
                    break
                children.append(child)
            else:
                return Term(kind, rule, tuple(children))
        return None

    def _matches(self, pattern: Any, node: Any, fillers: list[ast.expr]) -> bool:
        """Whether the node matches the pattern; appends what fills the holes to `fillers`, in order."""
        if isinstance(pattern, ast.Name) and pattern.id in self._grammar.rules:
            fillers.append(node)
            return isinstance(node, ast.expr)
        if type(pattern) is not type(node):
            return False
        if isinstance(pattern, ast.AST):
            fields = ((getattr(pattern, name, None), getattr(node, name, None)) for name in pattern._fields)
            return all(self._matches(*pair, fillers) for pair in fields)
        if isinstance(pattern, list):
            pairs = zip(pattern, node, strict=False)
            return len(pattern) == len(node) and all(self._matches(*pair, fillers) for pair in pairs)
        return bool(pattern == node)


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists of trees are equal, ignoring line and column numbers."""
    return list(map(ast.dump, one)) == list(map(ast.dump, other))


def _key(node: ast.expr) -> Any:
    """Return a key that a pattern shares with every expression it matches, to look rules up by."""
    if isinstance(node, ast.BinOp):
        return type(node.op)
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else "call"
    return type(node)


def _is_hole(rule: Rule) -> bool:
    """Whether a rule only lets one type stand for another."""
    return isinstance(rule.pattern, ast.Name) and bool(rule.holes)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _written_out(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return the expression with names replaced by their values; returns `node` itself if nothing changes."""
    return _Substitution(values).visit(node) if any(name in values for name in _names(node)) else node


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
