"""How a run stands: what it was asked, what it found, what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from behavesim.analysis.scored import Scored
from behavesim.base.tokens import Spending

State = Literal["running", "finished", "stopped", "failed"]
"""finished: its budget is spent; stopped: a cap or a person ended it."""

TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")
"""Of tokens; cached ones are among those of prompts, reasoning among those of completions."""


@dataclass(frozen=True)
class RecommendedProgram(Scored):
    """The program chosen on validation instances, and its score there.

    `gain` is how much better than the template it is over search and validation instances, a fraction; None where that
    is unknown.
    """

    validation_score: float
    gain: float | None = None


@dataclass(frozen=True)
class Summary:
    """A run at a glance; scores in the task's unit, gaps as fractions, and None for what is unknown or not there.

    `best` is the best candidate, and `gain` is how much better than the template it is, in the task's unit.
    `tokens` maps each of TOKEN_KINDS to a sum, None where no answer said what it took, and `cost_usd` is what those
    cost; `estimated` is both with estimates for the answers that did not say, None where all did. `unanswered` requests
    were sent and given up, and may have been billed. `seconds` leaves pauses out.
    """

    run: str
    state: State
    stopped_by: str | None
    task: str
    method: str
    proposer: str
    seed: int
    asked: int
    feasible: int
    rejected: Mapping[str, int]
    template: Scored | None
    best: Scored | None
    gain: float | None
    recommended: RecommendedProgram | None
    top10_gap: float | None
    tokens: Mapping[str, int | None]
    cost_usd: float | None
    estimated: Spending | None
    unanswered: int
    isolation: str
    seconds: float
    digest: str

    @property
    def rejections(self) -> int:
        """Candidates rejected for any reason."""
        return sum(self.rejected.values())

    @property
    def open(self) -> int:
        """Candidates asked for of which nothing has become yet."""
        return self.asked - self.feasible - self.rejections
