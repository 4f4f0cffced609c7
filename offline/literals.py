"""Finds the numbers in the text of a program of any language, and makes other numbers in their place."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from behavesim.proposers.proposer import uniform

# A part of a text: the index of its first character, and the index after its last.
Span = tuple[int, int]

# Pattern of strings and comments, by which these are passed over; an open comment reaches to the end.
SKIPPED = r'"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\'|//[^\n]*+|/\*.*?(?:\*/|\Z)|\#(?!define)[^\n]*+'
_TOKEN = re.compile(
    rf"{SKIPPED}|"
    r"(?<![\w.])(?P<number>(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)(?=(?:[fFlLuU]{1,3}|[iuf]\d+|[iu]size)?(?![\w.]))",
    re.DOTALL,
)
# Standard deviations of random changes, mostly of a number's logarithm: small ones refine it, large ones change it.
_STEPS = (0.01, 0.1, 0.5)
# A number beyond this, or below its negative, is not written: it would overflow or lose digits in most languages.
_LARGEST = 1e15


def numbers_in(text: str) -> list[Span]:
    """Return where decimal numbers stand in a program of any language, in order, without signs and type suffixes.

    Digits in names, hexadecimal numbers, quoted strings, and comments that begin with //, /* or # are skipped.
    """
    return [found.span("number") for found in _TOKEN.finditer(text) if found["number"] is not None]


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


def replace_literal(text: str, span: Span, new: str) -> str:
    """Return the text with `new` in place of the characters in the span."""
    return text[: span[0]] + new + text[span[1] :]


def within(span: Span, spans: Sequence[Span]) -> bool:
    """Whether a part of a text lies wholly in one of `spans`."""
    return any(begin <= span[0] and span[1] <= end for begin, end in spans)
