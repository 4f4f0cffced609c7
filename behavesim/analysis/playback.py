"""The trajectories of a run's best programs, for replay on a page, and the steps at which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from behavesim.analysis.run import Run
from behavesim.base.errors import TaskError
from behavesim.prompts.parting import first_difference
from behavesim.task import Bins, Disks, Picture, Route, Task, instances_of, picture_of
from behavesim.trajectory import Kind, Trajectory, trajectories_of

INSTANCES = 5
"""Largest number of instances shown, the first ones: a page offers them in one menu."""
NUMBERS = 40_000
"""Largest total of numbers in all trajectories shown, 0.2 to 0.8 MB of text: a page stays small enough to send."""


@dataclass(frozen=True)
class Performance:
    """What a program did on one instance: its score there, in the task's unit, and its states in order.

    `values` has a list of numbers for each state. For a trajectory of the kind "prefixes" it has one number instead,
    the decision that the step added.
    """

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


def playback(run: Run, candidates: Sequence[int]) -> tuple[Scene, ...]:
    """Return the scenes of the first five instances, without pictures, for feasible candidates in the given order.

    A candidate and all after it are left out once the trajectories together have more than NUMBERS numbers; there are
    no scenes if the first one has. Of samples, only the first trajectory is shown. Raises UnknownCandidate,
    JournalError if a candidate is not feasible or the journal cannot be read, TrajectoryError if a trajectory is
    damaged.
    """
    did = [[trajectories_of(each)[0] for each in behaviour[:INSTANCES]] for behaviour in run.trajectories(candidates)]
    sizes = accumulate(sum(each.data.size for each in behaviour) for behaviour in did)
    affordable = [behaviour for behaviour, size in zip(did, sizes, strict=True) if size <= NUMBERS]
    by_instance = zip(*affordable, strict=True)
    return tuple(_scene(run, number, candidates, did) for number, did in enumerate(by_instance, 1))


def with_pictures(task: Task, scenes: Sequence[Scene]) -> tuple[Scene, ...]:
    """Return the scenes with the pictures of the task's instances; scenes of instances it no longer has are left out.

    Raises TaskError if a picture does not fit the trajectories there, or if the task's code raises.
    """
    instances = instances_of(task, "search") if scenes else ()
    # The task may have fewer instances today than those that the run was made on.
    pictured = tuple(
        replace(scene, picture=picture_of(task, instance)) for scene, instance in zip(scenes, instances, strict=False)
    )
    for scene in pictured:
        if not all(_fits(scene, each.values) for each in scene.programs):
            raise TaskError(f"`picture` of task {task.name!r} does not suit its trajectories: {scene.picture!r:.80}")
    return pictured


def _fits(scene: Scene, values: Sequence[Any]) -> bool:
    """Return whether the scene's picture can draw every state of a trajectory with these values; True without one."""
    match scene.picture:
        case Route(places):
            return scene.kind == "prefixes" and min(values) >= 0 and max(values) < len(places)
        case Bins(sizes):
            return scene.kind == "prefixes" and min(values) >= 0 and len(values) <= len(sizes)
        case Disks():
            return scene.kind == "vectors" and len(values[0]) % 3 == 0
        case None:
            return True


def _scene(run: Run, number: int, candidates: Sequence[int], did: Sequence[Trajectory]) -> Scene:
    """Return the scene of instance `number`, without picture; `did` has the trajectories of the first candidates."""
    shown = zip(candidates, did, strict=False)
    return Scene(
        instance=number,
        kind=did[0].kind,
        picture=None,
        programs=tuple(Performance(c, run.candidate(c).scores[number - 1], tuple(each.values())) for c, each in shown),
        parting=tuple(tuple(_parting(a, b) for b in did) for a in did),
    )


def _parting(one: Trajectory, other: Trajectory) -> int | None:
    """Return the first step, counted from 1, at which two trajectories differ; None if they are equal."""
    index = first_difference(one, other)
    return None if index is None else index + 1
