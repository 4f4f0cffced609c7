"""The moves that make a child of one or two programs; each returns None if it does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from behavesim.proposers.draw import choose, choose_any
from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Rule
from behavesim.proposers.genetic.term import Path, Term, grown, rounded

GROWTH = 3
"""Maximum depth of a new expression that a move adds: less than a program's, so that a child resembles its parent."""


@dataclass(frozen=True)
class Couple:
    """The input of a move: the program to change (`base`), another one to take parts from, and a random generator."""

    grammar: Grammar
    base: Term
    other: Term
    random: np.random.Generator

    def site(self, wanted: Callable[[Term], bool]) -> tuple[Path, Term] | None:
        """Draw one of the terms of the base for which `wanted` holds; return it with its path, None if there is none.

        The whole program is never drawn.
        """
        sites = [(path, term) for path, term in self.base.sites() if path and wanted(term)]
        return choose_any(sites, self.random)

    def changed(self, wanted: Callable[[Term], bool], change: Callable[[Term], Term | None]) -> Term | None:
        """Return the base with one of the wanted terms, drawn by `site`, replaced by what `change` makes of it.

        Return None if no term is wanted, or if `change` returns None.
        """
        site = self.site(wanted)
        term = None if site is None else change(site[1])
        return None if site is None or term is None else self.base.replaced(site[0], term)

    def root(self) -> int:
        """Draw the index of a root of `base`, with a probability proportional to the number of its terms."""
        sizes = np.array([root.size for root in self.base.children], dtype=float)
        return int(self.random.choice(len(sizes), p=sizes / sizes.sum()))

    def grow(self, kind: str) -> Term:
        """Return a new random expression of the type `kind`, at most GROWTH deep if the grammar allows it."""
        return grown(self.grammar, kind, GROWTH, self.random)


Move = Callable[[Couple], Term | None]
"""Returns a child, a whole program, made of a couple; None if the move does not apply to it."""


def switch(couple: Couple) -> Term | None:
    """Replace one root of the base by a conditional expression with this root of both programs (see `_joined`)."""
    return _joined(couple, lambda rule: rule.is_choice)


def blend(couple: Couple) -> Term | None:
    """Replace one root of the base by another rule with this root of both programs as operands (see `_joined`)."""
    return _joined(couple, lambda rule: not rule.is_choice)


def addition(couple: Couple) -> Term | None:
    """Combine a part of the base with new expressions by a rule of its type, at least half of the time a root.

    None if no rule of that type has two holes or more, one of them of the type itself.
    """
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
    """Change a random constant of the base, once to three times; None if it has none.

    A constant is a number, or a rule that stands for one of several constants.
    """
    changed = _constant(couple)
    for _ in range(min(2, int(couple.random.geometric(0.7)) - 1)):
        if changed is not None:
            changed = _constant(replace(couple, base=changed))
    return changed


def replacement(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a new expression of its type.

    None if the base has constant numbers alone.
    """
    return couple.changed(_is_part, lambda old: couple.grow(old.type))


def crossover(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a part of the other program with the same type.

    None if the other has none of the drawn part's type.
    """

    def taken(old: Term) -> Term | None:
        parts = [inner for path, inner in couple.other.sites() if path and inner.type == old.type]
        return choose_any(parts, couple.random)

    return couple.changed(_is_part, taken)


def operation(couple: Couple) -> Term | None:
    """Replace a drawn operation or definition of the base by another rule with operands of the same types.

    None if the grammar has no such rule for any of them.
    """

    def exchanged(old: Term) -> Term:
        rule = choose(_like(couple.grammar, old), couple.random)
        operands = list(old.children)
        places = ([operand.type for operand in operands].index(hole) for hole in rule.holes)
        return Term(old.type, rule, tuple(operands.pop(place) for place in places))

    return couple.changed(lambda inner: bool(_like(couple.grammar, inner)), exchanged)


def removal(couple: Couple) -> Term | None:
    """Replace a drawn part of the base by one of its own sub-expressions of the same type; None if no part has one."""
    return couple.changed(
        lambda inner: next(_within(inner), None) is not None, lambda old: choose(list(_within(old)), couple.random)
    )


def restatement(couple: Couple) -> Term | None:
    """Return the base with the operands of one of its sums or products, drawn at random, swapped.

    Its text changes and its behaviour does not. None if it has no sum or product of two different operands.
    """
    return couple.changed(
        lambda inner: inner.rule is not None and inner.rule.commutes and len(set(inner.children)) > 1,
        lambda old: Term(old.type, old.rule, old.children[::-1]),
    )


def _is_part(term: Term) -> bool:
    """Whether a term is anything but a constant number."""
    return term.type != NUMBER


def _constant(couple: Couple) -> Term | None:
    """Change one drawn constant of the base: a number by a random factor, a choice to one up to two places away.

    None if it has no constant.
    """

    def shifted(old: Term) -> Term:
        if old.value is None:
            return Term(old.type, choose(_other_constants(couple.grammar, old), couple.random))
        return Term(NUMBER, value=rounded(old.value * math.exp(couple.random.normal(0, 0.5))))

    return couple.changed(lambda inner: inner.type == NUMBER or _other_constants(couple.grammar, inner) != [], shifted)


def _joined(couple: Couple, wanted: Callable[[Rule], bool]) -> Term | None:
    """Return the base with one drawn root replaced by a wanted rule around that root of the base and of the other.

    The rule and the order of the two are drawn. None if no wanted rule has two holes of the root's type.
    """
    index = couple.root()
    mine, theirs = couple.base.children[index], couple.other.children[index]
    rules = [r for r in couple.grammar.rules[mine.type] if r.holes.count(mine.type) > 1 and wanted(r)]
    if not rules:
        return None
    parts = [mine, theirs] if couple.random.random() < 0.5 else [theirs, mine]
    return couple.base.replaced((index,), _around(choose(rules, couple.random), parts, couple))


def _around(rule: Rule, parts: list[Term], couple: Couple) -> Term:
    """Return a term of the rule with the parts in drawn holes of the rule's type and new expressions in the others.

    The parts are of the rule's type too, and stay in order. Raises ValueError if there are more parts than such holes.
    """
    places = [index for index, hole in enumerate(rule.holes) if hole == rule.type]
    # sorted, so that the first part stays first: in a conditional expression it is used first
    drawn = sorted(couple.random.permutation(len(places))[: len(parts)])
    held = {places[int(place)]: part for place, part in zip(drawn, parts, strict=True)}
    return Term(
        rule.type, rule, tuple(held[i] if i in held else couple.grow(hole) for i, hole in enumerate(rule.holes))
    )


def _other_constants(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the constants up to two places before or after this one among those of its type.

    Empty if the term is not a rule with a constant.
    """
    if term.rule is None or term.rule.constant is None:
        return []
    rules = [rule for rule in grammar.rules[term.type] if rule.constant is not None]
    place = rules.index(term.rule)
    return [rule for index, rule in enumerate(rules) if 0 < abs(index - place) <= 2]


def _like(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the other rules of the term's type with as many holes of each type; empty for a number."""
    if term.rule is None:
        return []
    holes = sorted(term.rule.holes)
    return [rule for rule in grammar.rules[term.type] if rule is not term.rule and sorted(rule.holes) == holes]


def _within(term: Term) -> Iterator[Term]:
    """Yield the sub-expressions of a term that have its type; none of a number."""
    return (inner for path, inner in term.sites() if path and inner.type == term.type and inner.type != NUMBER)
