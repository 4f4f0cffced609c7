"""Expressions grown at random from a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule
from behavesim.proposers.genetic.reading import PROGRAM
from behavesim.proposers.genetic.term import Term

STOP = 0.25
"""The probability that an expression ends where it could go deeper."""
DEPTH = 4
"""The greatest depth of an expression grown whole; only its least depth can make it deeper."""

Item = TypeVar("Item")


def choose(items: Sequence[Item], random: np.random.Generator) -> Item:
    """One of the items, all equally likely."""
    return items[int(random.integers(len(items)))]


def fresh(grammar: Grammar, random: np.random.Generator) -> Term:
    """A new program of the grammar, drawn from nothing."""
    return Term(PROGRAM, children=tuple(grown(grammar, kind, DEPTH, random) for kind in grammar.roots.values()))


def grown(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Term:
    """An expression of the type, at most `depth` deep where the grammar allows it."""
    if kind == NUMBER:
        return Term(NUMBER, value=rounded(10 ** random.uniform(-1.5, 0.75)))
    rule = _rule(grammar, kind, depth, random)
    return Term(kind, rule, tuple(grown(grammar, hole, depth - 1, random) for hole in rule.holes))


def rounded(value: float) -> float | int:
    """A number as a person would write it: two significant digits."""
    short = float(f"{value:.2g}")
    return int(short) if short.is_integer() else short


def _rule(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Rule:
    rules = grammar.rules[kind]
    within = [rule for rule in rules if grammar.least[rule] <= depth]
    if not within:
        return choose([rule for rule in rules if grammar.least[rule] == grammar.depths[kind]], random)
    ends = [rule for rule in within if not rule.holes]
    goes_on = [rule for rule in within if rule.holes]
    if not goes_on or (ends and random.random() < STOP):
        return choose(ends, random)
    return choose(goes_on, random)
