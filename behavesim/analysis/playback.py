"""What the best programs of a run did, state by state, and where every two of them part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from behavesim.analysis.run import Run
from behavesim.base.errors import TaskError
from behavesim.prompts.parting import first_difference
from behavesim.task import Bins, Disks, Picture, Route, Task, instances_of, picture_of
from behavesim.trajectory import Kind, Trajectory, trajectories_of

INSTANCES = 5
NUMBERS = 40_000
"""That the states of all programs shown come to, so that a report stays of a size to be sent."""


@dataclass(frozen=True)
class Performance:
    """What a program did on an instance: its score there, and its states as `Trajectory.values` has them."""

    candidate: int
    score: float
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Scene:
    """What programs did on an instance of the search, best program first; instances are counted from 1.

    `parting` has, for every two of them, the first step, from 1, at which they differ, None where they never do.
    """

    instance: int
    kind: Kind
    picture: Picture | None
    programs: tuple[Performance, ...]
    parting: tuple[tuple[int | None, ...], ...]


def playback(run: Run, candidates: Sequence[int], pictured: bool = True) -> tuple[Scene, ...]:
    """Return the first instances, each with as many of these feasible candidates as there is room for, in their order.

    Of a program that draws at random it has the first of its runs. Raises BehavesimError where the task cannot be had,
    its `picture` fails, or suits none of its trajectories; without pictures the task is not needed.
    """
    behaviours = _affordable(
        [
            tuple(trajectories_of(each)[0] for each in behaviour[:INSTANCES])
            for behaviour in run.trajectories(candidates)
        ]
    )
    if not behaviours:
        return ()
    by_instance = list(zip(*behaviours, strict=True))
    pictures = _pictures(run.task(), by_instance) if pictured else [None] * len(by_instance)
    return tuple(
        _scene(run, index, picture, candidates, did)
        for index, (picture, did) in enumerate(zip(pictures, by_instance, strict=False))
    )


def _pictures(task: Task, by_instance: Sequence[Sequence[Trajectory]]) -> list[Picture | None]:
    """Return the picture of each instance; raises TaskError where one does not suit what programs did there."""
    pictures = [picture_of(task, instance) for instance in instances_of(task, "search")[: len(by_instance)]]
    for picture, did in zip(pictures, by_instance, strict=False):
        if picture is not None and not all(_suits(picture, each) for each in did):
            raise TaskError(f"`picture` of task {task.name!r} does not suit its trajectories: {picture!r:.80}")
    return pictures


def _suits(picture: Picture, did: Trajectory) -> bool:
    """Whether every state of a trajectory can be drawn so."""
    match picture:
        case Route(places):
            return did.kind == "prefixes" and did.data.min() >= 0 and did.data.max() < len(places)
        case Bins(sizes):
            return did.kind == "prefixes" and did.data.min() >= 0 and len(did) <= len(sizes)
        case Disks():
            return did.kind == "vectors" and did.data.shape[1] % 3 == 0


def _affordable(behaviours: Sequence[tuple[Trajectory, ...]]) -> list[tuple[Trajectory, ...]]:
    room, kept = NUMBERS, []
    for behaviour in behaviours:
        room -= sum(each.data.size for each in behaviour)
        if room < 0:
            break
        kept.append(behaviour)
    return kept


def _scene(
    run: Run, index: int, picture: Picture | None, candidates: Sequence[int], did: Sequence[Trajectory]
) -> Scene:
    shown = zip(candidates, did, strict=False)  # of the last candidates there may be nothing
    return Scene(
        instance=index + 1,
        kind=did[0].kind,
        picture=picture,
        programs=tuple(Performance(c, run.candidate(c).scores[index], tuple(each.values())) for c, each in shown),
        parting=tuple(tuple(_step(first_difference(a, b)) for b in did) for a in did),
    )


def _step(index: int | None) -> int | None:
    return None if index is None else index + 1
