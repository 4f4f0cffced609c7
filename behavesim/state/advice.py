"""Advice: sentences of a person that the prompts of a run carry, from some candidate on until another.

A summary holds them, and `behavesim list` loads nothing that only the events of a run need: so they have a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from behavesim.base.text import printable

if TYPE_CHECKING:
    from behavesim.state.events import Advised


# Most sentences that prompts carry, the latest ones: each is repeated in every prompt.
IN_PROMPTS = 5
# Most characters of a sentence of advice, about 100 tokens; a longer one is refused, or cut if it comes as a file.
LONGEST = 500


@dataclass(frozen=True)
class Advice:
    """A sentence of advice; `since` is the first candidate whose prompt carries it."""

    text: str
    since: int
    until: int | None = None
    """The first candidate whose prompt no longer carries it; None if it is not withdrawn."""

    def is_in_force(self, candidate: int) -> bool:
        """Whether the prompt of a candidate carries the sentence."""
        return self.since <= candidate and (self.until is None or candidate < self.until)

    @property
    def words(self) -> str:
        """The sentence, printable, in quotation marks, and which candidates it was for."""
        asked = f"since candidate {self.since}" if self.until is None else f"candidates {self.since}–{self.until - 1}"
        return f"“{printable(self.text)}”, {asked}"


def advice(advised: Iterable[Advised]) -> tuple[Advice, ...]:
    """Return the advice that was or is in force, or waits for its first candidate, oldest first.

    advised: events whose `not_before` is the candidate from which each holds. A sentence ends where all are withdrawn,
    or where IN_PROMPTS newer ones hold.
    """
    found: list[Advice] = []
    for event in sorted(advised, key=lambda each: each.not_before):  # a replay knows from the start what comes later
        lasting = [place for place, each in enumerate(found) if each.until is None]
        for place in lasting[: 1 - IN_PROMPTS] if event.text else lasting:
            found[place] = replace(found[place], until=event.not_before)
        if event.text:
            found.append(Advice(event.text, event.not_before))
    return tuple(each for each in found if each.until is None or each.until > each.since)
