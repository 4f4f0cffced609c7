"""From source to term: parses a program by finding the grammar rules that produce it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from behavesim.programs.functions import functions_in
from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule, names_in, plain_number
from behavesim.proposers.genetic.term import PROGRAM, Term

READABLE = 500
"""Maximum number of terms of a program with its named lines expanded: a few that each double the one before make
millions."""


class Reader:
    """Parses programs of one grammar: assignments without branches, followed by the grammar's form."""

    def __init__(self, grammar: Grammar, entry_point: str) -> None:
        self._grammar = grammar
        self._entry_point = entry_point
        # the rules of each type by what their patterns begin with, since most do not fit a given expression
        self._by_key: dict[tuple[str, Any], list[Rule]] = {}
        for kind, rules in grammar.rules.items():
            for rule in rules:
                # a hole alone, by which one type is written as another, may match anything
                is_hole = isinstance(rule.pattern, ast.Name) and bool(rule.holes)
                key = None if is_hole else _key(rule.pattern)
                self._by_key.setdefault((kind, key), []).append(rule)

    def read(self, source: str) -> Term | None:
        """Return a program as a term; None if it is no Python, larger than READABLE, or not of this grammar."""
        try:
            program = self._read(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # no Python, or nested beyond any use
            return None
        return program if program is not None and program.size <= READABLE else None

    def _read(self, source: str) -> Term | None:
        """Return a program as a term of any size; None if it is not of this grammar.

        Raises SyntaxError or ValueError if it is no Python, RecursionError or MemoryError if it is nested too deeply.
        """
        function = functions_in(source).get(self._entry_point)
        if function is None:
            return None
        body = [statement for statement in function.body if not _is_docstring(statement)]
        # the form is fixed, so the statements before it are the program's own
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

    def _values(self, statements: list[ast.stmt]) -> dict[str, ast.expr] | None:
        """Return the expression of each assigned name, with earlier names replaced by their expressions.

        A name stays if it is defined as in the grammar. Returns None if a statement is no assignment to a plain name.
        """
        values: dict[str, ast.expr] = {}
        for statement in statements:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                return None
            name = statement.targets[0].id
            defined = self._grammar.definitions.get(name)
            if defined is None or not _same([statement.value], [defined.definition]):
                values[name] = _expanded(statement.value, values)
        return values

    def _derived(self, node: ast.expr, kind: str, memo: dict[tuple[int, str], Term | None]) -> Term | None:
        """Return an expression as a term of the type `kind`, by the first rules that match; None if none does.

        `memo` has the results so far in this program, by the expression's id and the type: expanded lines occur many
        times.
        """
        if kind == NUMBER:
            value = plain_number(node)
            return None if value is None else Term(NUMBER, value=value)
        key = id(node), kind
        if key not in memo:
            rules = self._by_key.get((kind, _key(node)), []) + self._by_key.get((kind, None), [])
            terms = (self._by_rule(rule, node, memo) for rule in rules)
            memo[key] = next((term for term in terms if term is not None), None)
        return memo[key]

    def _by_rule(self, rule: Rule, node: ast.expr, memo: dict[tuple[int, str], Term | None]) -> Term | None:
        """Return the expression as a term that starts with a rule; None if the rule does not fit.

        `memo` is the one of `_derived`.
        """
        fillers: list[ast.expr] = []
        if not self._matches(rule.pattern, node, fillers):
            return None
        children: list[Term] = []
        for hole, filler in zip(rule.holes, fillers, strict=True):
            child = self._derived(filler, hole, memo)
            if child is None:
                return None
            children.append(child)
        return Term(rule.type, rule, tuple(children))

    def _matches(self, pattern: Any, node: Any, fillers: list[ast.expr]) -> bool:
        """Whether the node matches the pattern. What fills the holes is appended to `fillers`, in order.

        If it does not match, `fillers` may have some of them, too.
        """
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
    """Return a key that an expression shares with every pattern that may match it, bare holes aside.

    It is the operator, the name of a called attribute, "call" for other calls, else the node's type.
    """
    if isinstance(node, ast.BinOp):
        return type(node.op)
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else "call"
    return type(node)


def _is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a constant alone, such as a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _expanded(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return the expression with names replaced by their values; the same tree if it has none of them."""
    # most expressions have none, and the transformer is slow
    return node if names_in(node).isdisjoint(values) else _Substitution(values).visit(node)


class _Substitution(ast.NodeTransformer):
    """Replaces each name by its expression in `values`, where the name is read; names without one stay.

    `visit` changes the tree and returns it, or an expression of `values` if the tree is just a name. These expressions
    are not copied: one may stand at several places.
    """

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
