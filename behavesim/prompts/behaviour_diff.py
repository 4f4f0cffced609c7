"""Says in a prompt what its programs do: where two first differ, which is better there, and what their steps cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.state.behaviours import Behaviours
from behavesim.state.events import CandidateId
from behavesim.task import InWords, Objective
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

# The scores of a program, one for each instance.
Scores = tuple[float, ...]


def behaviour_in_words(
    programs: Sequence[CandidateId],
    scores: Sequence[Scores],
    best: Scores,
    objective: Objective,
    words: InWords,
    behaviours: Behaviours,
) -> str:
    """Return words on where the first and the last of a prompt's programs do something else, on one instance.

    For one program they are on its costs on the instance on which it is furthest behind; "" if these are not known.
    `scores` are those of each program, `best` is the best score so far on each instance, () if unknown. Raises
    TaskError as `InWords` does.
    """
    count, is_cost = len(programs), objective.direction == "minimise"
    first, last = scores[0], scores[-1]
    if count == 1 and len(best) == len(first):
        last = best
    worse, better = behaviours.algorithm(programs[0]), behaviours.algorithm(programs[-1])
    # in the order of the difference in score: where that is largest, there is most to say
    for index in sorted(range(len(first)), key=lambda i: -abs(first[i] - last[i])):
        if count == 1:
            return costs_in_words([worse[index]], index, words, is_cost)
        step = first_difference(worse[index], better[index])
        if step is not None:
            if not words.are_given:  # bare numbers of steps say nothing, and the table says who is better
                return ""
            pair = worse[index], better[index]
            one, other = (step_in_words(each, index, step, words) for each in pair)
            better_there = _who_is_better(first, last, count, index, objective, words)
            did = (
                f"What they do: on {words.instance(index)}, programs 1 and {count} {agreement_in_words(step)}. "
                f"Program 1 {one}; program {count} {other}. {better_there}"
            )
            return "\n\n".join(filter(None, [did, costs_in_words(pair, index, words, is_cost, count)]))
    return "" if count == 1 else f"What they do: programs 1 and {count} do exactly the same, in other words."


def _who_is_better(first: Scores, last: Scores, count: int, index: int, objective: Objective, words: InWords) -> str:
    """Return which of programs 1 and `count` scores better on an instance, and where it is the other way round."""
    utility = objective.utility
    lead = [utility(ours) - utility(theirs) for theirs, ours in zip(first, last, strict=True)]
    if not lead[index]:
        return "They score the same there."
    winner, loser = (count, 1) if lead[index] > 0 else (1, count)
    # scores that differ by little need more digits to be told apart
    scores = {1: f"{first[index]:.6g}", count: f"{last[index]:.6g}"}
    said = f"Program {winner} is better there: it scores {scores[winner]}, program {loser} {scores[loser]}."
    other = min(range(len(lead)), key=lambda i: lead[i] * (1 if lead[index] > 0 else -1))
    if lead[other] * lead[index] >= 0:
        return said
    return f"{said} It is the other way round on {words.instance(other)}, by {abs(lead[other]):.3g}."


def step_in_words(trajectory: AlgorithmRun, index: int, step: int, words: InWords) -> str:
    """Return what a program does at a step (from 0) of its trajectory, as the end of a sentence: "chooses city 3"."""
    if step >= len(trajectory):
        return "has come to its end there"
    if isinstance(trajectory, Samples):
        return f"goes on otherwise in its {len(trajectory.runs)} runs"
    if trajectory.kind != "prefixes":
        return f"goes on for {len(trajectory) - step} more steps of its own"
    decisions = [int(each) for each in trajectory.data[: step + 1]]
    return f"chooses {words.choice(index, decisions[:-1], decisions[-1])}"


def agreement_in_words(step: int) -> str:
    """Return how long two programs do the same, as the end of a sentence; they first differ at `step` (from 0)."""
    if step == 0:
        return "part at once"
    return f"do the same in the first {f'{step} steps' if step > 1 else 'step'}, and then part"


def first_difference(left: AlgorithmRun, right: AlgorithmRun) -> int | None:
    """Return the index (from 0) of the first state in which two trajectories differ; None if they are equal.

    If one ends where the other goes on, it is the length of the shorter.
    """
    if left == right:
        return None
    if isinstance(left, Samples) or isinstance(right, Samples):
        # The least index over pairs of runs, first with first. Samples may differ in their number of runs: a run
        # without a partner is compared with none, and 0 says that only the numbers differ.
        pairs = zip(trajectories_of(left), trajectories_of(right), strict=False)
        return min((step for pair in pairs if (step := first_difference(*pair)) is not None), default=0)
    shared = min(len(left), len(right))
    differing = (step for step in range(shared) if not np.array_equal(_state(left, step), _state(right, step)))
    return next(differing, shared)


def _state(trajectory: Trajectory, step: int) -> NDArray[Any]:
    """Return the state at a step; for prefixes only its last decision, since earlier steps were compared before."""
    state = trajectory.state(step)
    return state[-1:] if trajectory.kind == "prefixes" else state


# Names of the stretches into which the steps are divided: quarters of the longest trajectory.
STRETCHES = ("first", "second", "third", "last")


def costs_in_words(
    trajectories: Sequence[AlgorithmRun], index: int, words: InWords, is_cost: bool, count: int = 1
) -> str:
    """Return what each quarter of the steps costs one or two programs on an instance, and their costliest steps.

    "" if a step's cost is not known. `trajectories` has one for each program, on the instance `index` (from 0).
    `count` is the number of programs in the prompt: the second of two here is its last. If not `is_cost`, steps add to
    the score. Raises TaskError as `InWords` does.
    """
    known = [_costs(each, index, words) for each in trajectories]
    if not all(known):
        return ""
    size = max(1, math.ceil(max(map(len, known)) / len(STRETCHES)))
    quarters = [[sum(costs[k * size : (k + 1) * size]) for k in range(len(STRETCHES))] for costs in known]
    numbers = [1, count][: len(known)]
    names = ["the program above"] if count == 1 else [f"program {number}" for number in numbers]
    verb = "cost" if is_cost else "add to the score"
    listed = "; ".join(f"{name} {' '.join(map(_rounded, each))}" for name, each in zip(names, quarters, strict=True))
    said = [f"What the four quarters of the steps {verb} on {words.instance(index)}: {listed}."]
    if len(known) == 2:
        said.append(_compared(quarters, names, "costs" if is_cost else "adds"))
    if is_cost:
        for trajectory, name, costs in zip(trajectories, names, known, strict=True):
            said.append(_costliest(trajectory, index, words, name, costs))
    return " ".join(filter(None, said))


def _costs(trajectory: AlgorithmRun, index: int, words: InWords) -> tuple[float, ...]:
    """Return the cost of each step on the instance `index`; () if the task knows none or the steps are no decisions."""
    if not isinstance(trajectory, Trajectory) or trajectory.kind != "prefixes":
        return ()
    return words.costs(index, [int(each) for each in trajectory.data])


def _compared(quarters: Sequence[Sequence[float]], names: Sequence[str], verb: str) -> str:
    """Return a sentence on how much more one of two programs costs, in all and in the quarter with the largest part."""
    # `quarters`: for each program the sums of its costs over each quarter of the steps. "" if both sums are equal.
    ahead = [one - other for one, other in zip(*quarters, strict=True)]
    if abs(sum(ahead)) < 1e-9:
        return ""
    first = sum(ahead) > 0
    most = max(ahead) if first else min(ahead)
    more, other = names if first else reversed(names)
    return (
        f"In all, {more} {verb} {_rounded(abs(sum(ahead)))} more than {other}; in the {STRETCHES[ahead.index(most)]} "
        f"quarter alone it {verb} {_rounded(abs(most))} more."
    )


def _costliest(trajectory: AlgorithmRun, index: int, words: InWords, name: str, costs: Sequence[float]) -> str:
    """Return the step that costs the program `name` most, in words; "" if several do or none costs more than 0."""
    most = max(costs)
    assert isinstance(trajectory, Trajectory), "only their steps have costs"
    if most <= 0 or costs.count(most) > 1:
        return ""
    step = costs.index(most)
    decisions = [int(each) for each in trajectory.data[: step + 1]]
    choice = words.choice(index, decisions[:-1], decisions[-1])
    return f"The costliest step of {name} is number {step + 1} of {len(costs)}, at {_rounded(most)}: {choice}."


def _rounded(cost: float) -> str:
    """Return a cost with three significant digits, or without decimals from 1000 on."""
    return f"{cost:.3g}" if abs(cost) < 1000 else f"{cost:.0f}"
