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
positive decimal constant. Names that are not types stand for themselves. A *term* is a tree of rules.

Below the grammar are its terms, random ones too, and the grammar for a task that has none.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.base.text import parse
from behavesim.programs.functions import functions_in
from behavesim.proposers.proposer import uniform

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

        Raises TaskError if it is not Python, has no root, uses a definition before it is made, has an alternative that
        is a comparison without parentheses, or a type without a finite expression.
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
    try:
        return parse(text).body
    except SyntaxError as error:
        raise TaskError(f"the task's grammar is no Python, line {error.lineno}: {error.msg}") from error


def names_in(tree: ast.AST | None) -> set[str]:
    """Return the names in a syntax tree, not attributes or parameters."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set()


def plain_number(node: ast.AST) -> float | int | None:
    """Return the value of an int or float constant; None for other nodes, such as True, `-1` or one beyond floats."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    return value


def _rules(kind: str, statement: ast.Assign | ast.AnnAssign, types: set[str], text: str) -> Iterator[Rule]:
    """Yield the rules that one line of the grammar gives: a definition, or an alternative each."""
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
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) for node in ast.walk(comparison)):
        raise TaskError(f"in the task's grammar, put comparisons in parentheses: {ast.unparse(comparison)}")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, parents before children, in the order in which holes are matched and filled."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _depth(rule: Rule, depths: Mapping[str, float]) -> float:
    """Return the minimum depth of an expression that starts with a rule, from those of each type."""
    return 1 + max((depths[hole] for hole in rule.holes), default=-1)


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
    """Return a finite value rounded to two significant digits, as an int if it is whole then."""
    short = float(f"{value:.2g}")
    return int(short) if short.is_integer() else short


def _rule(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Rule:
    """Draw a rule of the type `kind` for an expression at most `depth` deep, else one with the least depth."""
    rules = grammar.rules[kind]
    within = [rule for rule in rules if grammar.least[rule] <= depth]
    if not within:
        return uniform([rule for rule in rules if grammar.least[rule] == grammar.depths[kind]], random)
    ends = [rule for rule in within if not rule.holes]
    # the kind of rule is drawn first: types have many more rules with holes than without
    goes_on = [rule for rule in within if rule.holes]
    if not goes_on or (ends and random.random() < STOP):
        return uniform(ends, random)
    return uniform(goes_on, random)


# Annotations of parameters that are taken as numbers, by plain names: `np.ndarray` is "ndarray", `list[int]` is "list".
SCALARS = frozenset({"int", "float", "bool"})
# Annotations of parameters that are taken as arrays of numbers.
ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike", "list", "tuple", "Sequence", "List", "Tuple"})
# Return annotations, by their plain names (see SCALARS), of functions that return a number.
NUMBERS = SCALARS | {"float64"}
# Annotations of functions that return a numpy array, which programs of the grammar can return.
NUMPY = frozenset({"ndarray", "NDArray"})

# The names of the grammar's types.
TYPES = frozenset({"number", "scalar", "array"})

SCALAR_RULES = """
scalar = number | scalar + scalar | scalar - scalar | number * scalar | scalar * scalar | scalar / (abs(scalar) + 0.01)
scalar = min(scalar, scalar) | max(scalar, scalar) | abs(scalar) | np.sqrt(abs(scalar)) | np.tanh(scalar)
scalar = np.log1p(abs(scalar)) | np.exp(-abs(scalar)) | (scalar if scalar > scalar else scalar)
"""
ARRAY_RULES = """
scalar = array.mean() | array.min() | array.max() | array.sum() | array.std() | len(array)
array = array + array | array - array | number * array | array * array | array / (np.abs(array) + 0.01)
array = array + scalar | scalar * array | np.minimum(array, array) | np.maximum(array, array) | np.abs(array)
array = np.sqrt(np.abs(array)) | np.tanh(array) | np.exp(-np.abs(array)) | np.where(array > scalar, array, array)
"""


def generic_grammar(template: str, entry_point: str) -> str:
    """Return a grammar, as text in the notation of `Grammar`, for a function of numbers and arrays.

    Only parameters annotated with SCALARS or ARRAYS are used. The return annotation decides what programs return: an
    int, a bool, with array parameters an array, or for `int` the index of the largest value; else a number. Raises
    KeyError if `template` does not define `entry_point`.
    """
    function = functions_in(template)[entry_point]
    scalars, arrays = _parameters(function, SCALARS), _parameters(function, ARRAYS)
    lines = ["import numpy as np"]
    lines += [f"{name}_values: array = np.asarray({name}, dtype=float)" for name in arrays]
    # a parameter named like a type of the grammar would be read as a hole, so it gets another name
    lines += [f"the_{name}: scalar = {name}" if name in TYPES else f"scalar = {name}" for name in scalars]
    lines += [SCALAR_RULES, ARRAY_RULES if arrays else "", _ending(_annotated(function.returns), bool(arrays))]
    return "\n".join(lines)


def suits(template: str, entry_point: str) -> bool:
    """Whether programs of `generic_grammar` can return what this function must return, by its annotations.

    Raises KeyError if `template` does not define `entry_point`.
    """
    function = functions_in(template)[entry_point]
    returned, arrays = _annotated(function.returns), _parameters(function, ARRAYS)
    # of several arrays the shapes may differ, and so an index or an array of the result may not fit
    if arrays and returned in NUMPY | {"int"}:
        return len(arrays) == 1
    return returned in NUMBERS and bool(arrays or _parameters(function, SCALARS))


def _parameters(function: ast.FunctionDef, annotations: frozenset[str]) -> list[str]:
    """Return the names of a function's parameters that have one of these annotations, in order."""
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in parameters if _annotated(argument.annotation) in annotations]


def _ending(returned: str | None, has_arrays: bool) -> str:
    """Return the root and the final statement for a return annotation."""
    if has_arrays and returned == "int":
        return "result: array\nreturn int(np.argmax(result))"
    kind = "array" if has_arrays and returned in ARRAYS else "scalar"
    value = {"int": "int(result)", "bool": "bool(result > 0)"}.get(returned or "", "result")
    return f"result: {kind}\nreturn {value}"


def _annotated(annotation: ast.expr | None) -> str | None:
    """Return the plain name of an annotation, `ndarray` for `np.ndarray` and `list` for `list[int]`; else None."""
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _annotated(value)
    return None
