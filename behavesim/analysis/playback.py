"""The trajectories of a run's best programs, for replay on a page, and the steps at which they differ."""

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
"""Number of instances shown: the first ones."""
NUMBERS = 40_000
"""Largest total of numbers in all trajectories shown, so that a page stays small enough to send."""


@dataclass(frozen=True)
class Performance:
    """What a program did on an instance: its score in the task's unit, and its states (`Trajectory.values`)."""

    candidate: int
    score: float
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Scene:
    """What programs did on one instance of the search; `instance` is counted from 1.

    `kind` is the kind of their trajectories; `picture` says how to draw them, None for no drawing. `parting[i][j]` is
    the first step, counted from 1, at which programs i and j differ; None if they never do.
    """

    instance: int
    kind: Kind
    picture: Picture | None
    programs: tuple[Performance, ...]
    parting: tuple[tuple[int | None, ...], ...]


def playback(run: Run, candidates: Sequence[int], pictured: bool = True) -> tuple[Scene, ...]:
    """Return the scenes of the first five instances, for the given feasible candidates, in their order.

    Later candidates are left out once all trajectories together have more than `NUMBERS` numbers; it is empty if the
    first one has. A program that draws at random is shown by its first run. Raises BehavesimError if the task cannot be
    loaded, or its `picture` fails or does not fit the trajectories. Without `pictured` the task is not needed.
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
    """Return the picture of each instance; raises TaskError if one does not fit the trajectories there."""
    pictures = [picture_of(task, instance) for instance in instances_of(task, "search")[: len(by_instance)]]
    for picture, did in zip(pictures, by_instance, strict=False):
        if picture is not None and not all(_fits(picture, each) for each in did):
            raise TaskError(f"`picture` of task {task.name!r} does not suit its trajectories: {picture!r:.80}")
    return pictures


def _fits(picture: Picture, did: Trajectory) -> bool:
    """Whether every state of the trajectory can be drawn with this picture."""
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
    shown = zip(candidates, did, strict=False)  # `did` is shorter if the last candidates were left out
    return Scene(
        instance=index + 1,
        kind=did[0].kind,
        picture=picture,
        programs=tuple(Performance(c, run.candidate(c).scores[index], tuple(each.values())) for c, each in shown),
        parting=tuple(tuple(_step(first_difference(a, b)) for b in did) for a in did),
    )


def _step(index: int | None) -> int | None:
    return None if index is None else index + 1
