"""Study "sampling": BehaveSim on truncated or sampled trajectories (paper, appendix "Influences …")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from behavesim.analysis.table import COUNT, RATIO, Cell, Column, Table

from .dataset import PAIRS, SAMPLING, Pair, Solved
from .similarity import TYPES, measures


@dataclass(frozen=True)
class SamplingStudy:
    """The mean BehaveSim of types 1 to 4 for each truncation k and sampling interval n of the paper."""

    means: dict[tuple[float, int], tuple[float, ...]]
    """By (k, n), the means of types 1 to 4 in that order.

    k is the share of states cut off at the end, n the number of states left out between two that are kept."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{settings: [{truncate, skip, means, paper}]}`.

        `truncate` is k, a fraction; `skip` is n. `means` (ours) and `paper` each list the four means of types 1 to 4.
        """
        rows = [
            {"truncate": k, "skip": n, "means": list(means), "paper": list(SAMPLING[k, n])}
            for (k, n), means in self.means.items()
        ]
        return {"settings": rows}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: the mean BehaveSim of each type of pair, ours beside the paper's; a row for each k and n.

        k is the share (fraction) of a trajectory that is cut off at its end, n the number of states that are left out
        between two that are kept.
        """
        columns = (
            Column("k", RATIO),
            Column("n", COUNT),
            *(Column(f"type {of_type}", RATIO) for of_type in TYPES),
            *(Column(f"paper {of_type}", RATIO) for of_type in TYPES),
        )
        rows: list[tuple[Cell, ...]] = [(*at, *means, *SAMPLING[at]) for at, means in self.means.items()]
        caption = "k: the share of a trajectory cut off at its end; n: states left out between two that are kept."
        return (Table("sampling", "mean BehaveSim by type of pair", columns, tuple(rows), caption),)


def sample_programs() -> Iterator[tuple[Pair, tuple[float, ...]]]:
    """Yield each of the thirty pairs with its mean similarities over instances, one for each (k, n) of SAMPLING.

    k is the share of states cut off at the end, n the number of states left out between two that are kept.
    """
    for pair in PAIRS:
        instances = pair.instances()
        first, second = ([program.solve(at) for at in instances] for program in (pair.first, pair.second))
        yield pair, tuple(_similarity(pair, first, second, k, n) for k, n in SAMPLING)


def study(rows: Iterable[tuple[Pair, tuple[float, ...]]]) -> SamplingStudy:
    """Return the means over the pairs of each type; `rows` are what `sample_programs` yields, all thirty."""
    pairs, values = zip(*rows, strict=True)
    types, similarities = np.array([pair.type for pair in pairs]), np.array(values)
    means = np.array([similarities[types == of_type].mean(axis=0) for of_type in TYPES])
    return SamplingStudy(dict(zip(SAMPLING, map(tuple, means.T.tolist()), strict=True)))


def _similarity(pair: Pair, first: Sequence[Solved], second: Sequence[Solved], k: float, n: int) -> float:
    every = zip(measures(pair, first, truncate=k, skip=n), first, second, strict=True)
    return fmean(measure.similarity(x.trajectory, y.trajectory) for measure, x, y in every)
