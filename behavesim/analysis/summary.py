"""The summary of a run: its settings, results and costs; kept light, as a list of runs loads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from behavesim.analysis.table import FRACTION, SCORE, Column
from behavesim.base.score_source import ScoreSource
from behavesim.base.tokens import Spending
from behavesim.state.advice import Advice

# State of a run. "running": a process holds the run. "finished": its budget is spent. "stopped": a cap, a person or a
# kill ended it. "failed": an error ended it.
State = Literal["running", "finished", "stopped", "failed"]

# Value of `stopped_by` if no end of the run was recorded and no process holds it any more.
KILLED = "killed"
# Kinds of tokens; prompt tokens include the cached ones, completion tokens those of reasoning.
TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")
# Number of best distinct programs that reports show and average.
TOP = 10
# The columns of a table for the score and the gap of a program.
SCORE_AND_GAP = (Column("score", SCORE), Column("gap", FRACTION))


@dataclass(frozen=True)
class Scored:
    """A feasible candidate: its number, -1 for the template, its score in the task's unit, and its gap.

    The gap is a fraction; None if the best known score is missing or 0.
    """

    candidate: int
    score: float
    gap: float | None

    @property
    def cells(self) -> tuple[int, float, float | None]:
        """The number, score and gap (None if unknown), as cells of a row and as the first fields of a subclass."""
        return self.candidate, self.score, self.gap


@dataclass(frozen=True)
class RecommendedProgram(Scored):
    """The program chosen on validation instances; `validation_score` is its score there, in the task's unit.

    `gain` is its gain on the template over search and validation instances, a fraction; None if unknown. `registered`
    is the number of the run's registered candidates that it was chosen from; later ones were not considered.
    """

    validation_score: float
    gain: float | None
    registered: int


@dataclass(frozen=True)
class Summary:
    """A run at a glance: scores in the task's unit, gaps as fractions; a field is None if unknown or not applicable.

    `stopped_by` names what ended the run, "killed" if its process was; None while it runs. `failure` says what went
    wrong if an error ended it. `asked` and `feasible` count candidates; `rejected` counts them by reason. `seconds` is
    active time, without pauses between sessions. `unit` says what scores are numbers of, "" if the task does not.

    `best` is the best candidate, even if the template scores as high or higher; comparisons of methods use it.
    `best_program` is what the run found: the best candidate, or the template (-1) until a candidate is better. Its
    program is in best.py. Both are None while nothing is feasible. `gain` is how much better than the template's score
    the best candidate's is, as a fraction of it; negative if it is worse. If the template scores 0, it is the plain
    difference. `top10_gap` is the mean gap of the ten best distinct programs,
    of all if fewer.

    `tokens` maps each of TOKEN_KINDS to a sum; all are None if there were answers and none reported its tokens.
    `cost_usd` is the cost of these tokens, None if unknown. `estimated` has tokens and cost with estimates for answers
    that did not report theirs; None if all did. `unanswered` is the number of requests that were sent and given up,
    which may have been billed.

    `isolation` names how well the sandbox shuts candidates off. `score_source` is "self-reported" if an evaluator in
    the sandbox computes the scores, where programs could change them, else "trusted". `behaviour` names what programs
    are compared by: the task's "trajectory", or what an evaluator left, which is "calls", "answers", "metrics" or
    "trajectory.json" (docs/how-to/traces.md); None if unknown. `digest` is a SHA-256 of all registered candidates'
    sources, scores and islands, as hexadecimal digits. `advice` has what a person advised the model, and the first
    candidates with (`since`) and, if it is in force no longer, without it (`until`).
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
    score_source: ScoreSource
    seconds: float
    digest: str
    behaviour: str | None = None
    failure: str | None = None
    unit: str = ""
    advice: tuple[Advice, ...] = ()
    best_program: Scored | None = field(init=False)

    def __post_init__(self) -> None:
        """Derive `best_program`, which is a field so that JSON has it."""
        object.__setattr__(self, "best_program", self.best if self.beats_template else self.template)

    @property
    def beats_template(self) -> bool:
        """Whether the best candidate is better than the template; True also if one of them is missing."""
        return self.template is None or self.best is None or self.gain is None or self.gain > 0

    @property
    def rejections(self) -> int:
        """Number of candidates rejected, for any reason."""
        return sum(self.rejected.values())

    @property
    def open(self) -> int:
        """Number of candidates asked for that are neither feasible nor rejected yet."""
        return self.asked - self.feasible - self.rejections
