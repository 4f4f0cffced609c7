"""The summary of a run: its settings, results and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from behavesim.analysis.scored import Scored
from behavesim.base.tokens import Spending

State = Literal["running", "finished", "stopped", "failed"]
"""running: a process holds it; finished: its budget is spent; stopped: a cap, a person or a kill ended it; failed: an
error ended it."""

TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")
"""Kinds of tokens; prompt tokens include the cached ones, completion tokens those of reasoning."""


@dataclass(frozen=True)
class RecommendedProgram(Scored):
    """The program chosen on validation instances; `validation_score` is its score there, in the task's unit.

    `gain` is its gain on the template over search and validation instances, a fraction; None if unknown.
    """

    validation_score: float
    gain: float | None = None


@dataclass(frozen=True)
class Summary:
    """A run at a glance: scores in the task's unit, gaps as fractions; a field is None if unknown or not applicable.

    `stopped_by` names what ended the run. `rejected` counts candidates by reason. `gain` is how much better than the
    template `best` is, in the task's unit. `top10_gap` is the mean gap of the ten best distinct programs.
    `tokens` maps each of TOKEN_KINDS to a sum, None if no answer reported it; `cost_usd` is the cost of these tokens.
    `estimated` is both with estimates for answers that did not report; None if all did. `unanswered` is the number of
    requests that were sent and given up, which may have been billed. `seconds` is active time, without pauses between
    sessions. `digest` is a hash of all candidates' results.
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
        """Number of candidates rejected, for any reason."""
        return sum(self.rejected.values())

    @property
    def open(self) -> int:
        """Number of candidates asked for that are neither feasible nor rejected yet."""
        return self.asked - self.feasible - self.rejections
