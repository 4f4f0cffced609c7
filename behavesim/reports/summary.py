"""The summary of a run in words, laid out as a table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from behavesim.analysis.scored import Scored
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import FRACTION, SCORE, Column, Table
from behavesim.base.text import number
from behavesim.reports.runs import task_name
from behavesim.state.events import TEMPLATE

if TYPE_CHECKING:
    from behavesim.analysis.metric import Metric  # which needs all of a report, and a run needs none of it

MINUTE_S = 60
ENDED: Mapping[str, str] = {
    "max_cost": "cost cap reached",
    "max_tokens": "token cap reached",
    "max_calls": "request cap reached",
    "max_time": "time is up",
    "max_rejected_share": "too many candidates rejected",
    "unknown_price": "a price is unknown",
}
"""What ended a run before its budget was spent, in words."""
REJECTED: Mapping[str, str] = {
    "crash": "killed by a signal",
    "empty": "without text",
    "exception": "crashed",
    "exit": "ended their process",
    "forbidden": "stopped by the sandbox",
    "given-up": "given up by the endpoint",
    "incomparable": "not comparable",
    "invalid-solution": "with invalid solutions",
    "keeps-state": "kept state",
    "memory": "out of memory",
    "no-function": "without the function",
    "non-finite": "without a finite score",
    "output": "with unreadable solutions",
    "refusal": "declined by the model",
    "signature": "with other parameters",
    "syntax": "with syntax errors",
    "timeout": "timed out",
    "too-long": "too long",
    "too-complex": "too complex",
    "truncated": "cut off",
}
"""What became of rejected candidates, in words that may follow a number."""


def percent(fraction: float | None) -> str:
    """A gap as people read it in a sentence."""
    return "unknown" if fraction is None else f"{FRACTION.text(fraction)} %"


def dollars(cost_usd: float | None) -> str:
    """A cost as people read it."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.2f}" if cost_usd == 0 or cost_usd >= 1 else f"${cost_usd:.4f}"


def clock(seconds: float | None) -> str:
    """A duration as people read it, such as 2:05 or 1:00:00; a question mark where it is unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def frequency(a_second: float) -> str:
    """How often something happens, by the unit of time in which it happens at least once; by the hour where in none."""
    if a_second >= 1:
        return f"{a_second:.1f}/s"
    return f"{60 * a_second:.1f}/min" if a_second >= 1 / 60 else f"{3600 * a_second:.1f}/h"


def named(candidate: int) -> str:
    """What a person calls a program."""
    return "the template" if candidate == TEMPLATE else f"candidate {candidate}"


def worth(candidate: int, score: float, gap: float | None) -> str:
    """What a program is worth in a line: its score, its gap where that is known, and which one it is."""
    return f"{SCORE.text(score)}{'' if gap is None else f', gap {percent(gap)}'} ({named(candidate)})"


def rejections(reasons: Mapping[str, int]) -> str:
    """How many candidates were rejected for each reason, as people read it in a sentence."""
    return ", ".join(f"{count:,} {REJECTED.get(reason, reason)}" for reason, count in reasons.items())


def beside_template(template: float, best: float, gain: float) -> str:
    """How the best score stands to the template's; `gain` is how much better it is, negative where it is worse."""
    much = f"{100 * abs(gain / template):.1f} %" if template else SCORE.text(abs(gain))
    said = f"template {SCORE.text(template)} → best {SCORE.text(best)}"
    if gain > 0:
        return f"{said}, {much} better"
    worse = f", {much} worse" if gain < 0 else ""
    return f"{said}{worse}: nothing has beaten the template yet"


def summary_table(summary: Summary, metrics: Mapping[Metric, float | None] = MappingProxyType({})) -> Table:
    """What there is to say of a run, line by line; `metrics` are those to be shown, with their values."""
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
    columns = (Column("what", title=""), Column("value", title=""))
    return Table("summary", f"run {summary.run}", columns, tuple(rows.items()))


def state_in_words(summary: Summary) -> str:
    """Return the state of a run with what ended it before its budget was spent, such as "stopped: time is up"."""
    why = ENDED.get(summary.stopped_by or "", summary.stopped_by)
    return f"{summary.state}: {why}" if why and summary.state != "finished" else summary.state


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
    """What is not known of the costs, and how much it may be."""
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
