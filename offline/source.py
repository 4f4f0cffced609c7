"""Source and terms of a grammar: reads a program by the rules that produce it, and writes one in short lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from behavesim.base.text import parse
from behavesim.programs.functions import functions_in, signature

from .grammar import NUMBER, PROGRAM, Grammar, Rule, Term, names_in, plain_number

# Most terms of a program with its named lines expanded: a few that each double the one before make millions.
READABLE = 500


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
        roots = [self._derive(values[name], kind, memo) for name, kind in self._grammar.roots.items()]
        children = tuple(root for root in roots if root is not None)
        return Term(PROGRAM, children=children) if len(children) == len(roots) else None

    def _values(self, statements: list[ast.stmt]) -> dict[str, ast.expr] | None:
        """Return each assigned name's expression in terms of definitions; None if a statement assigns otherwise."""
        values: dict[str, ast.expr] = {}
        for statement in statements:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                return None
            name = statement.targets[0].id
            defined = self._grammar.definitions.get(name)
            if defined is None or not _same([statement.value], [defined.definition]):
                values[name] = _expand(statement.value, values)
        return values

    def _derive(self, node: ast.expr, kind: str, memo: dict[tuple[int, str], Term | None]) -> Term | None:
        """Return an expression as a term of the type `kind`, by the first rules that match; None if none does."""
        # by identity: expanded lines occur many times, and each would be derived again
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
        fillers: list[ast.expr] = []
        if not self._matches(rule.pattern, node, fillers):
            return None
        children: list[Term] = []
        for hole, filler in zip(rule.holes, fillers, strict=True):
            child = self._derive(filler, hole, memo)
            if child is None:
                return None
            children.append(child)
        return Term(rule.type, rule, tuple(children))

    def _matches(self, pattern: Any, node: Any, fillers: list[ast.expr]) -> bool:
        """Whether the node matches the pattern. What fills the holes is appended to `fillers`, in order."""
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
    return list(map(ast.dump, one)) == list(map(ast.dump, other))


def _key(node: ast.expr) -> Any:
    """Return a key that an expression shares with every pattern that may match it, bare holes aside."""
    if isinstance(node, ast.BinOp):
        return type(node.op)
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else "call"
    return type(node)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _expand(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    # most expressions have none, and the transformer is slow
    return node if names_in(node).isdisjoint(values) else _Substitution(values).visit(node)


class _Substitution(ast.NodeTransformer):
    """Replaces each name that is read by its expression in `values`; names without one stay."""

    # The expressions are not copied: one may stand at several places, and is then derived once.

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


# Width of an expression, in characters, above which its widest parts become lines of their own.
LINE = 64
# Only parts wider than this, in characters, become lines of their own.
WORTH_A_NAME = 16


@dataclass(frozen=True)
class _Text:
    """An expression, and about how many characters it is wide."""

    node: ast.expr
    width: int


class Writer:
    """Writes the programs of one grammar, with the imports and the signature of the task's template."""

    def __init__(self, grammar: Grammar, template: str, entry_point: str) -> None:
        self._grammar = grammar
        own = [node for node in parse(template).body if isinstance(node, ast.Import | ast.ImportFrom)]
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
                parts[index] = self._name_part(parts[index].node, term.children[index])
        node = _fill_holes(term.rule.pattern, iter(parts), self._grammar)
        return _Text(node, term.rule.width + sum(part.width for part in parts))

    def _name_part(self, node: ast.expr, term: Term) -> _Text:
        """Add a line that computes the term and return its name; equal terms share one line."""
        if term not in self._named_before:
            name = self._name(term)
            self._taken.add(name)
            self.lines.append(f"{name} = {ast.unparse(node)}")
            self._named_before[term] = _Text(ast.Name(name, ast.Load()), len(name))
        return self._named_before[term]

    def _name(self, term: Term) -> str:
        """Return an unused name, such as by_near or by_near_2, from the term's first definition, else from its type."""
        defined = (inner.rule.name for _, inner in term.sites() if inner.rule is not None and inner.rule.name)
        stem = f"by_{next(defined, term.type)}"
        names = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        return next(name for name in names if name not in self._taken)


def _fill_holes(pattern: Any, fillers: Iterator[_Text], grammar: Grammar) -> Any:
    """Return a copy of a pattern with its holes filled in order by the next fillers."""
    if isinstance(pattern, ast.Name):
        return next(fillers).node if pattern.id in grammar.rules else pattern
    if isinstance(pattern, ast.AST):
        return type(pattern)(**{name: _fill_holes(value, fillers, grammar) for name, value in ast.iter_fields(pattern)})
    if isinstance(pattern, list):
        return [_fill_holes(part, fillers, grammar) for part in pattern]
    return pattern
