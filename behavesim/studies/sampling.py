"""Study "sampling": BehaveSim on truncated or sampled trajectories (paper, appendix "Influences …")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from behavesim.analysis.table import COUNT, RATIO, Cell, Column, Table
from behavesim.studies.dataset import PAIRS, Pair, Solved
from behavesim.studies.paper import SAMPLING
from behavesim.studies.similarity import TYPES, measures


@dataclass(frozen=True)
class SamplingStudy:
    """The mean BehaveSim of types 1 to 4 for each truncation k and sampling interval n of the paper."""

    means: dict[tuple[float, int], tuple[float, ...]]

    def document(self) -> dict[str, Any]:
        """`{settings}`: k, n, our means by type, and the paper's."""
        rows = [
            {"truncate": k, "skip": n, "means": list(means), "paper": list(SAMPLING[k, n])}
            for (k, n), means in self.means.items()
        ]
        return {"settings": rows}

    def tables(self) -> tuple[Table, ...]:
        """One table: our means beside the paper's."""
        columns = (
            Column("k", RATIO),
            Column("n", COUNT),
            *(Column(f"type {of_type}", RATIO) for of_type in TYPES),
            *(Column(f"paper {of_type}", RATIO) for of_type in TYPES),
        )
        rows: list[tuple[Cell, ...]] = [(*at, *means, *SAMPLING[at]) for at, means in self.means.items()]
        caption = "k: the share of a trajectory cut off at its end; n: states left out between two that are kept."
        return (Table("sampling", "mean BehaveSim by type of pair", columns, tuple(rows), caption),)


def sampled() -> Iterator[tuple[Pair, tuple[float, ...]]]:
    """Yield each pair with its similarities, one for each of the paper's settings."""
    for pair in PAIRS:
        instances = pair.instances()
        first, second = ([program.solve(at) for at in instances] for program in (pair.first, pair.second))
        yield pair, tuple(_similarity(pair, first, second, k, n) for k, n in SAMPLING)


def study(rows: Iterable[tuple[Pair, tuple[float, ...]]]) -> SamplingStudy:
    """Average the similarities over the pairs of each type."""
    found = list(rows)
    return SamplingStudy(
        {at: tuple(_mean(found, of_type, place) for of_type in TYPES) for place, at in enumerate(SAMPLING)}
    )


def _similarity(pair: Pair, first: Sequence[Solved], second: Sequence[Solved], k: float, n: int) -> float:
    every = zip(measures(pair, first, truncate=k, skip=n), first, second, strict=True)
    sims = [measure.similarity(x.trajectory, y.trajectory) for measure, x, y in every]
    return sum(sims) / len(sims)


def _mean(rows: Sequence[tuple[Pair, tuple[float, ...]]], of_type: int, place: int) -> float:
    values = [values[place] for pair, values in rows if pair.type == of_type]
    return sum(values) / len(values)
