"""What ended a run before its budget was spent: in a few words for tables, and in a sentence with the way to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.analysis.summary import Summary
from behavesim.base.text import duration, one_line
from behavesim.proposers.prices import Prices, as_setting
from behavesim.reports.words import dollars, rejections

if TYPE_CHECKING:
    from behavesim.analysis.candidates import Candidate
    from behavesim.analysis.run import Run
    from behavesim.base.config import Settings

USUAL = 3
"""Number of reasons for rejection that a sentence names: the most frequent ones."""


@dataclass(frozen=True)
class Stop:
    """How people read one reason for which a run stopped."""

    words: str
    """For a table, such as "time is up"."""
    sentence: Callable[[Run, Settings, str], str]
    """For the person who started the run: from the run, the settings in force and the command that resumes it."""


def state_in_words(summary: Summary) -> str:
    """Return the state of a run with what ended it before its budget was spent, such as "stopped: time is up"."""
    reason = summary.stopped_by or ""
    why = STOPS[reason].words if reason in STOPS else reason
    return f"{summary.state}: {why}" if why and summary.state != "finished" else summary.state


def usual_reasons(rejected: Sequence[Candidate]) -> str:
    """Return the most frequent reasons of rejected candidates in brackets, such as "(3 out of memory, 1 timed out)"."""
    return f"({rejections(dict(Counter(each.reason or '' for each in rejected).most_common(USUAL)))})"


def lately_rejected(run: Run) -> list[Candidate]:
    """Return the rejected ones of the last candidates registered, on which the cap on rejections decides."""
    last = len(run.state.tally.recent)
    return [each for each in run.candidates[: run.state.registered][-last:] if each.status == "rejected"]


def _max_cost(run: Run, settings: Settings, resume: str) -> str:
    return f"the cap of {dollars(settings.max_cost_usd)} on cost is reached; raise it with {resume} --max-cost USD"


def _max_tokens(run: Run, settings: Settings, resume: str) -> str:
    return f"the cap of {settings.max_tokens:,} tokens is reached; raise it with {resume} --max-tokens N"


def _max_calls(run: Run, settings: Settings, resume: str) -> str:
    return f"the cap of {settings.max_calls:,} requests is reached; raise it with {resume} --set max_calls=N"


def _max_time(run: Run, settings: Settings, resume: str) -> str:
    return f"its time of {duration(settings.max_time_s or 0)} is up; give it more with {resume} --max-time TIME"


def _max_rejected_share(run: Run, settings: Settings, resume: str) -> str:
    rejected = lately_rejected(run)
    last = len(run.state.tally.recent)
    return f"{len(rejected)} of the last {last} candidates were rejected {usual_reasons(rejected)}"


def _unknown_price(run: Run, settings: Settings, resume: str) -> str:
    prices = Prices.named(settings.prices)
    unknown = [model for model, used in run.state.tally.tokens.items() if prices.cost(model, used) is None]
    named = as_setting(unknown[0]) if unknown else "`prices`"
    models = ", ".join(one_line(model, 100) for model in unknown)
    return f"the price of {models} is unknown, so the cap on cost cannot hold; name it with {resume} {one_line(named)}"


STOPS: Mapping[str, Stop] = {
    "max_cost": Stop("cost cap reached", _max_cost),
    "max_tokens": Stop("token cap reached", _max_tokens),
    "max_calls": Stop("request cap reached", _max_calls),
    "max_time": Stop("time is up", _max_time),
    "max_rejected_share": Stop("too many candidates rejected", _max_rejected_share),
    "unknown_price": Stop("a price is unknown", _unknown_price),
}
"""Each reason for which a cap stops a run, by its name in the journal. A new cap needs an entry here."""
