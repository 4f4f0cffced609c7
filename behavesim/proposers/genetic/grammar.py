"""The notation in which a task offers the building blocks of its domain: Python's syntax, read as a grammar.

    from math import sqrt                            an import that programs begin with, beside the template's
    left: scalar = len(unvisited_nodes)              a definition: programs that use `left` begin by computing it
    near: vector = distance_matrix[current_node, unvisited_nodes]
    vector = vector + vector | number * vector       a rule: the ways to write an expression of a type
    scalar = number | vector.min()
    count = 1 | 2 | 5                                a type of constants to choose from
    cost: vector                                     a root: what a program has to decide on
    return unvisited_nodes[np.argmin(cost)]          the form: all statements after the roots, the end of every program

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
    """One way to write an expression of a type: the pattern, whose holes are the names of types."""

    type: str
    pattern: ast.expr = field(repr=False)
    holes: tuple[str, ...]
    """The types of the holes in the order in which a walk through the pattern meets them."""
    name: str = ""
    """Where the pattern is a defined name: that name, what it stands for, and the assignment as written."""
    definition: ast.expr | None = field(default=None, repr=False)
    line: str = ""
    width: int = 0
    """The length of the pattern's text, holes left out."""

    @property
    def is_choice(self) -> bool:
        """Whether an expression is chosen between by a condition: `a if c else b`."""
        return isinstance(self.pattern, ast.IfExp)

    @property
    def commutes(self) -> bool:
        """Whether its two holes may change places and nothing else changes: `a + b`, `a * b`."""
        pattern = self.pattern
        if not isinstance(pattern, ast.BinOp) or not isinstance(pattern.op, ast.Add | ast.Mult):
            return False
        sides = [side.id for side in (pattern.left, pattern.right) if isinstance(side, ast.Name)]
        return len(sides) == 2 and sides[0] == sides[1] and tuple(sides) == self.holes

    @property
    def constant(self) -> float | int | None:
        """The value of a rule that is one plain number."""
        return plain_number(self.pattern)


@dataclass(frozen=True, eq=False)
class Grammar:
    """The rules of each type, the roots a program decides on, and the statements that end it."""

    imports: tuple[ast.stmt, ...]
    rules: Mapping[str, tuple[Rule, ...]]
    definitions: Mapping[str, Rule]
    """The rules that are a defined name, by the name; a definition may use those before it."""
    roots: Mapping[str, str]
    """The type of each root, by its name."""
    form: tuple[ast.stmt, ...]
    form_lines: tuple[str, ...]
    """The form as written, comments and all."""

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """The grammar a text describes; raises TaskError where it is no Python, or no expression of a type can end."""
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
        """Raise TaskError where a program could not be grown, and say what is missing."""
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
        """The same with one idea that prevails: of each type the first rule with holes is followed more often."""
        leaders = {kind: [rule for rule in rules if rule.holes][:1] for kind, rules in self.rules.items()}
        return replace(self, rules={kind: (*self.rules[kind], *(times - 1) * leaders[kind]) for kind in self.rules})

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """The least depth of an expression of each type; a type without a finite one is missing."""
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
        """The least depth of an expression that follows each rule; one without a finite one is missing."""
        found = {rule: _depth(rule, self.depths) for rules in self.rules.values() for rule in rules}
        return {rule: depth for rule, depth in found.items() if depth is not None}

    @cached_property
    def needs(self) -> Mapping[Rule | None, frozenset[str]]:
        """The definitions that a rule, or (None) the form, makes a program begin with, whatever fills its holes."""
        needs: dict[Rule | None, frozenset[str]] = {}
        for rule in self.definitions.values():
            needs[rule] = self._needed(rule.definition) | {rule.name}
        for rule in (rule for rules in self.rules.values() for rule in rules if not rule.name):
            needs[rule] = self._needed(rule.pattern)
        return {**needs, None: self._needed(*self.form)}

    def _needed(self, *trees: ast.AST | None) -> frozenset[str]:
        """The definitions the trees mention, and those that these mention in turn."""
        mentioned: frozenset[str] = frozenset().union(*(self._mentioned(tree) for tree in trees))
        return mentioned.union(*(self._needed(self.definitions[name].definition) for name in mentioned))

    def _mentioned(self, tree: ast.AST | None) -> frozenset[str]:
        nodes = ast.walk(tree) if tree is not None else ()
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.id in self.definitions)

    @cached_property
    def nameable(self) -> frozenset[str]:
        """The types whose expressions may be assigned to a name of their own: those a definition or a root has."""
        return frozenset(self.roots.values()).union(rule.type for rule in self.definitions.values())

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name the grammar mentions; programs must not call anything else so."""
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
    """The value of a numeric constant that a float can hold; None for anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    return value


@dataclass
class _Sections:
    """The statements of a grammar's text, sorted."""

    imports: tuple[ast.stmt, ...] = ()
    vocabulary: tuple[tuple[str, ast.Assign | ast.AnnAssign], ...] = ()
    """Rules and definitions, with the types they are of."""
    roots: dict[str, str] = field(default_factory=dict)
    form: tuple[ast.stmt, ...] = ()
    form_begins: int = 0
    """The line after the last root's, from 0."""


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
    """The rules of one line of the vocabulary."""
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
    """Python reads `a < b | c` as `a < (b | c)`: hardly what a grammar means."""
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) for node in ast.walk(comparison)):
        raise TaskError(f"in the task's grammar, put comparisons in parentheses: {ast.unparse(comparison)}")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes, parents before children, in source order: the order in which holes are matched and filled."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _depth(rule: Rule, depths: Mapping[str, int]) -> int | None:
    if not all(hole in depths for hole in rule.holes):
        return None
    return 1 + max((depths[hole] for hole in rule.holes), default=-1)
