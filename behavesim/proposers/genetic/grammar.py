"""The grammar in which a task describes its building blocks: Python syntax, read as rules.

    from math import sqrt                            an import that every program begins with, after the template's
    left: scalar = len(unvisited_nodes)              a definition: programs that use `left` compute it first
    near: vector = distance_matrix[current_node, unvisited_nodes]
    vector = vector + vector | number * vector       rules: the ways to write an expression of a type
    scalar = number | vector.min()
    count = 1 | 2 | 5                                a type whose values are constants
    cost: vector                                     a root: an expression that every program must define
    return unvisited_nodes[np.argmin(cost)]          the form: the statements that end every program

In an expression, the name of a type is a hole for any expression of that type. The type `number` is always there: a
positive decimal constant. Names that are not types stand for themselves.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from behavesim.base.errors import TaskError

NUMBER = "number"


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to write an expression of a type: a pattern in which names of types are holes."""

    type: str
    pattern: ast.expr = field(repr=False)
    holes: tuple[str, ...]
    """The types of the holes, in the order of a depth-first walk through the pattern."""
    name: str = ""
    """The defined name, if the rule is a definition; then `definition` is its value and `line` its source."""
    definition: ast.expr | None = field(default=None, repr=False)
    line: str = ""
    width: int = 0
    """Number of characters of the pattern without its holes."""

    @property
    def is_choice(self) -> bool:
        """Whether the pattern is a conditional expression, `a if c else b`."""
        return isinstance(self.pattern, ast.IfExp)

    @property
    def commutes(self) -> bool:
        """Whether swapping the two operands keeps the value: `a + b` or `a * b` of one type."""
        pattern = self.pattern
        if not isinstance(pattern, ast.BinOp) or not isinstance(pattern.op, ast.Add | ast.Mult):
            return False
        sides = [side.id for side in (pattern.left, pattern.right) if isinstance(side, ast.Name)]
        return len(sides) == 2 and sides[0] == sides[1] and tuple(sides) == self.holes

    @property
    def constant(self) -> float | int | None:
        """The value of a rule that is one number; None for any other rule."""
        return plain_number(self.pattern)


@dataclass(frozen=True, eq=False)
class Grammar:
    """The rules of each type, the roots that a program must define, and the statements that end it."""

    imports: tuple[ast.stmt, ...]
    rules: Mapping[str, tuple[Rule, ...]]
    definitions: Mapping[str, Rule]
    """The definitions, keyed by name; each may use those before it."""
    roots: Mapping[str, str]
    """The type of each root, by its name."""
    form: tuple[ast.stmt, ...]
    form_lines: tuple[str, ...]
    """The lines of the form as written, with comments."""

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """Parse a grammar; raises TaskError if it is not Python or a type has no finite expression."""
        try:
            statements = ast.parse(text).body
        except SyntaxError as error:
            raise TaskError(f"the task's grammar is no Python, line {error.lineno}: {error.msg}") from error
        parts = _sections(statements)
        types = {NUMBER, *parts.roots.values(), *(kind for kind, _ in parts.vocabulary)}
        rules: dict[str, tuple[Rule, ...]] = dict.fromkeys(sorted(types), ())
        definitions: dict[str, Rule] = {}
        for kind, statement in parts.vocabulary:
            found = tuple(_rules(kind, statement, types, text))
            rules[kind] += found
            definitions |= {rule.name: rule for rule in found if rule.name}
        form_lines = "\n".join(text.splitlines()[parts.form_begins :]).strip("\n").splitlines()
        grammar = cls(parts.imports, rules, definitions, parts.roots, parts.form, tuple(form_lines))
        grammar.check()
        return grammar

    def check(self) -> None:
        """Raise TaskError, saying what is missing, if the grammar cannot produce a program."""
        if not self.roots:
            raise TaskError("the task's grammar has no root; add a line such as `score: vector`")
        known: set[str] = set()
        for rule in self.definitions.values():
            unknown = sorted(self._mentioned(rule.definition) - known)
            if unknown:
                raise TaskError(
                    f"the task's grammar defines {rule.name} by {unknown[0]}, which is not defined before it"
                )
            known.add(rule.name)
        endless = [kind for kind in self.rules if kind not in self.depths]
        if endless:
            raise TaskError(f"the task's grammar has no finite expression of type {', '.join(endless)}; add a rule")

    def leaning(self, times: int) -> Grammar:
        """Return a copy that chooses the first rule with holes of each type `times` times as often."""
        leaders = {kind: [rule for rule in rules if rule.holes][:1] for kind, rules in self.rules.items()}
        return replace(self, rules={kind: (*self.rules[kind], *(times - 1) * leaders[kind]) for kind in self.rules})

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """Minimum depth of an expression of each type; a type without a finite expression is missing."""
        depths = {NUMBER: 0}
        while True:
            found = {
                kind: min(depth for rule in rules if (depth := _depth(rule, depths)) is not None)
                for kind, rules in self.rules.items()
                if any(_depth(rule, depths) is not None for rule in rules)
            }
            if {NUMBER: 0, **found} == depths:
                return depths
            depths = {NUMBER: 0, **found}

    @cached_property
    def least(self) -> Mapping[Rule, int]:
        """Minimum depth of an expression that starts with each rule; rules without a finite one are missing."""
        found = {rule: _depth(rule, self.depths) for rules in self.rules.values() for rule in rules}
        return {rule: depth for rule, depth in found.items() if depth is not None}

    @cached_property
    def needs(self) -> Mapping[Rule | None, frozenset[str]]:
        """The definitions that a program needs because it uses a rule, keyed by rule; key None is the form."""
        needs: dict[Rule | None, frozenset[str]] = {}
        for rule in self.definitions.values():
            needs[rule] = self._needed(rule.definition) | {rule.name}
        for rule in (rule for rules in self.rules.values() for rule in rules if not rule.name):
            needs[rule] = self._needed(rule.pattern)
        return {**needs, None: self._needed(*self.form)}

    def _needed(self, *trees: ast.AST | None) -> frozenset[str]:
        """Return the definitions that the trees use, directly or through other definitions."""
        mentioned: frozenset[str] = frozenset().union(*(self._mentioned(tree) for tree in trees))
        return mentioned.union(*(self._needed(self.definitions[name].definition) for name in mentioned))

    def _mentioned(self, tree: ast.AST | None) -> frozenset[str]:
        nodes = ast.walk(tree) if tree is not None else ()
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.id in self.definitions)

    @cached_property
    def nameable(self) -> frozenset[str]:
        """The types whose expressions may become a named line: the types of definitions and roots."""
        return frozenset(self.roots.values()).union(rule.type for rule in self.definitions.values())

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name in the grammar; generated programs must not reuse one for something else."""
        patterns: Iterator[ast.AST] = (
            tree
            for rules in self.rules.values()
            for rule in rules
            for tree in (rule.pattern, rule.definition)
            if tree is not None
        )
        trees = [*patterns, *self.form]
        return frozenset(self.roots) | {
            node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)
        }


def plain_number(node: ast.AST) -> float | int | None:
    """Return the value of a numeric constant within the range of a float; None for any other node."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    return value


@dataclass
class _Sections:
    """The statements of a grammar, grouped by kind."""

    imports: tuple[ast.stmt, ...] = ()
    vocabulary: tuple[tuple[str, ast.Assign | ast.AnnAssign], ...] = ()
    """Rules and definitions, each with its type."""
    roots: dict[str, str] = field(default_factory=dict)
    form: tuple[ast.stmt, ...] = ()
    form_begins: int = 0
    """Index of the first line after the last root."""


def _sections(statements: list[ast.stmt]) -> _Sections:
    parts = _Sections()
    for place, statement in enumerate(statements):
        match statement:
            case ast.Import() | ast.ImportFrom() if not parts.roots:
                parts.imports += (statement,)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id=kind), value=None):
                parts.roots[name] = kind
                parts.form_begins = statement.end_lineno or statement.lineno
            case ast.AnnAssign(target=ast.Name(), annotation=ast.Name(id=kind)) if not parts.roots:
                parts.vocabulary += ((kind, statement),)
            case ast.Assign(targets=[ast.Name(id=kind)]) if not parts.roots:
                parts.vocabulary += ((kind, statement),)
            case _:
                parts.form = tuple(statements[place:])
                break
    return parts


def _rules(kind: str, statement: ast.Assign | ast.AnnAssign, types: set[str], text: str) -> Iterator[Rule]:
    """Return the rules that one line of the grammar defines."""
    assert statement.value is not None
    if isinstance(statement, ast.AnnAssign):
        assert isinstance(statement.target, ast.Name)
        name = statement.target.id
        line = f"{name} = {ast.get_source_segment(text, statement.value)}"
        yield Rule(kind, ast.Name(name, ast.Load()), (), name, statement.value, line, width=len(name))
        return
    for pattern in _alternatives(statement.value):
        if isinstance(pattern, ast.Compare):
            _check_parentheses(pattern)
        holes = tuple(node.id for node in _walk(pattern) if isinstance(node, ast.Name) and node.id in types)
        yield Rule(kind, pattern, holes, width=len(ast.unparse(pattern)) - sum(map(len, holes)))


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def _check_parentheses(comparison: ast.Compare) -> None:
    """Raise TaskError for a comparison without parentheses: Python reads `a < b | c` as `a < (b | c)`."""
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) for node in ast.walk(comparison)):
        raise TaskError(f"in the task's grammar, put comparisons in parentheses: {ast.unparse(comparison)}")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, parents before children, in the order in which holes are matched and filled."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _depth(rule: Rule, depths: Mapping[str, int]) -> int | None:
    if not all(hole in depths for hole in rule.holes):
        return None
    return 1 + max((depths[hole] for hole in rule.holes), default=-1)
