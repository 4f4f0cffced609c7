"""A program as a tree of grammar rules, and random trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from behavesim.proposers.draw import choose
from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule

PROGRAM = "program"
"""The type of a term that is a whole program."""
STOP = 0.25
"""Probability of choosing a rule without holes where a deeper expression is possible."""
DEPTH = 4
"""Maximum depth of a generated expression, unless the grammar's minimum depth is larger."""

Path = tuple[int, ...]
"""Index of the child at each step from the root of a tree down to a term; empty for the root."""


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
        return Term(NUMBER, value=rounded(10 ** random.uniform(-1.5, 0.75)))
    rule = _rule(grammar, kind, depth, random)
    return Term(kind, rule, tuple(grown(grammar, hole, depth - 1, random) for hole in rule.holes))


def rounded(value: float) -> float | int:
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
