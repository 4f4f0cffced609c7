"""The moves of the offline proposer on programs that are not Python: on their numbers, operators, names and lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from behavesim.proposers.draw import choose_any
from behavesim.proposers.mutation import moves
from behavesim.proposers.mutation.literals import SKIPPED, Span, another, numbers_in, replaced, within
from behavesim.proposers.mutation.moves import Move, another_operator

# blanks on both sides tell an operation from a pointer, a sign, a template's brackets or a path
_OPERATOR = re.compile(rf"{SKIPPED}|--[^\n]*+|(?<=[\w)\]] )(?P<operator>[-+*/<>]|[<>]=)(?= [\w(.])", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*+(?![(\[.:])")


@dataclass(frozen=True, eq=False)
class Tokens:
    """A program's text and the spans of it that may change, texts to take parts from, and a random generator."""

    source: str
    spans: tuple[Span, ...]
    others: tuple[str, ...]
    random: np.random.Generator

    @property
    def operators(self) -> list[Span]:
        """The spans of the operators that stand between two blanks and may change."""
        found = (each.span("operator") for each in _OPERATOR.finditer(self.source) if each["operator"])
        return [span for span in found if within(span, self.spans)]

    @property
    def operands(self) -> list[Span]:
        """The spans of names at the right of an operator that may change, but not before a bracket, dot or colon."""
        found = (_NAME.match(self.source, end + 1) for _, end in self.operators)
        return [each.span() for each in found if each and within(each.span(), self.spans)]


def changed(tokens: Tokens, move: Move) -> tuple[str | None, Move]:
    """Return the text after the move that corresponds to `move`, a move on Python text, and the move that was made.

    If that move has no place in the text, a number changes instead. The text is None if there is no number either.
    """
    if (text := _MOVES[move](tokens)) is not None:
        return text, move
    return _number(tokens), moves.number


def _number(tokens: Tokens) -> str | None:
    """Return the text with a number replaced by another; None if there is none that may change."""
    places = [span for span in numbers_in(tokens.source) if within(span, tokens.spans)]
    return _written(tokens, places, lambda literal: another(literal, tokens.random))


def _operator(tokens: Tokens) -> str | None:
    """Return the text with an operator replaced by another of its kind; None if there is none that may change."""
    return _written(tokens, tokens.operators, lambda symbol: another_operator(symbol, tokens.random))


def _weight(tokens: Tokens) -> str | None:
    """Return the text with a name at the right of an operator multiplied by a random factor near 1.

    None if there is no such name that may change.
    """
    return _written(tokens, tokens.operands, lambda name: f"({name} * {np.exp(tokens.random.normal(0, 0.3)):.4g})")


def _name(tokens: Tokens) -> str | None:
    """Return the text with a name at the right of an operator replaced by another such name; None if there is none."""
    names = {tokens.source[slice(*each)] for each in tokens.operands}
    return _written(tokens, tokens.operands, lambda name: choose_any(sorted(names - {name}), tokens.random))


def _removal(tokens: Tokens) -> str | None:
    """Return the text without a name and the operator before it; None if there is none that may change."""
    places = [(tokens.source[: begin - 1].rindex(" "), end) for begin, end in tokens.operands]
    return _written(tokens, places, lambda name: "")


def _written(tokens: Tokens, places: Sequence[Span], write: Callable[[str], str | None]) -> str | None:
    """Return the text in which `write` replaces the text at one of the places, drawn at random.

    None if there is no place, or if `write` returns None.
    """
    place = choose_any(places, tokens.random)
    new = None if place is None else write(tokens.source[slice(*place)])
    return None if place is None or new is None else replaced(tokens.source, place, new)


def _lines(tokens: Tokens) -> str | None:
    """Return the text with one passage of lines from another program in which that differs; None if there is none."""
    theirs = choose_any(tokens.others, tokens.random)
    if theirs is None:
        return None
    own, other = tokens.source.splitlines(keepends=True), theirs.splitlines(keepends=True)
    differing = [each for each in SequenceMatcher(None, own, other, autojunk=False).get_opcodes() if each[0] != "equal"]
    passage = choose_any(differing, tokens.random)
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
