"""The moves that make a child of one or two programs; each returns None if it does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule
from behavesim.proposers.genetic.growth import choose, grown, rounded
from behavesim.proposers.genetic.term import Path, Term

GROWTH = 3
"""Maximum depth of a new expression that a move adds."""


@dataclass(frozen=True)
class Couple:
    """The input of a move: the program to change, another one to take parts from, and a random generator."""

    grammar: Grammar
    base: Term
    other: Term
    random: np.random.Generator

    def site(self, wanted: Callable[[Term], bool]) -> tuple[Path, Term] | None:
        """Draw one of the wanted terms of the base and return it with its path; None if there is none.

        The whole program is never drawn.
        """
        sites = [(path, term) for path, term in self.base.sites() if path and wanted(term)]
        return choose(sites, self.random) if sites else None

    def root(self) -> int:
        """Draw the index of a root of the program, with a probability proportional to its size."""
        sizes = np.array([root.size for root in self.base.children], dtype=float)
        return int(self.random.choice(len(sizes), p=sizes / sizes.sum()))

    def grow(self, kind: str) -> Term:
        """Return a new small expression of a type."""
        return grown(self.grammar, kind, GROWTH, self.random)


Move = Callable[[Couple], Term | None]


def switch(couple: Couple) -> Term | None:
    """Put both programs under a condition: one is used first, the other later."""
    return _joined(couple, lambda rule: rule.is_choice)


def blend(couple: Couple) -> Term | None:
    """Combine both programs by an operation."""
    return _joined(couple, lambda rule: not rule.is_choice)


def term(couple: Couple) -> Term | None:
    """Combine a part of the program with a new expression; half of the time the part is a whole root."""
    index = couple.root()
    path: Path = (index,)
    part = couple.base.children[index]
    if couple.random.random() < 0.5:
        path, part = couple.site(lambda inner: inner.type == part.type) or (path, part)
    rules = [rule for rule in couple.grammar.rules[part.type] if part.type in rule.holes and len(rule.holes) > 1]
    if not rules:
        return None
    return couple.base.replaced(path, _around(choose(rules, couple.random), [part], couple))


def constants(couple: Couple) -> Term | None:
    """Change one, two or three constants."""
    changed = _constant(couple)
    for _ in range(min(2, int(couple.random.geometric(0.7)) - 1)):
        if changed is not None:
            changed = _constant(Couple(couple.grammar, changed, couple.other, couple.random))
    return changed


def replacement(couple: Couple) -> Term | None:
    """Replace a part by a new expression of its type."""
    found = couple.site(lambda inner: inner.type != NUMBER)
    return couple.base.replaced(found[0], couple.grow(found[1].type)) if found else None


def crossover(couple: Couple) -> Term | None:
    """Replace a part by a part of the other program with the same type."""
    found = couple.site(lambda inner: inner.type != NUMBER)
    if found is None:
        return None
    parts = [inner for path, inner in couple.other.sites() if path and inner.type == found[1].type]
    return couple.base.replaced(found[0], choose(parts, couple.random)) if parts else None


def operation(couple: Couple) -> Term | None:
    """Replace an operation or a definition by another one with operands of the same types."""
    found = couple.site(lambda inner: bool(_like(couple.grammar, inner)))
    if found is None:
        return None
    path, old = found
    rule = choose(_like(couple.grammar, old), couple.random)
    operands = list(old.children)
    children = [operands.pop(_index(operands, hole)) for hole in rule.holes]
    return couple.base.replaced(path, Term(old.type, rule, tuple(children)))


def removal(couple: Couple) -> Term | None:
    """Replace a part by one of its own sub-expressions."""
    found = couple.site(lambda inner: next(_within(inner), None) is not None)
    return couple.base.replaced(found[0], choose(list(_within(found[1])), couple.random)) if found else None


def restatement(couple: Couple) -> Term | None:
    """Swap the operands of a sum or a product: the text changes and the behaviour does not."""
    found = couple.site(lambda inner: inner.rule is not None and inner.rule.commutes and len(set(inner.children)) > 1)
    if found is None:
        return None
    path, old = found
    return couple.base.replaced(path, Term(old.type, old.rule, old.children[::-1]))


def _constant(couple: Couple) -> Term | None:
    """Change one constant: a number by a random factor, a choice to a neighbouring one."""
    found = couple.site(lambda inner: inner.type == NUMBER or _other_constants(couple.grammar, inner) != [])
    if found is None:
        return None
    path, old = found
    if old.type == NUMBER:
        assert old.value is not None
        value = rounded(old.value * math.exp(couple.random.normal(0, 0.5)))
        return couple.base.replaced(path, Term(NUMBER, value=value))
    return couple.base.replaced(path, Term(old.type, choose(_other_constants(couple.grammar, old), couple.random)))


def _joined(couple: Couple, wanted: Callable[[Rule], bool]) -> Term | None:
    index = couple.root()
    mine, theirs = couple.base.children[index], couple.other.children[index]
    rules = [r for r in couple.grammar.rules[mine.type] if r.holes.count(mine.type) > 1 and wanted(r)]
    if not rules:
        return None
    parts = [mine, theirs] if couple.random.random() < 0.5 else [theirs, mine]
    return couple.base.replaced((index,), _around(choose(rules, couple.random), parts, couple))


def _around(rule: Rule, parts: list[Term], couple: Couple) -> Term:
    """Return a term of the rule with the parts in holes of their type and new expressions in the others."""
    places = [index for index, hole in enumerate(rule.holes) if hole == rule.type]
    drawn = sorted(couple.random.permutation(len(places))[: len(parts)])
    held = {places[int(place)]: part for place, part in zip(drawn, parts, strict=True)}
    return Term(
        rule.type, rule, tuple(held[i] if i in held else couple.grow(hole) for i, hole in enumerate(rule.holes))
    )


def _other_constants(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the constants up to two places from this one in its type; empty if the term is not a constant."""
    if term.rule is None or term.rule.constant is None:
        return []
    rules = [rule for rule in grammar.rules[term.type] if rule.constant is not None]
    place = rules.index(term.rule)
    return [rule for index, rule in enumerate(rules) if 0 < abs(index - place) <= 2]


def _like(grammar: Grammar, term: Term) -> list[Rule]:
    if term.rule is None:
        return []
    holes = sorted(term.rule.holes)
    return [rule for rule in grammar.rules[term.type] if rule is not term.rule and sorted(rule.holes) == holes]


def _index(terms: list[Term], kind: str) -> int:
    return next(index for index, term in enumerate(terms) if term.type == kind)


def _within(term: Term) -> Iterator[Term]:
    return (inner for path, inner in term.sites() if path and inner.type == term.type and inner.type != NUMBER)
