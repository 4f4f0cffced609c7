"""At which step two programs begin to differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.prompts.parting import did, first_difference
from behavesim.task import InWords
from behavesim.trajectory import AlgorithmRun


@dataclass(frozen=True)
class Parting:
    """Where two programs first differ: the earliest such step, on the first instance on which they differ then.

    `step` and `instance` count from 1; `does` and `other_does` say what each does there. The four are None if they
    differ only after the steps that are compared. `same_on` is the number of instances on which they do the same.
    """

    step: int | None
    instance: int | None
    does: str | None
    other_does: str | None
    same_on: int

    @property
    def in_words(self) -> str:
        """The step and the instance as a phrase for tables."""
        return "after what is compared" if self.step is None else f"step {self.step}, instance {self.instance}"


def parting(one: Sequence[AlgorithmRun], other: Sequence[AlgorithmRun], words: InWords) -> Parting:
    """Return where two programs part, each given by a trajectory or samples for each instance."""
    steps = [first_difference(*pair) for pair in zip(one, other, strict=True)]
    known = [(step, index) for index, step in enumerate(steps) if step is not None]
    if not known:
        return Parting(None, None, None, None, len(steps))
    step, index = min(known)
    does, other_does = (did(each[index], index, step, words) for each in (one, other))
    return Parting(step + 1, index + 1, does, other_does, len(steps) - len(known))
