"""Which programs of several people behave the same, how near the others are, and at which step they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import Table
from behavesim.base.errors import UsageError
from behavesim.base.score_source import ScoreSource
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.similarity import BehaveSim
from behavesim.similarity.niches import cleared
from behavesim.studies.known.document import document
from behavesim.studies.known.drawing import draw
from behavesim.studies.known.findings import Found, Pair, Party, Refused, Tried
from behavesim.studies.known.partings import Parting, parting
from behavesim.studies.known.tables import tables
from behavesim.task import InWords, Objective, Split
from behavesim.trajectory import packed

SHOWN = 5
"""Largest number of pairs listed whose texts and behaviours disagree, for each of the two kinds."""


@dataclass(frozen=True)
class KnownStudy:
    """Programs of several parties on one task: their behaviours, similarities, and those that could not be run.

    `found` has the programs in the order in which they were given. `behaviour` and `text` are (N, N) similarities in
    this order, by BehaveSim and by the metric of text `metric`. `far` is how many behaviours are at least `apart` from
    one another, a distance 1 − BehaveSim.
    """

    task: str
    split: Split
    objective: Objective
    score_source: ScoreSource
    metric: str
    found: tuple[Found, ...]
    refused: tuple[Refused, ...]
    behaviour: NDArray[np.float64]
    text: NDArray[np.float64]
    far: int
    apart: float

    @property
    def firsts(self) -> tuple[Found, ...]:
        """The first program of each behaviour; behaviour k, from 1, is at index k − 1."""
        return tuple(each for each in self.found if each.copy_of is None)

    def finders(self, behaviour: int) -> tuple[Found, ...]:
        """Return all programs of a behaviour."""
        return tuple(each for each in self.found if each.behaviour == behaviour)

    @property
    def parties(self) -> tuple[Party, ...]:
        """Who found how much, in the order of their first programs."""
        names = dict.fromkeys(each.whose for each in self.found)
        whose = [{each.whose for each in self.finders(first.behaviour)} for first in self.firsts]
        found = []
        for name in names:
            own = [each for each in self.found if each.whose == name]
            best = max(own, key=lambda each: self.objective.utility(each.score))
            alone = sum(owners == {name} for owners in whose)
            behaviours = len({each.behaviour for each in own})
            found.append(Party(name, len(own), behaviours, alone, best.name, best.score, best.gap))
        return tuple(found)

    def same_behaviour(self) -> list[Pair]:
        """Return pairs of programs that behave the same, the least similar texts first, one for each behaviour."""
        pairs = [self._pair(*rows) for rows in self._rows(same=True)]
        chosen: dict[int, Pair] = {}
        for pair in sorted(pairs, key=lambda pair: pair.text):
            chosen.setdefault(pair.behaviour, pair)
        return list(chosen.values())[:SHOWN]

    def similar_text(self) -> list[Pair]:
        """Return pairs of programs that behave differently, the most similar texts first."""
        return sorted((self._pair(*rows) for rows in self._rows(same=False)), key=lambda pair: -pair.text)[:SHOWN]

    def document(self) -> dict[str, Any]:
        """Return the study as one JSON document, whose keys `document.document` lists."""
        return document(self)

    def tables(self) -> tuple[Table, ...]:
        """Return the parties, what was found again, the programs, the pairs that disagree, and what was refused."""
        return tables(self)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the map and the tree of behaviours into known.pdf and known.svg; return the two paths.

        Raises UsageError if they cannot be written.
        """
        return draw(self, folder)

    def _rows(self, same: bool) -> list[tuple[int, int]]:
        """Return the rows of all pairs of programs that behave the same, or of all that do not."""
        number = np.array([each.behaviour for each in self.found])
        rows, columns = np.triu_indices(len(number), 1)
        kept = (number[rows] == number[columns]) == same
        return list(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))

    def _pair(self, row: int, column: int) -> Pair:
        one, other = self.found[row], self.found[column]
        return Pair(
            one.name, other.name, one.behaviour, float(self.text[row, column]), float(self.behaviour[row, column])
        )


@dataclass(frozen=True)
class Rules:
    """How programs are compared: the measure, the clearing radius, the metric of text, and instances in words."""

    measure: BehaveSim
    radius: float
    metric: str
    words: InWords


def study(tried: Sequence[Tried], refused: Sequence[Refused], rules: Rules) -> KnownStudy:
    """Compare programs, at least one, that were run on the instances of one split.

    Two programs behave the same if their trajectories and their scores are equal on every instance. Raises UsageError
    if the task's programs have no trajectories, or the metric's package is missing or cannot read a program;
    TrajectoryError if the trajectories cannot be compared.
    """
    if not any(each.verdict.trajectories for each in tried):
        raise UsageError(f"task {rules.words.task.name} has no trajectories, so that nothing can be compared")
    task, split = rules.words.task, rules.words.split
    behaviour = rules.measure.matrix([each.verdict.trajectories for each in tried])
    sources = [each.source for each in tried]
    text = source_matrix(of_source(rules.metric, sources), sources)
    objective = task.objective_on(split)
    found = _found(tried, behaviour, objective, rules.words)
    far, apart = _far(found, 1.0 - behaviour, objective, rules.radius)
    return KnownStudy(
        task.name, split, objective, task.score_source, rules.metric, found, tuple(refused), behaviour, text, far, apart
    )


def _found(
    tried: Sequence[Tried], similarity: NDArray[np.float64], objective: Objective, words: InWords
) -> tuple[Found, ...]:
    """Return what is known of each program; the first of a behaviour is the one that the others are copies of."""
    first: dict[tuple[bytes, tuple[float, ...]], int] = {}
    keys = [(packed(each.verdict.trajectories), each.verdict.scores) for each in tried]
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    numbers = {row: number for number, row in enumerate(first.values(), 1)}
    found = []
    for row, (each, key) in enumerate(zip(tried, keys, strict=True)):
        original = first[key]
        near, part = (original, None) if original != row else _nearest(row, keys, tried, similarity, words)
        score = each.verdict.score
        found.append(
            Found(
                each.name,
                each.whose,
                score,
                objective.gap(score),
                numbers[original],
                tried[original].name if original != row else None,
                None if near is None else tried[near].name,
                None if near is None else float(similarity[row, near]),
                part,
            )
        )
    return tuple(found)


def _nearest(
    row: int,
    keys: Sequence[tuple[bytes, tuple[float, ...]]],
    tried: Sequence[Tried],
    similarity: NDArray[np.float64],
    words: InWords,
) -> tuple[int | None, Parting | None]:
    """Return the most similar program of another behaviour, the first of equal ones, and where the two part."""
    others = [other for other, key in enumerate(keys) if key != keys[row]]
    if not others:
        return None, None
    near = max(others, key=lambda other: (similarity[row, other], -other))
    return near, parting(tried[row].verdict.trajectories, tried[near].verdict.trajectories, words)


def _far(
    found: Sequence[Found], distances: NDArray[np.float64], objective: Objective, radius: float
) -> tuple[int, float]:
    """Return how many behaviours clearing keeps, the best first, and the least distance between two of these.

    That distance is `radius` times the median distance of two behaviours.
    """
    rows = [row for row, each in enumerate(found) if each.copy_of is None]
    rows.sort(key=lambda row: -objective.utility(found[row].score))
    among = distances[np.ix_(rows, rows)]
    pairs = among[np.triu_indices(len(rows), 1)]
    apart = radius * float(np.median(pairs)) if pairs.size else 0.0
    return len(cleared(len(rows), len(rows), apart, among.__getitem__)), apart
