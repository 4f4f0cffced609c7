"""Events of choices that are made when a run has ended: the recommended program, and a portfolio of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recommended:
    """The program chosen on validation instances, and the validation score of each tried program, by number.

    `choice` is None if none was tried or all failed; a score of None means that the program failed. `worth` ranks
    programs, higher is better: the gain over the template on search and validation instances, a fraction. If the
    template failed, it is the mean score instead, negated if the task minimises. It is empty in older journals.
    """

    choice: int | None
    validation: Mapping[int, float | None]
    worth: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PortfolioChosen:
    """A portfolio of programs that behave differently: (run, candidate) pairs, in the order in which they were chosen.

    `wanted` is the size that was asked for. `others` are the ids of the runs that programs were also chosen from.
    `validation` holds each program's scores on the validation instances, None for one that failed there; it is empty if
    the task has none.
    """

    wanted: int
    programs: tuple[tuple[str, int], ...]
    validation: tuple[tuple[float, ...] | None, ...] = ()
    others: tuple[str, ...] = ()
