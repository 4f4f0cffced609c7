"""The places of a Python program at which its text may change, and the moves of the offline proposer on them."""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from behavesim.programs.numbers import Span, replace_literal, within
from behavesim.programs.parsing import TextIndex, children, known_tree
from behavesim.proposers.proposer import uniform, uniform_or_none

# Other numbers in place of literals, in a text of any language.


# Standard deviations of random changes, mostly of a number's logarithm: small ones refine it, large ones change it.
_STEPS = (0.01, 0.1, 0.5)
# A number beyond this, or below its negative, is not written: it would overflow or lose digits in most languages.
_LARGEST = 1e15


def another(literal: str, random: np.random.Generator) -> str:
    """Return a random number in place of a decimal literal: whole for digits alone, in parentheses if negative.

    Returns the literal itself if it or the new number is beyond ±1e15.
    """
    is_whole = literal.isdigit()
    value = float(literal)
    if value > _LARGEST:
        return literal
    other = _whole(value, random) if is_whole else _real(value, random)
    if abs(other) > _LARGEST:
        return literal
    text = str(int(other)) if is_whole else f"{other:.6g}"
    if not is_whole and not {".", "e"} & set(text):
        text += ".0"
    return f"({text})" if other < 0 else text


def _whole(value: float, random: np.random.Generator) -> float:
    """Return a whole number near a whole one: one more or less, its double or half, or scaled at random."""
    draw = random.random()
    if draw < 0.5 or value == 0:
        return value + (1 if random.random() < 0.5 else -1)
    if draw < 0.7:
        return value * 2 if random.random() < 0.5 else value // 2
    return float(round(value * math.exp(random.normal(0, 0.5))))


def _real(value: float, random: np.random.Generator) -> float:
    """Return a number near another one, or, at 10 % unless that is 0, any up to ±2 or ± twice the other."""
    step = uniform(_STEPS, random)
    draw = random.random()
    if value == 0:
        return float(random.normal(0, step))
    if draw < 0.75:
        return value * math.exp(random.normal(0, step))
    if draw < 0.9:
        return value + float(random.normal(0, step))
    return float(random.uniform(-2, 2)) * max(abs(value), 1.0)


_KNOWN = frozenset(dir(builtins))


@dataclass(frozen=True)
class Place:
    """A node of a program's tree, and the span of its text."""

    node: ast.AST
    span: Span
    function: str
    """The name of the innermost function around it; "" at the top level."""


@dataclass(frozen=True, eq=False)
class PythonText:
    """A Python program; `spans` are the parts of its text that may change."""

    source: str
    spans: tuple[Span, ...]
    tree: ast.Module

    @classmethod
    def of(cls, source: str, spans: Sequence[Span]) -> PythonText | None:
        """Parse a text; return None if it is no Python, or too large or deeply nested to parse in this process."""
        tree = known_tree(source)
        return None if tree is None else cls(source, tuple(spans), tree)

    @cached_property
    def _index(self) -> TextIndex:
        return TextIndex(self.source)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return the span of a node's text."""
        return self._index.span(node)

    def text(self, place: Place) -> str:
        """Return the text at a place."""
        return self.source[place.span[0] : place.span[1]]

    @cached_property
    def places(self) -> list[Place]:
        """The expressions and statements that lie in `spans` and may be replaced, parents before children."""
        found = []
        for node, function, is_place in _walk(self.tree):
            if is_place and isinstance(node, ast.expr | ast.stmt):
                place = Place(node, self.span(node), function)
                if within(place.span, self.spans):
                    found.append(place)
        return found

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names that imports bind anywhere in the program: also functions and classes that are imported."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return frozenset((alias.asname or alias.name).partition(".")[0] for each in imports for alias in each.names)

    def expressions(self) -> list[Place]:
        """Return the places of expressions of some `kind_of`, except the names of imports."""
        found = [place for place in self.places if kind_of(place.node)]
        return [each for each in found if not (isinstance(each.node, ast.Name) and each.node.id in self.modules)]

    @cached_property
    def _bound(self) -> dict[str, dict[str, int]]:
        """The first line on which each name is bound, by the function around it; "" is the top level."""
        # parameters are bound on line 0; so are imports and definitions, wherever they are, at the top level
        found: dict[str, dict[str, int]] = {"": dict.fromkeys(self.modules, 0)}
        for node, function, _ in _walk(self.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store(), lineno=line):
                    lines = found.setdefault(function, {})
                    lines[name] = min(line, lines.get(name, line))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found[""][name] = 0
                case ast.arg(arg=name):
                    found.setdefault(function, {})[name] = 0
        return found

    def knows(self, names: frozenset[str], place: Place) -> bool:
        """Whether all these names can be read at a place: built-in, top-level, or bound above in its function."""
        line = getattr(place.node, "lineno", 0)
        own = {name for name, bound in self._bound.get(place.function, {}).items() if bound < line}
        return names <= own | self._bound[""].keys() | _KNOWN


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield every node, the name of the function around it ("" if none), and whether another may take its place."""
    # without what is within formatted strings, whose columns Python 3.11 does not know
    waiting: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while waiting:
        node, function, is_place = waiting.pop()
        yield node, function, is_place
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        skipped: list[ast.AST | None] = []
        fixed: ast.AST | None = None
        match node:
            case ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                skipped = [node.returns, *node.decorator_list]
            case ast.ClassDef():
                skipped = [*node.decorator_list]
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
                skipped = [annotation]
            # what is called, done for its effect or walked through is no value that another may replace
            case ast.Call(func=fixed) | ast.Expr(value=fixed) | ast.For(iter=fixed) | ast.comprehension(iter=fixed):
                pass
        below = [child for child in reversed(children(node)) if child not in skipped]
        waiting += [(child, function, child is not fixed) for child in below]


_CONTAINER = ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Set | ast.SetComp | ast.Tuple
_NUMBER = ast.BinOp | ast.UnaryOp | ast.Call | ast.Subscript | ast.Name | ast.Attribute | ast.IfExp


def kind_of(node: ast.AST) -> str:
    """Return what an expression counts as, by its form alone: "number", "truth" or "container"; "" for all else."""
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.Compare() | ast.BoolOp():
            return "truth"
        case ast.Constant(value=bool()):
            return "truth"
        case ast.Constant(value=int() | float()):
            return "number"
        case ast.Constant():
            return ""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return ""
    if isinstance(node, _CONTAINER):
        return "container"
    return "number" if isinstance(node, _NUMBER) else ""


def free_names(node: ast.AST) -> frozenset[str]:
    """Return the names in a tree that it does not bind itself by assignment or as a parameter; no attributes."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    own = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return frozenset(each.id for each in names) - own


_COMPOUND = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


def is_removable(place: Place, program: PythonText) -> bool:
    """Whether a place is a statement that may be removed: no name that only it binds is read elsewhere."""
    node = place.node
    if not isinstance(node, ast.stmt) or isinstance(node, _COMPOUND | ast.Return | ast.Pass):
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False  # a docstring
    inside = {id(each) for each in ast.walk(node)}
    binds = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    others = [each for each in ast.walk(program.tree) if isinstance(each, ast.Name) and id(each) not in inside]
    bound = {each.id for each in others if isinstance(each.ctx, ast.Store)}
    return not (binds - bound) & {each.id for each in others if isinstance(each.ctx, ast.Load)}


_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
_ORDERS = ("<", "<=", ">", ">=", "==", "!=")
_SYMBOLS: dict[type[ast.AST], str] = {
    **dict(
        zip((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow), _ARITHMETIC, strict=True),
    ),
    **dict(zip((ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq), _ORDERS, strict=True)),
    ast.And: "and",
    ast.Or: "or",
}
# The operators that may replace each operator; the operator itself may be among them, and is then not drawn.
_LIKE = {
    **dict.fromkeys(_ARITHMETIC, ("+", "-", "*", "/")),
    **dict.fromkeys(_ORDERS, ("<", "<=", ">", ">=")),
    "and": ("or",),
    "or": ("and",),
}
# Probability that numbers with equal text, on the same line or next to it, change together.
_TOGETHER = 0.4
# Largest distance in lines between numbers that change together.
_NEAR = 1
# Longest expression (characters) that is copied or grows, so that programs do not double in size.
_LONGEST_PART = 200
# What an expression `e` may become, one entry as likely as another; `factor` is near 1, `shift` near 0, and `other` is
# another expression, or 1.0 if there is none.
_GROWN = (
    "({e}) * {factor}",
    "({e}) * {factor}",
    "({e}) + {shift}",
    "({e}) + {shift}",
    "({e}) + {factor} * ({other})",
    "({e}) * ({other})",
    "min({e}, {other})",
    "max({e}, {other})",
    "abs({e})",
)


@dataclass(frozen=True, eq=False)
class Material:
    """What a move works with: the program to change, other programs to take parts from, and a random generator."""

    program: PythonText
    others: tuple[PythonText, ...]
    random: np.random.Generator

    def other_expression(self, at: Place, donors: Sequence[PythonText]) -> str | None:
        """Return a drawn expression of the donors that may stand at a place: of its kind, short, known names alone."""
        found = [
            text
            for donor in donors
            for place in donor.expressions()
            if kind_of(place.node) == kind_of(at.node)
            and not isinstance(place.node, ast.Constant)
            and len(text := donor.text(place)) <= _LONGEST_PART
            and self.program.knows(free_names(place.node), at)
        ]
        return uniform_or_none(found, self.random)


# A move returns the program's new text, which may be unchanged or no valid Python; None if no place suits the move.
Move = Callable[[Material], str | None]


def number(material: Material) -> str | None:
    """Replace a number by another, or a truth value by the other; with probability _TOGETHER equal ones nearby, too."""
    program = material.program
    constants = [place for place in program.places if isinstance(place.node, ast.Constant) and kind_of(place.node)]
    place = uniform_or_none(constants, material.random)
    if place is None or not isinstance(place.node, ast.Constant):
        return None
    text = program.text(place)
    # a number such as 0x1f or 1_000 is written in the plain form first
    plain = text if set(text) <= set("0123456789.eE+-") else repr(place.node.value)
    new = {"True": "False", "False": "True"}.get(text) or another(plain, material.random)
    # numbers that are equal often mean the same, such as a radius that is multiplied by sine and by cosine
    together = material.random.random() < _TOGETHER
    changed = program.source
    # from the end, so that the places before it still hold
    for each in sorted(constants, key=lambda each: -each.span[0]) if together else [place]:
        line = getattr(each.node, "lineno", 0)
        if program.text(each) == text and abs(line - place.node.lineno) <= _NEAR:
            changed = replace_literal(changed, each.span, new)
    return changed


def operator(material: Material) -> str | None:
    """Replace an arithmetic, comparison or logical operator by another of its group."""
    source, random = material.program.source, material.random
    span = uniform_or_none(_operators(material.program), random)
    return None if span is None else replace_literal(source, span, another_operator(source[slice(*span)], random))


def another_operator(symbol: str, random: np.random.Generator) -> str:
    """Return a random operator that may replace `symbol`, a key of _LIKE; `symbol` itself if there is none."""
    return uniform_or_none([other for other in _LIKE[symbol] if other != symbol], random) or symbol


def _operators(program: PythonText) -> list[Span]:
    """Return where the operators of _LIKE stand; chained comparisons and operators with a comment are left out."""
    found: list[Span] = []
    for place in program.places:
        pairs: list[tuple[ast.expr, ast.AST, ast.expr]] = []
        match place.node:
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                pairs = [(left, op, right)]
            case ast.BoolOp(op=op, values=values):
                pairs = [(left, op, right) for left, right in pairwise(values)]
            case ast.AugAssign(target=left, op=op, value=right):
                pairs = [(left, op, right)]
        for one, kind, other in pairs:
            begin, end = program.span(one)[1], program.span(other)[0]
            between, symbol = program.source[begin:end], _SYMBOLS.get(type(kind), "")
            if symbol and "#" not in between and (at := between.find(symbol)) >= 0:
                found.append((begin + at, begin + at + len(symbol)))
    return found


def expression(material: Material) -> str | None:
    """Replace a drawn expression by another of the program, of the same kind; None if none fits at that place."""
    return _other(material, [material.program])


def crossover(material: Material) -> str | None:
    """Replace a drawn expression by one of another program, or, with probability 0.4, a function by its namesake."""
    if material.random.random() < 0.4 and (text := _function(material)):
        return text
    return _other(material, material.others or [material.program])


def _other(material: Material, donors: Sequence[PythonText]) -> str | None:
    """Replace a drawn expression by one of the `donors`."""
    program = material.program
    place = uniform_or_none(program.expressions(), material.random)
    if place is None:
        return None
    new = material.other_expression(place, donors)
    return None if new is None else replace_literal(program.source, place.span, _add_brackets(new))


def _function(material: Material) -> str | None:
    """Replace a function by a drawn program's of the same name."""
    program, theirs = material.program, uniform_or_none(material.others, material.random)
    if theirs is None:
        return None
    donors = {each.node.name: each for each in theirs.places if isinstance(each.node, ast.FunctionDef)}
    pairs = [
        (place, donor)
        for place in program.places
        if isinstance(place.node, ast.FunctionDef)
        and (donor := donors.get(place.node.name)) is not None
        and isinstance(donor.node, ast.FunctionDef)
        and place.node.col_offset == donor.node.col_offset
        and program.text(place) != theirs.text(donor)
        and program.knows(free_names(donor.node), place)
    ]
    pair = uniform_or_none(pairs, material.random)
    return None if pair is None else replace_literal(program.source, pair[0].span, theirs.text(pair[1]))


def growth(material: Material) -> str | None:
    """Change a drawn expression of the kind "number" to one of the forms in _GROWN."""
    program, random = material.program, material.random
    numbers = [place for place in program.expressions() if kind_of(place.node) == "number"]
    place = uniform_or_none(numbers, material.random)
    if place is None or len(program.text(place)) > _LONGEST_PART:
        return None
    other = material.other_expression(place, [program, *material.others])
    form = uniform(_GROWN, random)
    factor, shift = f"{np.exp(random.normal(0, 0.3)):.4g}", f"{random.normal(0, 0.1):.3g}"
    grown = form.format(e=program.text(place), other=other or "1.0", factor=factor, shift=shift)
    return replace_literal(
        program.source, place.span, grown if grown.endswith(")") and grown[0] != "(" else f"({grown})"
    )


def removal(material: Material) -> str | None:
    """Remove a statement with lines of its own, or, with probability 0.3, one side of an operation."""
    program = material.program
    if material.random.random() < 0.3:
        return _half(material)
    lines = [
        span
        for place in program.places
        if is_removable(place, program) and (span := _lines_of(program.source, place)) is not None
        if within(span, program.spans)
    ]
    span = uniform_or_none(lines, material.random)
    return None if span is None else replace_literal(program.source, span, "")


def _half(material: Material) -> str | None:
    """Replace an arithmetic operation by one of its sides."""
    program = material.program
    place = uniform_or_none([each for each in program.places if isinstance(each.node, ast.BinOp)], material.random)
    if place is None or not isinstance(place.node, ast.BinOp):
        return None
    kept = place.node.left if material.random.random() < 0.5 else place.node.right
    begin, end = program.span(kept)
    return replace_literal(program.source, place.span, _add_brackets(program.source[begin:end]))


def _lines_of(source: str, place: Place) -> Span | None:
    """Return the span of the whole lines of a statement, with a comment behind it; None if other code is on them."""
    begin = source.rfind("\n", 0, place.span[0]) + 1
    end = source.find("\n", place.span[1])
    end = len(source) if end < 0 else end + 1
    before, behind = source[begin : place.span[0]], source[place.span[1] : end]
    return (begin, end) if not before.strip() and re.fullmatch(r"\s*(?:#.*\s*)?", behind) else None


def _add_brackets(expression: str) -> str:
    """Return an expression in parentheses, unless it is a plain name, number or attribute."""
    return expression if re.fullmatch(r"[\w.]+", expression) else f"({expression})"
