"""The summary of a loaded run: its state, its results and what it has spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import mean_of_all
from behavesim.analysis.summary import KILLED, TOKEN_KINDS, TOP, RecommendedProgram, State, Summary
from behavesim.base.config import Settings
from behavesim.base.tokens import Price, Spending, Tokens
from behavesim.proposers.prices import Prices
from behavesim.proposers.proposer import keeps_requests, models_asked
from behavesim.state.events import TEMPLATE
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState

if TYPE_CHECKING:
    from behavesim.analysis.run import Run

# A run's state by the reason for which it ended; for every other reason, such as a cap, it is "stopped".
ENDED: Mapping[str, State] = {"budget": "finished", "failed": "failed"}


def summary(run: Run) -> Summary:
    """Return the summary of a run as far as it has been read.

    Raises UsageError if the settings in the run's folder, which name prices, cannot be read or are invalid.
    """
    state, settings, best, how_it_ended = run.state, run.settings, run.best, state_of(run)
    price = Prices.named(in_force(run).prices).cost
    spending, unanswered = Spending.of(state.tally.tokens, price), state.tally.unanswered + given_up(run)
    return Summary(
        run=run.folder.run,
        state=how_it_ended,
        stopped_by=KILLED if how_it_ended == "stopped" and state.stopped is None else state.stopped,
        task=settings.task,
        method=settings.method,
        proposer=settings.proposer,
        seed=settings.seed,
        asked=state.asked,
        feasible=state.tally.feasible,
        rejected=dict(sorted(state.tally.rejected.items())),
        template=None if run.template is None else run.scored(run.template),
        best=None if best is None else run.scored(best),
        gain=state.gain,
        recommended=_recommended(run),
        top10_gap=mean_of_all([run.gap(candidate.score) for candidate in run.ranked()[:TOP]]),
        tokens=_tokens(state),
        cost_usd=_reported_cost(state.tally.tokens, price, unanswered),
        estimated=spending if spending.estimated else None,
        unanswered=unanswered,
        isolation=state.isolation,
        score_source=run.score_source,
        behaviour=run.behaviour,
        seconds=round(run.active_s, 3),
        digest=state.digest(),
        failure=state.failure or None,
        unit=state.objective.unit,
        advice=state.advice,
    )


def state_of(run: Run) -> State:
    """Return how the run ended: "finished" (budget spent), "failed", or "stopped" for any other recorded reason.

    If it recorded no end, it is "running" if a process held its folder just before the journal was read. Otherwise it
    is "stopped": its process was killed.
    """
    if run.state.stopped is None:
        return "running" if run.is_held else "stopped"  # its process was killed; nothing in it failed
    return ENDED.get(run.state.stopped, "stopped")


def given_up(run: Run) -> int:
    """Return the number of requests that were under way when the run ended and may have been billed.

    It is 0 for a running run, if no model was asked, or if the proposer keeps its requests, as batches are. A killed
    run could not count them: then it is an upper bound, at most the number of connections.
    """
    # A proposer of one's own may ask models that no setting names: then earlier answers show it.
    asks = bool(models_asked(run.settings)) or any(used.calls for used in run.state.tally.tokens.values())
    is_lost = asks and state_of(run) != "running" and not keeps_requests(run.settings)
    if not is_lost:
        return 0
    return min(run.state.waiting, run.settings.connections) if run.state.under_way is None else run.state.under_way


def _tokens(state: RunState) -> dict[str, int | None]:
    """Return the sum of the tokens of all answered requests for each of TOKEN_KINDS."""
    # An answer that did not report its tokens counts as 0. If no answer reported them, all are None; if there was no
    # answer, all are 0.
    used = state.tally.tokens.values()
    calls, unreported = sum(each.calls for each in used), sum(each.unreported for each in used)
    is_unknown = calls > 0 and unreported == calls
    return {kind: None if is_unknown else sum(getattr(each, kind) for each in used) for kind in TOKEN_KINDS}


def in_force(run: Run) -> Settings:
    """Return the settings of the last session, which may name other prices, or the journal's if the folder has none.

    Raises UsageError if they cannot be read or are invalid.
    """
    # Written by this program, as a journal's settings are: so they are read by the same rules.
    return settings_from_journal(run.folder.read_settings()) if run.folder.settings.is_file() else run.settings


def _recommended(run: Run) -> RecommendedProgram | None:
    event, chosen, registered = run.state.recommended, run.recommended, run.state.recommended_of
    if event is None or chosen is None or registered is None:
        return None
    validation = event.validation[chosen.candidate]
    assert validation is not None, "what failed on validation instances is not recommended"
    # Without the template's worth, worths are mean scores and no gains (`recommendation.worths`).
    gained = event.worth.get(chosen.candidate) if TEMPLATE in event.worth else None
    return RecommendedProgram(*run.scored(chosen).cells, validation, gained, registered)


def _reported_cost(tokens: Mapping[str, Tokens], price: Price, unanswered: int) -> float | None:
    """Return the cost of all requests in USD, without the tokens that an endpoint did not report."""
    # None if a price is unknown, if an endpoint reported the tokens of no request to a model, or if all requests are
    # `unanswered`, as these may have been billed.
    if unanswered and not any(used.calls for used in tokens.values()):
        return None
    total = 0.0
    for model, used in tokens.items():
        cost = price(model, used) if used.calls else 0.0  # proposers without requests, such as genetic, have no price
        if cost is None or (used.calls and used.unreported == used.calls):
            return None
        total += cost
    return total
