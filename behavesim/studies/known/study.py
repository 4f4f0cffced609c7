"""Which programs of several people behave the same, how near the others are, and at which step they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import UsageError
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.prompts.parting import first_difference, step_in_words
from behavesim.similarity import BehaveSim
from behavesim.similarity.niches import cleared, median_distance
from behavesim.studies.known.findings import Found, KnownStudy, Parting, Refused, Tried
from behavesim.task import InWords, Objective
from behavesim.trajectory import AlgorithmRun, packed


@dataclass(frozen=True)
class Rules:
    """How programs are compared: by the measure of behaviour, and by `metric`, the name of a metric of source code.

    `radius` is the clearing radius as a multiple of the median distance of two behaviours. `words` puts the decisions
    of programs on an instance in words; it names the task and the split.
    """

    measure: BehaveSim
    radius: float
    metric: str
    words: InWords


def study(tried: Sequence[Tried], refused: Sequence[Refused], rules: Rules) -> KnownStudy:
    """Compare programs, at least one, that were run on the instances of one split.

    Those of `refused` could not be run or were rejected: they are listed, not compared. `rules` say how those of
    `tried` are compared. Two programs behave the same if their trajectories and their scores are equal on every
    instance.

    Raises UsageError if the task's programs have no trajectories, or the metric's package is missing or cannot read a
    program. Raises KeyError for an unknown metric, TrajectoryError if the trajectories cannot be compared. Raises
    TaskError if the task fails to put a decision in words.
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
    """Return what is known of each of the N programs `tried`, in order; of one behaviour, all but the first are copies.

    `similarity` has their BehaveSim, (N, N); `words` puts decisions and instances in words.
    """
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
    """Return the row of the program of another behaviour most similar to that of `row`, and where the two part.

    `keys` has the behaviour and the scores of each program in `tried`, `similarity` their BehaveSim, (N, N). Of equally
    similar ones it is the first. Both are None if all programs have one behaviour.
    """
    others = [other for other, key in enumerate(keys) if key != keys[row]]
    if not others:
        return None, None
    near = max(others, key=lambda other: (similarity[row, other], -other))
    return near, parting(tried[row].verdict.trajectories, tried[near].verdict.trajectories, words)


def _far(
    found: Sequence[Found], distances: NDArray[np.float64], objective: Objective, radius: float
) -> tuple[int, float]:
    """Return how many behaviours clearing keeps, from the best on, and the least distance that it demands of two.

    That is `radius` times the median distance of two behaviours. `distances` are those of the programs `found`, (N, N).
    """
    rows = [row for row, each in enumerate(found) if each.copy_of is None]
    rows.sort(key=lambda row: -objective.utility(found[row].score))
    among = distances[np.ix_(rows, rows)]
    apart = radius * median_distance(among)
    return len(cleared(len(rows), len(rows), apart, among.__getitem__)), apart


def parting(one: Sequence[AlgorithmRun], other: Sequence[AlgorithmRun], words: InWords) -> Parting:
    """Return where two programs part, each given by a trajectory or samples for each instance.

    Step, instance and words are None if the two are equal on all instances. Raises TaskError if the task fails to put a
    decision in words.
    """
    steps = [first_difference(*pair) for pair in zip(one, other, strict=True)]
    known = [(step, index) for index, step in enumerate(steps) if step is not None]
    if not known:
        return Parting(None, None, None, None, len(steps))
    step, index = min(known)
    does, other_does = (step_in_words(each[index], index, step, words) for each in (one, other))
    return Parting(step + 1, index + 1, does, other_does, len(steps) - len(known))
