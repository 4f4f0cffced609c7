"""Says in a prompt at which step two of its programs first differ, on which instance, and what each does there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.prompts.budget import fits
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, CandidateId, NoteAsked
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

PLACE = "\0behaviour\0"
"""Stands in a prompt where the words on behaviour belong; programs cannot contain a null character."""

InWords = Callable[[int, int], str]
"""Returns in words what a decision (second number) is on the search's instance of an index (first number, from 0)."""


@dataclass(frozen=True)
class Parting:
    """A request to a model whose prompt still has PLACE where its words on behaviour belong."""

    asked: Asked | NoteAsked
    order: tuple[int, ...]
    """Indices of the instances, those first on which the scores of the two programs differ most."""
    in_words: InWords
    kept: tuple[CandidateId, ...] = ()
    """The programs of the archive. The words count how many of them go on as either program does."""
    tokens: int | None = None
    """The budget of the prompt; words that do not fit are left out. None allows any length."""

    def decide(self, behaviours: Behaviours) -> Asked | NoteAsked:
        """Return the request with words in place of PLACE on the step at which its first and last program first differ.

        They are about the first instance in `order` on which the programs differ; if there is none, the words say so.
        """
        programs = shown_in(self.asked)
        count = len(programs)
        worse, better = behaviours.algorithm(programs[0]), behaviours.algorithm(programs[-1])
        words = f"What they do: programs 1 and {count} do exactly the same on all instances, in other words."
        for index in self.order:
            step = first_difference(worse[index], better[index])
            if step is not None:
                kept = [behaviours.algorithm(each)[index] for each in self.kept]
                words = (
                    f"What they do: on instance {index + 1}, programs 1 and {count} {_until(step)}. "
                    f"Program 1 {did(worse[index], index, step, self.in_words)}; "
                    f"program {count} {did(better[index], index, step, self.in_words)}."
                    f"{_alike(worse[index], better[index], kept, step + 1, count)}"
                )
                break
        prompt = self.asked.prompt
        said = replace(prompt, text=prompt.text.replace(PLACE, words))
        if not fits(said.text, self.tokens):
            left_out = (*prompt.left_out, "behaviour")
            said = replace(prompt, text=prompt.text.replace(f"{PLACE}\n\n", ""), left_out=left_out)
        return replace(self.asked, prompt=said)


def shown_in(asked: Asked | NoteAsked) -> tuple[CandidateId, ...]:
    """Return the numbers of the programs that a request shows, in ascending order of score."""
    return asked.parents if isinstance(asked, Asked) else asked.about


def did(trajectory: AlgorithmRun, index: int, step: int, in_words: InWords) -> str:
    """Return what a program does at a step (from 0) of its trajectory, as the end of a sentence about it.

    For prefixes that is the decision in words, for samples the number of runs, for other kinds how many steps are left.
    `index` is the instance's, from 0. After the last step the words say that the program ended.
    """
    if step >= len(trajectory):
        return "has come to its end there"
    if isinstance(trajectory, Samples):
        return f"goes on otherwise in its {len(trajectory.runs)} runs"
    if trajectory.kind != "prefixes":
        return f"goes on for {len(trajectory) - step} more steps of its own"
    return f"chooses {in_words(index, int(trajectory.data[step]))}"


def _alike(worse: AlgorithmRun, better: AlgorithmRun, kept: Sequence[AlgorithmRun], states: int, count: int) -> str:
    """Return how many of the archive's trajectories `kept` share their first `states` states with `worse` or `better`.

    The words are a sentence after a space, in which the two programs are 1 and `count`. For at most two trajectories,
    "" is returned.
    """
    if len(kept) <= 2:
        return ""
    ways = Counter(_beginning(each, states) for each in kept)
    one, other = (ways.pop(_beginning(each, states), 0) for each in (worse, better))
    further = "another way" if len(ways) == 1 else f"{len(ways)} other ways"
    rest = f", and {ways.total()} in {further}" if ways else ""
    return f" Of the {len(kept)} programs kept, {one} go on as program 1 does, {other} as program {count}{rest}."


def _beginning(trajectory: AlgorithmRun, states: int) -> bytes:
    """Return the first `states` states of a trajectory (all, if it has fewer) as bytes, to count equal beginnings."""
    if isinstance(trajectory, Samples):
        return b"".join(_beginning(run, states) for run in trajectory.runs)
    if trajectory.ends is None:
        return trajectory.data[:states].tobytes()
    # where states end belongs to them: [1][2, 3] and [1, 2][3] hold the same data
    ends = trajectory.ends[:states]
    return ends.tobytes() + trajectory.data[: int(ends[-1])].tobytes()


def first_difference(left: AlgorithmRun, right: AlgorithmRun) -> int | None:
    """Return the index (from 0) of the first state in which two trajectories differ; None if they are equal.

    If one ends where the other goes on, it is the length of the shorter. For samples it is the least index over pairs
    of runs, first with first and so on; 0 if only their numbers of runs differ.
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
    """Return a state; of prefixes only its last decision, since earlier steps were compared before."""
    state = trajectory.state(step)
    return state[-1:] if trajectory.kind == "prefixes" else state


def _until(step: int) -> str:
    """Return words on how long two programs do the same whose first difference is at a step, counted from 0."""
    if step == 0:
        return "part at once"
    return f"do the same in the first {f'{step} steps' if step > 1 else 'step'}, and then part"
