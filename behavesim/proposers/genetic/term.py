"""A program as a tree of grammar rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from behavesim.proposers.genetic.grammar import Rule

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
