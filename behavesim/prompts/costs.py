"""Says in a prompt what the steps of its programs cost on an instance, for tasks that know the cost of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from behavesim.task import InWords
from behavesim.trajectory import AlgorithmRun, Trajectory

STRETCHES = ("first", "second", "third", "last")
"""Names of the stretches into which the steps are divided: quarters of the longest trajectory."""


def costs_in_words(
    trajectories: Sequence[AlgorithmRun], index: int, words: InWords, is_cost: bool, count: int = 1
) -> str:
    """Return what each quarter of the steps costs one or two programs on an instance, and their costliest steps.

    Return "" if a program has no steps, if its steps are no decisions, or if the task does not say what they cost.
    `trajectories` has one for each program, on the instance with the `index` (from 0). `count` is the number of
    programs in the prompt: the second of two here is its last. If not `is_cost`, the quarters say what steps add to the
    score, and no costliest step is named. Raises TaskError as `InWords` does.
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
    """Return a sentence on how much more one of two programs costs, in all and in the quarter with the largest part.

    `quarters` has one sequence for each program: the sums of its costs over each quarter of the steps. `names` has
    their names. `verb` is "costs", or "adds" where steps add to the score. Return "" if both sums are equal.
    """
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
