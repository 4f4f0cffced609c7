"""Random expressions of a grammar."""

from __future__ import annotations

import numpy as np

from behavesim.proposers.draw import choose
from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule
from behavesim.proposers.genetic.reading import PROGRAM
from behavesim.proposers.genetic.term import Term

STOP = 0.25
"""Probability of choosing a rule without holes where a deeper expression is possible."""
DEPTH = 4
"""Maximum depth of a generated expression, unless the grammar's minimum depth is larger."""


def fresh(grammar: Grammar, random: np.random.Generator) -> Term:
    """Return a new random program of the grammar."""
    return Term(PROGRAM, children=tuple(grown(grammar, kind, DEPTH, random) for kind in grammar.roots.values()))


def grown(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Term:
    """Return a random expression of a type, at most `depth` deep if the grammar allows it; one rule alone is 0 deep."""
    if kind == NUMBER:
        return Term(NUMBER, value=rounded(10 ** random.uniform(-1.5, 0.75)))
    rule = _rule(grammar, kind, depth, random)
    return Term(kind, rule, tuple(grown(grammar, hole, depth - 1, random) for hole in rule.holes))


def rounded(value: float) -> float | int:
    """Return the value rounded to two significant digits, as an int if it is whole then; the value must be finite."""
    short = float(f"{value:.2g}")
    return int(short) if short.is_integer() else short


def _rule(grammar: Grammar, kind: str, depth: int, random: np.random.Generator) -> Rule:
    """Draw a rule of a type that allows an expression at most `depth` deep, else one with the least depth."""
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
