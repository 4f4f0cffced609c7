"""The moves of the offline proposer on Python text: each changes one place, or equal numbers close to each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from behavesim.proposers.draw import choose, choose_any
from behavesim.proposers.mutation.literals import Span, another, replaced, within
from behavesim.proposers.mutation.python import Place, PythonText, is_removable, kind_of, names_read

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
_LIKE = {
    **dict.fromkeys(_ARITHMETIC, ("+", "-", "*", "/")),
    **dict.fromkeys(_ORDERS, ("<", "<=", ">", ">=")),
    "and": ("or",),
    "or": ("and",),
}
"""The operators that may replace each operator; the operator itself may be among them, and is then not drawn."""
_TOGETHER = 0.4
"""Probability that numbers with equal text, on the same line or next to it, change together."""
_NEAR = 1
"""Largest distance in lines between numbers that change together."""
_LONGEST_PART = 200
"""Longest expression (characters) that is copied or grows, so that programs do not double in size."""
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
"""What an expression `e` may become, one entry as likely as another; `factor` is near 1, `shift` near 0.

`other` is another expression, or 1.0 if there is none."""


@dataclass(frozen=True, eq=False)
class Material:
    """What a move works with: the program to change, other programs to take parts from, and a random generator."""

    program: PythonText
    others: tuple[PythonText, ...]
    random: np.random.Generator

    def other_expression(self, at: Place, donors: Sequence[PythonText]) -> str | None:
        """Return an expression of the kind of the one at the place `at`, drawn from the donors; None if there is none.

        It reads only names that `knows` finds at that place, is no constant and has at most _LONGEST_PART characters.
        It may be equal to the expression at that place.
        """
        found = [
            text
            for donor in donors
            for place in donor.expressions()
            if kind_of(place.node) == kind_of(at.node)
            and not isinstance(place.node, ast.Constant)
            and len(text := donor.text(place)) <= _LONGEST_PART
            and self.program.knows(names_read(place.node), at)
        ]
        return choose_any(found, self.random)


Move = Callable[[Material], str | None]
"""Returns the program's new text, which may be unchanged or no valid Python; None if no place suits the move."""


def number(material: Material) -> str | None:
    """Return the program with a number replaced by another, or a truth value by the other; None if it has neither.

    With the probability _TOGETHER, equal ones within _NEAR lines change too.
    """
    program = material.program
    constants = [place for place in program.places if isinstance(place.node, ast.Constant) and kind_of(place.node)]
    place = choose_any(constants, material.random)
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
            changed = replaced(changed, each.span, new)
    return changed


def operator(material: Material) -> str | None:
    """Return the program with an arithmetic, comparison or logical operator replaced by another of its group.

    None if it has no such operator.
    """
    source, span = material.program.source, choose_any(_operators(material.program), material.random)
    return None if span is None else replaced(source, span, another_operator(source[slice(*span)], material.random))


def another_operator(symbol: str, random: np.random.Generator) -> str:
    """Return a random operator that may replace `symbol`, a key of _LIKE; `symbol` itself if there is none."""
    return choose_any([other for other in _LIKE[symbol] if other != symbol], random) or symbol


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
    """Return the program with a drawn expression replaced by another of its own, of the same kind (see `kind_of`).

    None if none fits at the drawn place, though one may fit at others.
    """
    return _other(material, [material.program])


def crossover(material: Material) -> str | None:
    """Return the program with a drawn expression replaced by one of another program; None if none fits there.

    With probability 0.4, a function is replaced by that program's function of the same name instead, if there is one.
    Without another program, the expression comes from this one.
    """
    if material.random.random() < 0.4 and (text := _function(material)):
        return text
    return _other(material, material.others or [material.program])


def _other(material: Material, donors: Sequence[PythonText]) -> str | None:
    """Return the program with a drawn expression replaced by one of the `donors`; None if none fits there."""
    program = material.program
    place = choose_any(program.expressions(), material.random)
    if place is None:
        return None
    new = material.other_expression(place, donors)
    return None if new is None else replaced(program.source, place.span, _bracketed(new))


def _function(material: Material) -> str | None:
    """Return the program with a function replaced by a drawn program's of the same name; None if none of it fits."""
    program, theirs = material.program, choose_any(material.others, material.random)
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
        and program.knows(names_read(donor.node), place)
    ]
    pair = choose_any(pairs, material.random)
    return None if pair is None else replaced(program.source, pair[0].span, theirs.text(pair[1]))


def growth(material: Material) -> str | None:
    """Return the program with a drawn expression of the kind "number" changed to one of the forms in _GROWN.

    None if there is no such expression, or the drawn one has more than _LONGEST_PART characters.
    """
    program, random = material.program, material.random
    numbers = [place for place in program.expressions() if kind_of(place.node) == "number"]
    place = choose_any(numbers, material.random)
    if place is None or len(program.text(place)) > _LONGEST_PART:
        return None
    other = material.other_expression(place, [program, *material.others])
    form = choose(_GROWN, random)
    factor, shift = f"{np.exp(random.normal(0, 0.3)):.4g}", f"{random.normal(0, 0.1):.3g}"
    grown = form.format(e=program.text(place), other=other or "1.0", factor=factor, shift=shift)
    return replaced(program.source, place.span, grown if grown.endswith(")") and grown[0] != "(" else f"({grown})")


def removal(material: Material) -> str | None:
    """Return the program without one statement, or, with probability 0.3, without one side of an operation.

    The statement is one for which `is_removable` holds, and shares its lines with no other code. None if there is none
    of the one that was drawn, statement or operation.
    """
    program = material.program
    if material.random.random() < 0.3:
        return _half(material)
    lines = [
        span
        for place in program.places
        if is_removable(place, program) and (span := _lines_of(program.source, place)) is not None
        if within(span, program.spans)
    ]
    span = choose_any(lines, material.random)
    return None if span is None else replaced(program.source, span, "")


def _half(material: Material) -> str | None:
    """Return the program with one arithmetic operation replaced by one of its sides; None if there is none."""
    program = material.program
    place = choose_any([each for each in program.places if isinstance(each.node, ast.BinOp)], material.random)
    if place is None or not isinstance(place.node, ast.BinOp):
        return None
    kept = place.node.left if material.random.random() < 0.5 else place.node.right
    begin, end = program.span(kept)
    return replaced(program.source, place.span, _bracketed(program.source[begin:end]))


def _lines_of(source: str, place: Place) -> Span | None:
    """Return the span of the whole lines of a statement, with a comment behind it; None if other code is on them."""
    begin = source.rfind("\n", 0, place.span[0]) + 1
    end = source.find("\n", place.span[1])
    end = len(source) if end < 0 else end + 1
    before, behind = source[begin : place.span[0]], source[place.span[1] : end]
    return (begin, end) if not before.strip() and re.fullmatch(r"\s*(?:#.*\s*)?", behind) else None


def _bracketed(expression: str) -> str:
    """Return an expression in parentheses, unless it is a plain name, number or attribute."""
    return expression if re.fullmatch(r"[\w.]+", expression) else f"({expression})"
