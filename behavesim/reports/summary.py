"""Lay out the summary of a run as a table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from behavesim.analysis.scored import Scored
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import SCORE, Table
from behavesim.base.text import dollars, number
from behavesim.reports.facts import facts_table
from behavesim.reports.program import beside_template, worth
from behavesim.reports.words import clock, frequency, percent, rejections, state_in_words, task_name

if TYPE_CHECKING:
    from behavesim.analysis.metric import Metric  # which needs all of a report, and a run needs none of it

MINUTE_S = 60


def summary_table(summary: Summary, metrics: Mapping[Metric, float | None] = MappingProxyType({})) -> Table:
    """Return the summary of a run as a table of facts.

    `metrics` are further metrics to show, with their values in the metric's own unit; None is shown as "unknown".
    """
    rows = {
        "state": state_in_words(summary),
        "method": f"{summary.method} on {task_name(summary.task)}, seed {summary.seed}",
        "proposer": summary.proposer,
        "candidates": _candidates(summary),
        "rejected": rejections(summary.rejected) or "none",
        **_beside_template(summary),
        "best": _program(summary.best),
        "recommended": _recommended(summary),
        **({} if summary.top10_gap is None else {"top-10 gap": percent(summary.top10_gap)}),
        **{metric.title: _with_unit(metric, value) for metric, value in metrics.items()},
        "tokens": _tokens(summary),
        "cost": dollars(summary.cost_usd),
        **_uncertain(summary),
        "isolation": summary.isolation,
        "time": _time(summary),
        "digest": summary.digest[:16],
    }
    return facts_table("summary", f"run {summary.run}", rows)


def _candidates(summary: Summary) -> str:
    known = f"{summary.asked} asked, {summary.feasible} feasible, {summary.rejections} rejected"
    return f"{known}, {summary.open} open" if summary.open > 0 else known


def _beside_template(summary: Summary) -> dict[str, str]:
    template, best, gain = summary.template, summary.best, summary.gain
    if template is None:
        return {}
    if best is None or gain is None:
        return {"template": _program(template).removesuffix(" (the template)")}
    return {"progress": beside_template(template.score, best.score, gain)}


def _program(program: Scored | None) -> str:
    if program is None:
        return "none yet"
    return worth(program.candidate, program.score, program.gap)


def _recommended(summary: Summary) -> str:
    program = summary.recommended
    if program is None:
        return _program(None)
    gained = "" if program.gain is None else f", gain on the template {percent(program.gain)}"
    return f"{_program(program)}, on validation instances {SCORE.text(program.validation_score)}{gained}"


def _with_unit(metric: Metric, value: float | None) -> str:
    return "unknown" if value is None else f"{metric.unit.text(value)} {metric.unit.symbol}".strip()


def _time(summary: Summary) -> str:
    seconds = summary.seconds
    known = f"{seconds:.1f} s" if seconds < MINUTE_S else clock(seconds)
    return f"{known}, {frequency(summary.asked / seconds)}" if seconds > 0 and summary.asked else known


def _uncertain(summary: Summary) -> dict[str, str]:
    """Return lines on estimated and on unanswered requests, whose cost is not known exactly; none if there are none."""
    rows, about = {}, summary.estimated
    if about is not None:
        tokens = f"{about.prompt:,} prompt, {about.completion:,} completion"
        rows["estimated"] = (
            f"about {dollars(about.cost_usd)}: {tokens}; {about.estimated} of {about.calls} replies did not say what "
            "they took, and are estimated from the text"
        )
    if summary.unanswered:
        rows["unanswered"] = f"{number(summary.unanswered, 'request')} sent and given up, and perhaps billed"
    return rows


def _tokens(summary: Summary) -> str:
    return ", ".join(
        f"{kind} {'unknown' if count is None else format(count, ',')}" for kind, count in summary.tokens.items()
    )
