"""A program as a tree of rules: what the moves of the search change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from behavesim.proposers.genetic.grammar import Rule

Path = tuple[int, ...]
"""Which child to take at each step down from the root."""


@dataclass(frozen=True)
class Term:
    """An expression: a rule and the terms in its holes; or, with a value and no rule, a number.

    A whole program is the term of no rule whose children are the grammar's roots, in order.
    """

    type: str
    rule: Rule | None = None
    children: tuple[Term, ...] = ()
    value: float | int | None = None
    size: int = field(init=False, compare=False)
    """The number of terms in the tree; known without a walk, as a term that is read may be very large."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(child.size for child in self.children))

    def sites(self, path: Path = ()) -> Iterator[tuple[Path, Term]]:
        """Every term of the tree with its path, parents before children."""
        yield path, self
        for index, child in enumerate(self.children):
            yield from child.sites((*path, index))

    def replaced(self, path: Path, term: Term) -> Term:
        """The same tree with another term at the path."""
        if not path:
            return term
        index, *rest = path
        child = self.children[index].replaced(tuple(rest), term)
        return Term(self.type, self.rule, (*self.children[:index], child, *self.children[index + 1 :]), self.value)

    def rules(self) -> frozenset[Rule]:
        """All rules the tree follows."""
        terms = [self]
        for term in terms:
            terms += term.children
        return frozenset([term.rule for term in terms if term.rule is not None])
