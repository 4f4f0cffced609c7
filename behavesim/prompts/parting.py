"""Says in a prompt where two of its programs part: on which instance, at which step, and what each does there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, CandidateId, NoteAsked
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

PLACE = "\0behaviour\0"
"""Marks where the words on behaviour belong in a prompt; programs cannot contain a null character."""

InWords = Callable[[int, int], str]
"""Returns a decision (second number) on the instance of an index (first number, from 0) in words."""


@dataclass(frozen=True)
class Parting:
    """A question whose prompt still lacks its words on behaviour."""

    asked: Asked | NoteAsked
    order: tuple[int, ...]
    """Indices of the instances, those first on which the scores of the two programs differ most."""
    in_words: InWords
    kept: tuple[CandidateId, ...] = ()
    """The programs of the archive; the words count how many of them go on as either program does."""

    def decide(self, behaviours: Behaviours) -> Asked | NoteAsked:
        """Return the question with the step at which its first and its last program part."""
        programs = shown_in(self.asked)
        worse, *_, better = (behaviours.algorithm(program) for program in programs)
        words = self._words(worse, better, len(programs), behaviours)
        prompt = self.asked.prompt
        return replace(self.asked, prompt=replace(prompt, text=prompt.text.replace(PLACE, words)))

    def _words(
        self, worse: Sequence[AlgorithmRun], better: Sequence[AlgorithmRun], count: int, behaviours: Behaviours
    ) -> str:
        # the first instance on which they part at all; on the others they may do the same
        for index in self.order:
            step = first_difference(worse[index], better[index])
            if step is not None:
                others = [behaviours.algorithm(each)[index] for each in self.kept]
                return (
                    f"What they do: on instance {index + 1}, programs 1 and {count} {_until(step)}. "
                    f"Program 1 {did(worse[index], index, step, self.in_words)}; "
                    f"program {count} {did(better[index], index, step, self.in_words)}."
                    f"{tried(worse[index], better[index], others, step + 1, count)}"
                )
        return f"What they do: programs 1 and {count} do exactly the same on all instances, in other words."


def shown_in(asked: Asked | NoteAsked) -> tuple[CandidateId, ...]:
    """Return the programs that a question shows, in ascending order of score."""
    return asked.parents if isinstance(asked, Asked) else asked.about


def did(trajectory: AlgorithmRun, index: int, step: int, in_words: InWords) -> str:
    """Return what a program does at a step (from 0) on the instance of an index, as the end of a sentence."""
    if step >= len(trajectory):
        return "has come to its end there"
    if isinstance(trajectory, Samples):
        return f"goes on otherwise in its {len(trajectory.runs)} runs"
    if trajectory.kind != "prefixes":
        return f"goes on for {len(trajectory) - step} more steps of its own"
    return f"chooses {in_words(index, int(trajectory.data[step]))}"


def tried(worse: AlgorithmRun, better: AlgorithmRun, kept: Sequence[AlgorithmRun], states: int, count: int) -> str:
    """Return how many programs of the archive share the first `states` states with either program, as a sentence.

    Return "" if the archive has no more than two programs.
    """
    if len(kept) <= 2:
        return ""
    ways = Counter(_beginning(each, states) for each in kept)
    one, other = (ways.pop(_beginning(each, states), 0) for each in (worse, better))
    further = "another way" if len(ways) == 1 else f"{len(ways)} other ways"
    rest = f", and {ways.total()} in {further}" if ways else ""
    return f" Of the {len(kept)} programs kept, {one} go on as program 1 does, {other} as program {count}{rest}."


def _beginning(trajectory: AlgorithmRun, states: int) -> bytes:
    """Return the first states of a trajectory as bytes, so that equal beginnings can be counted."""
    if isinstance(trajectory, Samples):
        return b"".join(_beginning(run, states) for run in trajectory.runs)
    if trajectory.ends is None:
        return trajectory.data[:states].tobytes()
    # where states end belongs to them: [1][2, 3] and [1, 2][3] hold the same data
    ends = trajectory.ends[:states]
    return ends.tobytes() + trajectory.data[: int(ends[-1])].tobytes()


def first_difference(left: AlgorithmRun, right: AlgorithmRun) -> int | None:
    """Return the index of the first state in which two trajectories differ; None if they are equal.

    For samples it is the earliest such index over all pairs of runs of equal number.
    """
    if left == right:
        return None
    if isinstance(left, Samples) or isinstance(right, Samples):
        # samples may differ in their number of runs; a run without a partner is compared with none
        pairs = zip(trajectories_of(left), trajectories_of(right), strict=False)
        return min((step for pair in pairs if (step := first_difference(*pair)) is not None), default=0)
    shared = min(len(left), len(right))
    differing = (step for step in range(shared) if not np.array_equal(_state(left, step), _state(right, step)))
    return next(differing, shared)


def _state(trajectory: Trajectory, step: int) -> NDArray[Any]:
    if trajectory.ends is None:
        return trajectory.data[step : step + 1]
    begin = 0 if step == 0 else int(trajectory.ends[step - 1])
    return trajectory.data[begin : int(trajectory.ends[step])]


def _until(step: int) -> str:
    if step == 0:
        return "part at once"
    return f"do the same in the first {f'{step} steps' if step > 1 else 'step'}, and then part"
