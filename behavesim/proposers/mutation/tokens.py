"""The moves of the offline proposer on programs that are not Python, of which it knows numbers, operators and lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

import numpy as np

from behavesim.proposers.mutation import moves
from behavesim.proposers.mutation.literals import SKIPPED, Span, another, numbers_in, replaced, within
from behavesim.proposers.mutation.moves import Move

T = TypeVar("T")
# blanks on both sides tell an operation from a pointer, a sign, a template's brackets or a path
_OPERATOR = re.compile(rf"{SKIPPED}|--[^\n]*+|(?<=[\w)\]] )(?P<operator>[-+*/<>]|[<>]=)(?= [\w(.])", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*+(?![(\[.:])")
_LIKE = {**dict.fromkeys("+-*/", "+-*/"), **dict.fromkeys(("<", ">", "<=", ">="), ("<", "<=", ">", ">="))}
"""The operators that may replace each operator, which is among them."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """A program's text and the spans of it that may change, texts to take parts from, and a random generator."""

    source: str
    spans: tuple[Span, ...]
    others: tuple[str, ...]
    random: np.random.Generator

    def drawn(self, choices: Sequence[T]) -> T | None:
        """Return one of the choices, drawn with equal probabilities; None if there is none."""
        return choices[int(self.random.integers(len(choices)))] if choices else None

    @property
    def operators(self) -> list[Span]:
        """Where operators stand between two blanks."""
        found = (each.span("operator") for each in _OPERATOR.finditer(self.source) if each["operator"])
        return [span for span in found if within(span, self.spans)]

    @property
    def operands(self) -> list[Span]:
        """Where names stand at the right of an operator; calls and members are left out."""
        found = (_NAME.match(self.source, end + 1) for _, end in self.operators)
        return [each.span() for each in found if each and within(each.span(), self.spans)]


def changed(tokens: Tokens, move: Move) -> tuple[str | None, Move]:
    """Return the text after the move that does what `move` does to Python, and `move`.

    If that has no place, a number changes. The text is None if there is none.
    """
    if (text := _MOVES[move](tokens)) is not None:
        return text, move
    return _number(tokens), moves.number


def _number(tokens: Tokens) -> str | None:
    place = tokens.drawn([span for span in numbers_in(tokens.source) if within(span, tokens.spans)])
    if place is None:
        return None
    return replaced(tokens.source, place, another(tokens.source[slice(*place)], tokens.random))


def _operator(tokens: Tokens) -> str | None:
    place = tokens.drawn(tokens.operators)
    if place is None:
        return None
    symbol = tokens.source[slice(*place)]
    return replaced(tokens.source, place, tokens.drawn([each for each in _LIKE[symbol] if each != symbol]) or symbol)


def _weight(tokens: Tokens) -> str | None:
    place = tokens.drawn(tokens.operands)
    if place is None:
        return None
    factor = f"{np.exp(tokens.random.normal(0, 0.3)):.4g}"
    return replaced(tokens.source, place, f"({tokens.source[slice(*place)]} * {factor})")


def _name(tokens: Tokens) -> str | None:
    """Replace a name by another that stands at the right of an operator."""
    place = tokens.drawn(tokens.operands)
    names = {tokens.source[slice(*each)] for each in tokens.operands}
    new = None if place is None else tokens.drawn(sorted(names - {tokens.source[slice(*place)]}))
    return None if place is None or new is None else replaced(tokens.source, place, new)


def _removal(tokens: Tokens) -> str | None:
    """Remove a name with the operator before it."""
    place = tokens.drawn(tokens.operands)
    if place is None:
        return None
    return replaced(tokens.source, (tokens.source[: place[0] - 1].rindex(" "), place[1]), "")


def _lines(tokens: Tokens) -> str | None:
    """Take over one passage of lines in which another program differs."""
    theirs = tokens.drawn(tokens.others)
    if theirs is None:
        return None
    own, other = tokens.source.splitlines(keepends=True), theirs.splitlines(keepends=True)
    differing = [each for each in SequenceMatcher(None, own, other, autojunk=False).get_opcodes() if each[0] != "equal"]
    passage = tokens.drawn(differing)
    if passage is None:
        return None
    _, begin, end, first, last = passage
    return "".join([*own[:begin], *other[first:last], *own[end:]])


_MOVES: Mapping[Move, Callable[[Tokens], str | None]] = {
    moves.number: _number,
    moves.growth: _weight,
    moves.crossover: _lines,
    moves.expression: _name,
    moves.operator: _operator,
    moves.removal: _removal,
}
