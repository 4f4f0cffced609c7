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
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.base.text import parse
from behavesim.programs.functions import functions_in, signature
from behavesim.proposers.proposer import choose

# The type of constants, which every grammar has.
NUMBER = "number"


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
        return parse(text).body
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
    """Yield the rules of the type `kind` that one line of the grammar gives: a definition, or an alternative each."""
    # `types` are the names of all types, `text` is the whole grammar.
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
    """Return the minimum depth of an expression that starts with a rule: 0 if the rule has no holes."""
    # `depths` has the minimum depth for each type, inf where none is known.
    return 1 + max((depths[hole] for hole in rule.holes), default=-1)


# A grammar, in llama.cpp's notation GBNF, of short Python programs that define a task's function.
#
# A model that is held to it cannot forget the function, change its parameters or invent names. A program may use its
# parameters, the names in `_OWN`, and common functions of Python and numpy. It may still fail: a name may have no
# value yet, and a limit on tokens may cut the program off. Lines, expressions and brackets are bounded, so that a
# model that repeats itself comes to an end.


# Most statements in a row: of the function, in a block in it, and in a block in that.
STATEMENTS = (10, 4, 2)
# How deep brackets may stand in brackets.
BRACKETS = 2
# Names, separated by spaces, that a program may give values.
_OWN = "a b best c cost d found i index j k n order result s score scores total value values x y"
# Python's functions that a program may call, separated by spaces.
_CALLED = "abs all any enumerate float int len list max min range round set sorted sum tuple zip"
# Functions that a program may call, by their module; each module counts only if the template imports it.
_OF_MODULES = {
    "math": "ceil cos exp floor hypot log sin sqrt tanh",
    "numpy": "abs all any arange argmax argmin argsort array clip concatenate cos cumsum diff dot exp floor full isin "
    "log log1p max maximum mean median min minimum nonzero ones outer percentile power prod roll sign sin sort sqrt "
    "std sum tanh unique var where zeros",
}
# Attributes and methods of arrays and lists that a program may use, separated by spaces.
_OF_VALUES = "T all any append argmax argmin argsort copy max mean min pop shape size sort std sum tolist"
_FIXED = """
number ::= ("0" | [1-9] [0-9]{0,3}) ("." [0-9]{1,4})?
compared ::= " < " | " > " | " <= " | " >= " | " == " | " != " | " in "
operator ::= " + " | " - " | " * " | " / " | " // " | " % " | " ** "
target ::= (own | own "[" value0 "]") (" = " | " += " | " -= ") | own ", " own " = "
"""
_VALUE = """
value{d} ::= "-"? atom{d} (operator atom{d}){{0,2}}
atom{d} ::= name after{d}{{0,2}} | number{deep}
"""
_DEEP = """
after{d} ::= "." attribute ("(" arguments{d}? ")")? | "[" index{d} "]"
index{d} ::= value{less} (", " value{less})? | value{less}? ":" value{less}? | value{less} compared value{less}
list{d} ::= "[" (value{less} (", " value{less}){{0,3}})? "]"
all{d} ::= "[" value{less} " for " own " in " value{less} "]"
called{d} ::= function "(" arguments{d}? ")"
arguments{d} ::= value{less} (", " value{less}){{0,2}} (", " named{d})? | named{d}
named{d} ::= "axis=" value{less} | "key=lambda " own ": " value{less}
"""


def program_grammar(template: str, entry_point: str) -> str:
    """Return the grammar of replies: one fenced block with the template's imports, its signature, and a short body.

    Raises KeyError if the template does not define `entry_point`, SyntaxError if it is no Python.
    """
    imports = [each for each in parse(template).body if isinstance(each, ast.Import | ast.ImportFrom)]
    function = functions_in(template)[entry_point]
    head = "\n".join(["```python", *map(ast.unparse, imports), "", f"{signature(function)}:"])
    given = function.args
    parameters = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    rules = [
        f'root ::= {json.dumps(head)} {_block(0)} {json.dumps(_indented(0))} "return " value "\\n```"',
        f"value ::= value{BRACKETS}",
        "condition ::= value1 (compared value1)?",
        f"own ::= {_one_of(_OWN.split())}",
        f"name ::= {_one_of([*parameters, *_OWN.split()])}",
        f"function ::= {_one_of([*_CALLED.split(), *_imported(imports)])}",
        f"attribute ::= {_one_of(_OF_VALUES.split())}",
        *_reply_statements(),
        _FIXED.strip(),
        *_values(),
    ]
    return "\n".join(rules) + "\n"


def _imported(imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    """Yield the functions that imports make known: those imported by name, and of modules those in _OF_MODULES."""
    for each in imports:
        for name in each.names:
            if isinstance(each, ast.ImportFrom):
                yield name.asname or name.name
            else:
                module = name.asname or name.name
                yield from (f"{module}.{found}" for found in _OF_MODULES.get(name.name, "").split())


def _reply_statements() -> Iterator[str]:
    """Yield each rule of a statement, with the indentation of its lines, for each depth of STATEMENTS, from 0."""
    for depth in range(len(STATEMENTS)):
        simple = f'{json.dumps(_indented(depth))} (target value | "return " value)'
        if depth + 1 == len(STATEMENTS):
            yield f"statement{depth} ::= {simple}"
            continue
        block, here = _block(depth + 1), json.dumps(_indented(depth))
        yield f"statement{depth} ::= {simple} | {here} loop{depth} | {here} choice{depth}"
        yield f'loop{depth} ::= "for " own (", " own)? " in " value ":" {block}'
        yield f'choice{depth} ::= "if " condition ":" {block} ({here} "else:" {block})?'


def _values() -> Iterator[str]:
    """Yield the rules of values, by how deep their brackets go."""
    yield _VALUE.format(d=0, deep="").strip()
    yield 'after0 ::= "." attribute | "[" (name | number) "]"'
    for depth in range(1, BRACKETS + 1):
        less = depth - 1
        deep = f' | list{depth} | all{depth} | called{depth} | "(" value{less} ")"'
        yield _VALUE.format(d=depth, deep=deep).strip()
        yield _DEEP.format(d=depth, less=less).strip()


def _block(depth: int) -> str:
    """Return the rule of a block's statements, its right side; only the function's body (depth 0) may have none."""
    return f"statement{depth}{{{0 if depth == 0 else 1},{STATEMENTS[depth]}}}"


def _indented(depth: int) -> str:
    """Return a line end and the indentation of a line in a block at this depth."""
    return "\n" + "    " * (depth + 1)


def _one_of(names: list[str]) -> str:
    """Return the right side of a rule that allows any one of these names: each in double quotes, with " | " between."""
    return " | ".join(map(json.dumps, names))


# A program as a tree of grammar rules, and random trees.


# The type of a term that is a whole program.
PROGRAM = "program"
# Probability of choosing a rule without holes where a deeper expression is possible.
STOP = 0.25
# Maximum depth of a generated expression, unless the grammar's minimum depth is larger.
DEPTH = 4

# Index of the child at each step from the root of a tree down to a term; empty for the root.
Path = tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """An expression: a rule and the terms that fill its holes, or a number (`value`, without a rule).

    A whole program is a term without rule and value. Its children are the grammar's roots, in order.
    """

    type: str
    rule: Rule | None = None
    children: tuple[Term, ...] = ()
    value: float | int | None = None
    size: int = field(init=False, compare=False)
    """Number of terms in the tree, this one included; stored, because a parsed term can be too large to walk."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(child.size for child in self.children))

    def sites(self, path: Path = ()) -> Iterator[tuple[Path, Term]]:
        """Yield every term of the tree with its path, parents before children."""
        yield path, self
        for index, child in enumerate(self.children):
            yield from child.sites((*path, index))

    def replaced(self, path: Path, term: Term) -> Term:
        """Return a copy of the tree with `term` at the path; `term` itself for the empty path."""
        if not path:
            return term
        index, *rest = path
        child = self.children[index].replaced(tuple(rest), term)
        return Term(self.type, self.rule, (*self.children[:index], child, *self.children[index + 1 :]), self.value)

    def rules(self) -> frozenset[Rule]:
        """Return all rules that the tree uses."""
        terms = [self]
        for term in terms:  # the list grows by the children of each term
            terms += term.children
        return frozenset([term.rule for term in terms if term.rule is not None])


def fresh(grammar: Grammar, random: np.random.Generator) -> Term:
    """Return a new random program of the grammar."""
    return Term(PROGRAM, children=tuple(grown(grammar, kind, DEPTH, random) for kind in grammar.roots.values()))


def grown(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Term:
    """Return a random expression of the type `kind`, at most `depth` deep if possible; one rule alone is 0 deep."""
    if kind == NUMBER:
        # from 0.03 to 5.6, each magnitude as likely: the weights that people write
        return Term(NUMBER, value=round_number(10 ** random.uniform(-1.5, 0.75)))
    rule = _rule(grammar, kind, depth, random)
    return Term(kind, rule, tuple(grown(grammar, hole, depth - 1, random) for hole in rule.holes))


def round_number(value: float) -> float | int:
    """Return the value rounded to two significant digits, as an int if it is whole then; the value must be finite."""
    short = float(f"{value:.2g}")
    return int(short) if short.is_integer() else short


def _rule(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Rule:
    """Draw a rule of the type `kind` for an expression at most `depth` deep, else one with the least depth."""
    rules = grammar.rules[kind]
    within = [rule for rule in rules if grammar.least[rule] <= depth]
    if not within:
        return choose([rule for rule in rules if grammar.least[rule] == grammar.depths[kind]], random)
    ends = [rule for rule in within if not rule.holes]
    # the kind of rule is drawn first: types have many more rules with holes than without
    goes_on = [rule for rule in within if rule.holes]
    if not goes_on or (ends and random.random() < STOP):
        return choose(ends, random)
    return choose(goes_on, random)
