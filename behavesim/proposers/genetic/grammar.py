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
positive decimal constant. Names that are not types stand for themselves. A *term* is a tree of rules (`term.py`).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from behavesim.base.errors import TaskError
from behavesim.base.syntax import parsed

NUMBER = "number"
"""The type of constants, which every grammar has."""


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to write an expression of a type: a pattern in which names of types are holes."""

    type: str
    pattern: ast.expr = field(repr=False)
    holes: tuple[str, ...]
    """The types of the holes, in the order of a depth-first walk through the pattern."""
    name: str = ""
    """The defined name, if the rule is a definition ("" if not); `definition` is its value, `line` its source."""
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
        """Whether the pattern is just a sum or product of two holes of one type: swapping these keeps the value."""
        match self.pattern:
            case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Mult(), right=ast.Name(id=right)):
                return left == right and (left, right) == self.holes
        return False

    @property
    def constant(self) -> float | int | None:
        """The value of a rule that is one number; None for any other rule."""
        return plain_number(self.pattern)


@dataclass(frozen=True, eq=False)
class Grammar:
    """The rules of each type, the roots that a program must define, and the statements that end it."""

    imports: tuple[ast.stmt, ...]
    rules: Mapping[str, tuple[Rule, ...]]
    """The rules of each type in the order of the text, by the type's name; none for NUMBER."""
    definitions: Mapping[str, Rule]
    """The definitions, keyed by name; each may use those before it."""
    roots: Mapping[str, str]
    """The type of each root, by its name."""
    form: tuple[ast.stmt, ...]
    form_lines: tuple[str, ...]
    """The lines of the form as written, with comments."""

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """Return the grammar that a text in this notation describes.

        Raises TaskError if it is not Python, has no root, or uses a definition before it is made. It is also raised if
        an alternative is a comparison without parentheses, or if a type has no finite expression.
        """
        statements = _statements(text)
        imports: list[ast.stmt] = []
        vocabulary: list[tuple[str, ast.Assign | ast.AnnAssign]] = []
        roots: dict[str, str] = {}
        form_begins = 0  # the line after the last root, counted from 0
        while statements:
            match statements[0]:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id=kind), value=None):
                    roots[name] = kind
                case ast.Import() | ast.ImportFrom() if not roots:
                    imports.append(statements[0])
                case (
                    ast.AnnAssign(target=ast.Name(), annotation=ast.Name(id=kind))
                    | ast.Assign(targets=[ast.Name(id=kind)])
                ) as line if not roots:
                    vocabulary.append((kind, line))
                case _:
                    break
            form_begins = statements.pop(0).end_lineno or 0
        types = {NUMBER, *roots.values(), *(kind for kind, _ in vocabulary)}
        found = [rule for kind, statement in vocabulary for rule in _rules(kind, statement, types, text)]
        # sorted, since the order of a set of texts differs between processes
        rules = {kind: tuple(rule for rule in found if rule.type == kind) for kind in sorted(types)}
        definitions = {rule.name: rule for rule in found if rule.name}
        form_lines = "\n".join(text.splitlines()[form_begins:]).strip("\n").splitlines()
        grammar = cls(tuple(imports), rules, definitions, roots, tuple(statements), tuple(form_lines))
        grammar._check()
        return grammar

    def _check(self) -> None:
        """Raise TaskError, saying what is missing, if the grammar cannot produce a program."""
        if not self.roots:
            raise TaskError("the task's grammar has no root; add a line such as `score: vector`")
        known: set[str] = set()
        for name, rule in self.definitions.items():
            if unknown := sorted((names_in(rule.definition) & self.definitions.keys()) - known):
                raise TaskError(f"the task's grammar defines {name} by {unknown[0]}, which is not defined before it")
            known.add(name)
        if endless := [kind for kind, depth in self.depths.items() if depth == inf]:
            raise TaskError(f"the task's grammar has no finite expression of type {', '.join(endless)}; add a rule")

    def leaning(self, times: int) -> Grammar:
        """Return a copy that draws the first rule with holes of each type `times` times as often as each other one."""
        # a rule without holes would end every expression
        leaders = {kind: [rule for rule in rules if rule.holes][:1] for kind, rules in self.rules.items()}
        return replace(self, rules={kind: (*self.rules[kind], *(times - 1) * leaders[kind]) for kind in self.rules})

    @cached_property
    def depths(self) -> Mapping[str, float]:
        """Minimum depth of an expression of each type: 0 if a rule without holes makes one, inf if none is finite."""
        depths: dict[str, float] = dict.fromkeys(self.rules, inf) | {NUMBER: 0}
        while True:  # a type's depth follows from those of other types: repeat until none changes
            found = {kind: min((_depth(rule, depths) for rule in self.rules[kind]), default=inf) for kind in depths}
            found[NUMBER] = 0
            if found == depths:
                return depths
            depths = found

    @cached_property
    def least(self) -> Mapping[Rule, float]:
        """Minimum depth of an expression that starts with each rule: 0 without holes, inf if none is finite."""
        return {rule: _depth(rule, self.depths) for rules in self.rules.values() for rule in rules}

    @cached_property
    def needs(self) -> Mapping[Rule | None, frozenset[str]]:
        """The names of the definitions that a program needs because it uses a rule, keyed by rule; None is the form."""
        known: dict[str, frozenset[str]] = {}

        def needed(*trees: ast.AST | None) -> frozenset[str]:
            names = frozenset().union(*map(names_in, trees)) & known.keys()
            return names.union(*(known[name] for name in names))

        for name, rule in self.definitions.items():
            known[name] = needed(rule.definition) | {name}
        needs: dict[Rule | None, frozenset[str]] = {None: needed(*self.form)}
        for rule in (rule for rules in self.rules.values() for rule in rules):
            needs[rule] = known[rule.name] if rule.name else needed(rule.pattern)
        return needs

    @cached_property
    def nameable(self) -> frozenset[str]:
        """The types whose expressions may become a named line: the types of definitions and roots."""
        return frozenset(self.roots.values()).union(rule.type for rule in self.definitions.values())

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name in rules, definitions, roots and form; generated programs must not reuse one for anything else."""
        rules = [rule for rules in self.rules.values() for rule in rules]
        trees = [*(rule.pattern for rule in rules), *(rule.definition for rule in rules), *self.form]
        return frozenset(self.roots).union(*map(names_in, trees))


def _statements(text: str) -> list[ast.stmt]:
    """Parse a grammar; raises TaskError, with the line, if it is not Python."""
    try:
        return parsed(text).body
    except SyntaxError as error:
        raise TaskError(f"the task's grammar is no Python, line {error.lineno}: {error.msg}") from error


def names_in(tree: ast.AST | None) -> set[str]:
    """Return the names that occur in a syntax tree as `ast.Name`, not attributes or parameters; empty for None."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set()


def plain_number(node: ast.AST) -> float | int | None:
    """Return the value of a node that is an int or float constant; None for any other node.

    None too for True and False, for a value beyond the range of a float, and for `-1`, which is an operation on 1.
    """
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    return value


def _rules(kind: str, statement: ast.Assign | ast.AnnAssign, types: set[str], text: str) -> Iterator[Rule]:
    """Yield the rules of the type `kind` that one line of the grammar gives: a definition, or an alternative each.

    `types` are the names of all types, `text` is the whole grammar.
    """
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            line = f"{name} = {ast.get_source_segment(text, value)}"
            yield Rule(kind, ast.Name(name, ast.Load()), (), name, value, line, width=len(name))
            return
    assert statement.value is not None
    for pattern in _alternatives(statement.value):
        if isinstance(pattern, ast.Compare):
            _check_parentheses(pattern)
        holes = tuple(node.id for node in _walk(pattern) if isinstance(node, ast.Name) and node.id in types)
        yield Rule(kind, pattern, holes, width=len(ast.unparse(pattern)) - sum(map(len, holes)))


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that `|` separates, from left to right."""
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


def _depth(rule: Rule, depths: Mapping[str, float]) -> float:
    """Return the minimum depth of an expression that starts with a rule: 0 if the rule has no holes.

    `depths` has the minimum depth for each type, inf where none is known.
    """
    return 1 + max((depths[hole] for hole in rule.holes), default=-1)
