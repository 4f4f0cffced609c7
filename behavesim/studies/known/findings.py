"""What the study finds: programs, their behaviours, pairs that disagree, what was refused, and who found what."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.score_source import ScoreSource
from behavesim.task import Objective, Split
from behavesim.task.verdict import Verdict

SHOWN = 5
"""Largest number of pairs listed whose texts and behaviours disagree, for each of the two kinds."""


@dataclass(frozen=True)
class Tried:
    """A program that was run: its name, who found it, its source and its verdict."""

    name: str
    whose: str
    source: str
    verdict: Verdict


@dataclass(frozen=True)
class Refused:
    """A program that could not be run or was rejected: at which stage, and why."""

    name: str
    whose: str
    stage: str
    reason: str
    message: str


@dataclass(frozen=True)
class Parting:
    """Where two programs first differ: the earliest such step, on the first instance on which they differ then.

    `step` and `instance` count from 1; `does` and `other_does` say what each does there. The four are None if they
    differ in scores alone. `same_on` is the number of instances on which they do the same.
    """

    step: int | None
    instance: int | None
    does: str | None
    other_does: str | None
    same_on: int

    @property
    def in_words(self) -> str:
        """The step and the instance as a phrase for tables; "after what is compared" if they are None."""
        return "after what is compared" if self.step is None else f"step {self.step}, instance {self.instance}"


@dataclass(frozen=True)
class Found:
    """A program with its score and gap, the number of its behaviour from 1, and its nearest program.

    `gap` is a fraction, None if the best score is unknown or 0. `copy_of` is the first program with this behaviour,
    None for that program itself. `nearest` is `copy_of`, or the most similar program of another behaviour, with their
    BehaveSim and where they part; the three are None if there is none. A copy never parts: its `parting` is None.
    """

    name: str
    whose: str
    score: float
    gap: float | None
    behaviour: int
    copy_of: str | None
    nearest: str | None
    similarity: float | None
    parting: Parting | None


@dataclass(frozen=True)
class Pair:
    """Two programs, the behaviour of the first, and their similarities by text and by behaviour."""

    one: str
    other: str
    behaviour: int
    text: float
    behavesim: float


@dataclass(frozen=True)
class Party:
    """Those who found some programs: how many, with how many behaviours, how many found by nobody else, and the best.

    `best` is the name of their best program, with its score and gap (see `Objective.gap`; None if unknown).
    """

    whose: str
    programs: int
    behaviours: int
    alone: int
    best: str
    score: float
    gap: float | None


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
        """Return all programs of a behaviour, given by its number from 1; empty if there is none of that number."""
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
        """Return pairs of programs that behave the same, the least similar texts first, one for each behaviour.

        There are at most SHOWN.
        """
        pairs = [self._pair(*rows) for rows in self._rows(same=True)]
        chosen: dict[int, Pair] = {}
        for pair in sorted(pairs, key=lambda pair: pair.text):
            chosen.setdefault(pair.behaviour, pair)
        return list(chosen.values())[:SHOWN]

    def similar_text(self) -> list[Pair]:
        """Return the pairs of programs that behave differently, the most similar texts first, at most SHOWN."""
        return sorted((self._pair(*rows) for rows in self._rows(same=False)), key=lambda pair: -pair.text)[:SHOWN]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: the task, the split, counts, and lists of this module's values.

        `behaviours` counts the different ones; `far` of them are at least `apart` from one another. `similarities` has
        two N × N lists of lists, by BehaveSim ("behavesim") and by the metric of text (its name), in the order of
        `programs`.
        """
        return {
            "task": self.task,
            "split": self.split,
            "score_source": self.score_source,
            "metric": self.metric,
            "behaviours": len(self.firsts),
            "far": self.far,
            "apart": self.apart,
            "parties": [asdict(each) for each in self.parties],
            "programs": [asdict(each) for each in self.found],
            "refused": [asdict(each) for each in self.refused],
            "same_behaviour": [asdict(each) for each in self.same_behaviour()],
            "similar_text": [asdict(each) for each in self.similar_text()],
            "similarities": {"behavesim": self.behaviour.tolist(), self.metric: self.text.tolist()},
        }

    def _rows(self, same: bool) -> list[tuple[int, int]]:
        """Return the indices in `found` of all pairs of programs that behave the same; if not `same`, of the others."""
        number = np.array([each.behaviour for each in self.found])
        rows, columns = np.triu_indices(len(number), 1)
        kept = (number[rows] == number[columns]) == same
        return list(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))

    def _pair(self, row: int, column: int) -> Pair:
        one, other = self.found[row], self.found[column]
        return Pair(
            one.name, other.name, one.behaviour, float(self.text[row, column]), float(self.behaviour[row, column])
        )
