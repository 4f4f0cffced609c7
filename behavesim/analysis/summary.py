"""How a run stands: what it was asked, what it found, what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from behavesim.analysis.run import TOP, Run
from behavesim.analysis.scored import Scored, scored
from behavesim.analysis.statistics import mean_of_all
from behavesim.caps import Spending, spent
from behavesim.config import Settings
from behavesim.proposers.installed import keeps_requests, models_asked
from behavesim.proposers.prices import Prices
from behavesim.settings import recorded
from behavesim.state import RunState

State = Literal["running", "finished", "stopped", "failed"]
"""finished: its budget is spent; stopped: a cap or a person ended it."""

TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")
"""Of tokens; cached ones are among those of prompts, reasoning among those of completions."""


@dataclass(frozen=True)
class RecommendedProgram(Scored):
    """The program chosen on validation instances, and its score there."""

    validation_score: float


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


def summary(run: Run) -> Summary:
    """The summary of a run as it stands."""
    state, settings, best, stands = run.state, run.settings, run.best, state_of(run)
    price = Prices.named(in_force(run).prices).cost
    spending = Spending.of(state.tokens, price)
    return Summary(
        run=run.folder.run,
        state=stands,
        stopped_by="killed" if stands == "failed" and state.stopped is None else state.stopped,
        task=settings.task,
        method=settings.method,
        proposer=settings.proposer,
        seed=settings.seed,
        asked=state.asked,
        feasible=state.feasible,
        rejected=dict(sorted(state.rejected.items())),
        template=None if run.template is None else scored(run, run.template),
        best=None if best is None else scored(run, best),
        gain=state.gain,
        recommended=_recommended(run),
        top10_gap=_top_gap(run),
        tokens=tokens(state),
        cost_usd=spent(state.tokens, price),
        estimated=spending if spending.estimated else None,
        unanswered=state.unanswered + given_up(run),
        isolation=state.isolation,
        seconds=round(run.active_s, 3),
        digest=state.digest(),
    )


def state_of(run: Run) -> State:
    """Whether a run goes on, and how it ended where it does not."""
    match run.state.stopped:
        case None:
            return "running" if run.folder.is_running() else "failed"
        case "budget":
            return "finished"
        case "failed":
            return "failed"
        case _:
            return "stopped"


def given_up(run: Run) -> int:
    """How many requests were under way when a run ended that is not going on; at most, where nobody counted them."""
    asks = bool(models_asked(run.settings)) or any(used.calls for used in run.state.tokens.values())
    is_lost = asks and state_of(run) != "running" and not keeps_requests(run.settings)
    if not is_lost:
        return 0
    return min(run.state.waiting, run.settings.connections) if run.state.under_way is None else run.state.under_way


def tokens(state: RunState) -> dict[str, int | None]:
    """Tokens of all requests by kind; None where there were requests and no answer said what it took."""
    used = state.tokens.values()
    calls, unreported = sum(each.calls for each in used), sum(each.unreported for each in used)
    is_unknown = calls > 0 and unreported == calls
    return {kind: None if is_unknown else sum(getattr(each, kind) for each in used) for kind in TOKEN_KINDS}


def in_force(run: Run) -> Settings:
    """The settings of the last session, where the folder has them: prices may have been named since the run began."""
    return recorded(run.folder.read_settings()) if run.folder.settings.is_file() else run.settings


def _recommended(run: Run) -> RecommendedProgram | None:
    event, chosen = run.state.recommended, run.recommended
    if event is None or chosen is None:
        return None
    best, validation = scored(run, chosen), event.validation[chosen.candidate]
    assert validation is not None, "what failed on validation instances is not recommended"
    return RecommendedProgram(best.candidate, best.score, best.gap, validation)


def _top_gap(run: Run) -> float | None:
    """The mean gap of the ten best distinct programs, of fewer where there are fewer; None where gaps are unknown."""
    return mean_of_all([run.gap(candidate.score) for candidate in run.ranked()[:TOP]])
