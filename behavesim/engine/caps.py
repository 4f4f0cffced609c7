"""What ends a run beside its budget: one list of caps on calls, tokens, money, time and rejections."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from behavesim.base.text import dollars, duration, one_line
from behavesim.base.tokens import Price, Spending
from behavesim.proposers.prices import Prices, as_setting

if TYPE_CHECKING:
    from behavesim.base.config import Settings
    from behavesim.base.heartbeat import Heartbeat
    from behavesim.state.state import RunState
    from behavesim.store.reading import Activity


# The type of a cap, and what a run has used when its caps are checked.


@dataclass(frozen=True)
class Consumption:
    """What a run has used so far, over all its sessions, and what one more request may add."""

    state: RunState
    price: Price
    # Seconds that the run has been active, without pauses between sessions.
    active_s: float
    # Number of open questions that a resumed run has not sent again yet.
    unasked: int

    @cached_property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far, with estimates where an endpoint did not count."""
        return Spending.of(self.state.tally.tokens, self.price)

    def with_another(self, amount: Callable[[Spending], float], first: float | None = None) -> float:
        """Return what `amount` takes from the spending, such as its tokens, as it may be after one more request.

        Requests without a reply, with the retries that they may need, count as the largest reply so far. Before the
        first reply each counts as `first`; if that is None, a single request adds nothing, and the result is infinite
        if there are several.
        """
        tally, sent = self.state.tally, self.state.waiting - self.unasked + 1
        unanswered = tally.unanswered + sent * (1 + tally.most_unanswered)
        if first is None:
            first = math.inf if sent > 1 else 0.0  # so the first request goes alone, and the next ones know its size
        replies = (Spending.of({model: largest}, self.price) for model, largest in tally.largest.items())
        return amount(self.spending) + unanswered * max(map(amount, replies), default=first)


@dataclass(frozen=True)
class Cap:
    """One limit of a run beside its budget: what it limits, and what people read when it has ended the run."""

    # Name in the journal, as the reason for which the run stopped.
    name: str
    # Function that returns the limit that the settings set; None if they set none.
    limit: Callable[[Settings], float | None]
    # Function of what was used and of the number that `limit` returned: whether the limit is reached. If it is, no
    # further request is sent or, if `ends_run` is set, the run ends.
    is_reached: Callable[[Consumption, float], bool]
    # What ended the run, in a few words for a table, such as "time is up".
    words: str
    # Function that says what ended the run, from its state, the settings in force and the command that resumes it. For
    # a cap on rejections, `reports.next_steps.ending` adds the usual reasons and an example.
    sentence: Callable[[RunState, Settings, str], str]
    # Whether the run ends at once and gives up what is under way. If not, requests under way are waited for.
    ends_run: bool = False
    # Whether the events alone say when the cap is reached, as for rejections, and not the clock or a price that may be
    # named later. If not, `verify` accepts a run that ended earlier than its events would have it.
    follows_events: bool = False


# Fewest registered candidates from which `rejected_share` is computed; a few rejections among fewer say little.
ENOUGH = 50


def rejected_share(state: RunState) -> float:
    """Return the share of rejected candidates among the last 100 registered, 0 to 1; 0 for fewer than ENOUGH."""
    recent = state.tally.recent
    return recent.count(False) / len(recent) if len(recent) >= ENOUGH else 0.0


def candidates_since_best(state: RunState) -> int:
    """Return how many candidates were registered since the last one that was better than all before it."""
    last = state.bests[-1][0] if state.bests else -1
    return state.registered - (last + 1)


def _is_within_gap(state: RunState, most: float) -> bool:
    gap = None if state.best is None else state.objective.gap(state.best.score)
    return gap is not None and gap <= most


def _of(limit: int | None, unit: str) -> str:
    """Return text such as " of 3,000 requests"; " on requests" if `limit` is None."""
    return f" on {unit}" if limit is None else f" of {limit:,} {unit}"


def _too_many_rejected(state: RunState, settings: Settings, resume: str) -> str:
    recent = state.tally.recent
    return f"{recent.count(False)} of the last {len(recent)} candidates were rejected"


def _no_price(state: RunState, settings: Settings, resume: str) -> str:
    prices = Prices.named(settings.prices)
    unknown = [model for model, used in state.tally.tokens.items() if prices.cost(model, used) is None]
    named = as_setting(unknown[0]) if unknown else "`prices`"
    models = ", ".join(one_line(model, 100) for model in unknown)
    return f"the price of {models} is unknown, so the cap on cost cannot hold; name it with {resume} {one_line(named)}"


TIME = Cap(
    "max_time",
    limit=lambda settings: settings.max_time_s,
    is_reached=lambda use, most: use.active_s >= most,
    words="time is up",
    sentence=lambda state, settings, resume: (
        f"its time{'' if settings.max_time_s is None else f' of {duration(settings.max_time_s)}'} is up; "
        f"give it more with {resume} --max-time TIME"
    ),
    ends_run=True,
)

# All caps, in the order in which they are checked; those that end a run at once come first.
CAPS = (
    TIME,
    Cap(
        "max_rejected_share",
        limit=lambda settings: settings.max_rejected_share,
        is_reached=lambda use, most: rejected_share(use.state) > most,
        words="too many candidates rejected",
        sentence=_too_many_rejected,
        ends_run=True,
        follows_events=True,
    ),
    Cap(
        "unknown_price",
        limit=lambda settings: settings.max_cost_usd,
        is_reached=lambda use, most: use.spending.cost_usd is None,
        words="a price is unknown",
        sentence=_no_price,
        ends_run=True,
    ),
    Cap(
        "max_calls",
        limit=lambda settings: settings.max_calls,
        is_reached=lambda use, most: use.with_another(lambda spending: spending.calls, first=1.0) > most,
        words="request cap reached",
        sentence=lambda state, settings, resume: (
            f"the cap{_of(settings.max_calls, 'requests')} is reached; raise it with {resume} --set max_calls=N"
        ),
    ),
    Cap(
        "max_tokens",
        limit=lambda settings: settings.max_tokens,
        is_reached=lambda use, most: use.with_another(lambda spent: spent.prompt + spent.completion) > most,
        words="token cap reached",
        sentence=lambda state, settings, resume: (
            f"the cap{_of(settings.max_tokens, 'tokens')} is reached; raise it with {resume} --max-tokens N"
        ),
    ),
    Cap(
        "max_cost",
        limit=lambda settings: settings.max_cost_usd,
        is_reached=lambda use, most: use.with_another(lambda spending: spending.cost_usd or 0.0) > most,
        words="cost cap reached",
        sentence=lambda state, settings, resume: (
            f"the cap{'' if settings.max_cost_usd is None else f' of {dollars(settings.max_cost_usd)}'} on cost is "
            f"reached; raise it with {resume} --max-cost USD"
        ),
    ),
    # The last two wait for requests under way, which are paid for. If one of them brings a better program, a run that
    # was stuck goes on.
    Cap(
        "until_stuck",
        limit=lambda settings: settings.until_stuck,
        is_reached=lambda use, most: candidates_since_best(use.state) >= most,
        words="no better program",
        sentence=lambda state, settings, resume: (
            f"the last {candidates_since_best(state):,} candidates brought no better program; "
            f"go on with {resume} --set until_stuck=N"
        ),
    ),
    Cap(
        "until_gap",
        limit=lambda settings: settings.until_gap,
        is_reached=lambda use, most: _is_within_gap(use.state, most),
        words="gap reached",
        sentence=lambda state, settings, resume: (
            f"the best program is close enough to the best known score; go on with {resume} --set until_gap=FRACTION"
        ),
    ),
)

# The caps by their names in the journal.
BY_NAME: Mapping[str, Cap] = {cap.name: cap for cap in CAPS}


@dataclass(frozen=True)
class Caps:
    """The budget and the caps of a run; each holds over all its sessions.

    Tokens that an endpoint did not count are estimated from the text. A request that is under way or was given up
    unanswered counts as the largest so far. So only a reply larger than all before it can overrun a cap.
    """

    budget: int
    price: Price
    clock: Heartbeat
    # The caps that are set, in the order of CAPS, with their limits.
    limits: Mapping[Cap, float] = field(default_factory=dict)
    # The active time of earlier sessions, which counts towards a cap on time; None for a new run. It is complete once
    # the events of these sessions are read.
    before: Activity | None = None
    # What `clock` said when this session began, in seconds.
    since: float = 0.0

    @classmethod
    def of(cls, settings: Settings, price: Price, clock: Heartbeat, before: Activity | None = None) -> Caps:
        """Return the caps of a session that begins now.

        `before` is the active time of earlier sessions; None for a new run.
        """
        limits = {cap: limit for cap in CAPS if (limit := cap.limit(settings)) is not None}
        return cls(settings.budget, price, clock, limits, before, since=clock())

    @property
    def limits_requests(self) -> bool:
        """Whether there is a cap on requests, tokens or cost."""
        return any(not cap.ends_run for cap in self.limits)

    def forbids_candidate(self, state: RunState, unasked: int) -> str | None:
        """Return the name of the limit that forbids another request for a candidate, "budget" or a cap's; else None.

        `unasked` is the number of open questions that a resumed run has not sent again yet. The budget counts them
        already, so it forbids nothing while there are any: they may be sent, unless a cap forbids it.
        """
        return "budget" if state.questions >= self.budget and not unasked else self.forbids_request(state, unasked)

    def forbids_request(self, state: RunState, unasked: int = 0) -> str | None:
        """Return the name of the first cap that one more request could overrun, or that ends the run; or None.

        `unasked` is the number of open questions that a resumed run has not sent again yet.
        """
        use = self._use(state, unasked)
        return next((cap.name for cap, most in self.limits.items() if cap.is_reached(use, most)), None)

    def ends_run(self, state: RunState) -> str | None:
        """Return the name of the cap that ends the run now, by which requests under way are given up; None if none."""
        use = self._use(state)
        ending = ((cap, most) for cap, most in self.limits.items() if cap.ends_run)
        return next((cap.name for cap, most in ending if cap.is_reached(use, most)), None)

    def spending(self, state: RunState) -> Spending:
        """Return the requests, tokens and cost of the run so far."""
        return self._use(state).spending

    def active_s(self) -> float:
        """Return the seconds that the run has been active, without pauses between sessions."""
        before_s = 0.0 if self.before is None else self.before.seconds
        return before_s + self.clock() - self.since

    def left_s(self) -> float:
        """Return the seconds until the run's time is up, negative after that; infinity without a limit."""
        return self.limits.get(TIME, math.inf) - self.active_s()

    def _use(self, state: RunState, unasked: int = 0) -> Consumption:
        return Consumption(state, self.price, self.active_s(), unasked)


def is_capped(settings: Settings) -> bool:
    """Whether the settings set a cap for which the events alone do not say when it is reached."""
    return any(not cap.follows_events and cap.limit(settings) is not None for cap in CAPS)
