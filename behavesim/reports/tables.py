"""Lay out the summary of one run, or of each run of a list, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from behavesim.analysis.summary import Summary
from behavesim.analysis.table import (
    COUNT,
    FRACTION,
    SCORE,
    TOP,
    Column,
    Scored,
    Table,
    facts_table,
)
from behavesim.base.text import count_noun, dollars, short_name, shorten
from behavesim.base.tokens import Spending
from behavesim.reports.words import (
    SCORES,
    certainty,
    certificate_text,
    clock,
    frequency,
    noise_text,
    percent,
    progress,
    rejections,
    score_source_row,
    state_in_words,
    worth,
)

if TYPE_CHECKING:
    from behavesim.analysis.behaviours import DistinctCounts
    from behavesim.analysis.metrics import Metric

# Seconds from which a run's time is shown as minutes:seconds; a shorter time is shown as "12.3 s".
MINUTE_S = 60

# Most characters of a run's state and of its last note in a list, where a long text would take all the room.
LONGEST_STATE, LONGEST_LISTED_NOTE = 32, 40


def runs_table(summaries: Sequence[Summary]) -> Table:
    """Return a table with a row for each run, in order: the best program's score and gap, None without one.

    A score of the template, which no candidate has beaten, is followed by "(template)". The last column has the latest
    note on each run, if there is one on any.
    """
    columns = (
        *(Column("run", is_whole=True), Column("state"), Column("task"), Column("method")),
        *(Column("seed", COUNT), Column("asked", COUNT), Column("best", SCORE), Column("gap", FRACTION)),
    )
    is_mixed = any(each.score_source != "trusted" for each in summaries)
    is_noted = any(each.notes for each in summaries)
    rows = []
    for each in summaries:
        names = each.run, shorten(state_in_words(each), LONGEST_STATE), short_name(each.task), short_name(each.method)
        note = shorten(each.notes[-1], LONGEST_LISTED_NOTE) if each.notes else None
        more = (*([each.score_source] if is_mixed else []), *([note] if is_noted else []))
        rows.append((*names, each.seed, each.asked, *_best_score_and_gap(each), *more))
    more_columns = (*([Column("scores")] if is_mixed else []), *([Column("note")] if is_noted else []))
    return Table("runs", "", (*columns, *more_columns), tuple(rows))


def summary_table(summary: Summary, metrics: Mapping[Metric, float | None] = MappingProxyType({})) -> Table:
    """Return the summary of a run as a table of facts, with the values of further `metrics`; None is "unknown"."""
    which = "of the ten best programs" if summary.feasible >= TOP else "of all programs"
    top10 = None if summary.top10_gap is None else f"{percent(summary.top10_gap)}, the mean {which}"
    facts = {
        "state": state_in_words(summary),
        "method": _method(summary),
        "proposer": summary.proposer,
        "candidates": _candidates(summary),
        "rejected": rejections(summary.rejected) or None,
        "tuned": _tuned(summary),
        **_progress_facts(summary),
        # while no candidate is better than the template, "best" is the template
        "best": _program(summary.best_program),
        "best candidate": None if summary.beats_template else _program(summary.best),
        "recommended": _recommended_text(summary),
        "top-10 gap": top10,
        "chance": noise_text(summary.noise),
        **_metrics(metrics),
        **_cost_facts(summary),
        "advice": _advice(summary),
        "notes": "\n".join(summary.notes) or None,
        "scores": SCORES[summary.score_source],
        **_doubted_facts(summary),
        "behaviour": _behaviour(summary),
        "isolation": summary.isolation,
        "time": _time(summary),
        "digest": summary.digest[:16],  # enough to compare by eye; --json has all of it
    }
    return facts_table("summary", f"run {summary.run}", facts)


def headline_table(
    summary: Summary, distinct: DistinctCounts, metrics: Mapping[Metric, float | None] = MappingProxyType({})
) -> Table:
    """Return the few facts of a run with which its report begins; `metrics` as for `summary_table`."""
    different = f"{count_noun(distinct.programs, 'program')}, {count_noun(distinct.behaviours, 'behaviour')}"
    facts = {
        "state": state_in_words(summary),
        "method": f"{_method(summary)}, proposer {summary.proposer}",
        "candidates": f"{_candidates(summary)}; took {_time(summary)}",
        "rejected": rejections(summary.rejected) or None,
        "different": different if distinct.feasible else None,
        "tuned": _tuned(summary),
        **_progress_facts(summary),
        "best": "none yet" if summary.best is None else None,
        "certificate": certificate_text(summary),
        "chance": noise_text(summary.noise),
        **_metrics(metrics),
        **_cost_facts(summary),
        "advice": _advice(summary),
        "notes": "\n".join(summary.notes) or None,
        **score_source_row(summary.score_source),
        **_doubted_facts(summary),
        "behaviour": _behaviour(summary),
    }
    return facts_table("summary", f"run {summary.run}", facts)


def _method(summary: Summary) -> str:
    return f"{short_name(summary.method)} on {short_name(summary.task)}, seed {summary.seed}"


def _metrics(metrics: Mapping[Metric, float | None]) -> dict[str, str]:
    return {
        metric.title: "unknown" if value is None else f"{metric.unit.text(value)} {metric.unit.symbol}".strip()
        for metric, value in metrics.items()
    }


def _cost_facts(summary: Summary) -> dict[str, str | None]:
    # "estimated" and "unanswered" are requests whose cost is not known exactly.
    used = {kind: count for kind, count in summary.tokens.items() if count != 0}
    if not used and not summary.cost_usd and summary.cost_usd is not None and not summary.unanswered:
        return {}
    tokens = ", ".join(f"{kind} {count:,}" for kind, count in used.items() if count is not None) or "unknown"
    unanswered = f"{count_noun(summary.unanswered, 'request')} sent and given up, and perhaps billed"
    return {
        "tokens": tokens if used else None,
        "cost": dollars(summary.cost_usd),
        "estimated": None if summary.estimated is None else _estimate_text(summary.estimated),
        "unanswered": unanswered if summary.unanswered else None,
    }


def _estimate_text(spending: Spending) -> str:
    cost = "" if spending.cost_usd is None else f"about {dollars(spending.cost_usd)}: "
    return (
        f"{cost}{spending.prompt:,} prompt, {spending.completion:,} completion; {spending.estimated} of "
        f"{spending.calls} replies did not say what they took, and are estimated from the text"
    )


def _doubted_facts(summary: Summary) -> dict[str, str]:
    if not summary.doubted:
        return {}
    from behavesim.evaluators.doubt import LEAP, SPLIT  # a slow import, which few runs need

    named = ", ".join(map(str, summary.doubted[:5])) + (" …" if len(summary.doubted) > 5 else "")
    is_best = summary.best is not None and summary.best.candidate in summary.doubted
    best = "; the best is one of them" if is_best else ""
    count = count_noun(len(summary.doubted), "program")
    return {"doubtful": f"{count} ({named}) over {100 * LEAP:g} % better than best_known{best}; {SPLIT}"}


def _advice(summary: Summary) -> str | None:
    """Return what a person advised the model, the latest first; None if nobody did."""
    return "; ".join(each.words for each in reversed(summary.advice)) or None


def _behaviour(summary: Summary) -> str | None:
    """Return what an evaluator's programs are compared by; None for a task's own trajectories."""
    from behavesim.evaluators.tracing import in_words  # a slow import, which a list of runs does not need

    return in_words(summary.behaviour) or None


def _candidates(summary: Summary) -> str:
    tuned = 0 if summary.tuning is None else summary.tuning.candidates - summary.tuning.none
    asked = f"{summary.asked} asked{f' and {tuned} tuned' if tuned else ''}"  # else more would be feasible than asked
    known = f"{asked}, {summary.feasible} feasible, {summary.rejections} rejected"
    return f"{known}, {summary.open} open" if summary.open > 0 else known


def _tuned(summary: Summary) -> str | None:
    """Return what tuning brought beside what was written; None if nothing was tuned."""
    found = summary.tuning
    if found is None:
        return None
    programs = f"{found.better} of {count_noun(found.candidates, 'program')} better"
    brought = f"{percent(found.gain)} by tuning, {percent(found.written_gain)} by what was written"
    alone = "; no other instances than those of the trials say that they are better" if found.by_score else ""
    return f"{programs}, in {count_noun(found.trials, 'trial')}; gain on the template: {brought}{alone}"


def _progress_facts(summary: Summary) -> dict[str, str]:
    # Without a best program it is the template's score, under "template"; there is no line without an evaluated
    # template.
    template, best, gain = summary.template, summary.best, summary.gain
    if template is None:
        return {}
    if best is None or gain is None:
        return {"template": _program(template).removesuffix(" (the template)")}
    is_finished = summary.state == "finished"
    return {"progress": progress(template.score, best.score, gain, summary.unit, is_finished, summary.told_apart)}


def _best_score_and_gap(summary: Summary) -> tuple[float | str | None, float | None]:
    program = summary.best_program
    if program is None:
        return None, None
    return program.score if summary.beats_template else f"{SCORE.text(program.score)} (template)", program.gap


def _program(program: Scored | None) -> str:
    if program is None:
        return "none yet"
    return worth(program.candidate, program.score, program.gap, certainty(program.standard_error, program.instances))


def _recommended_text(summary: Summary) -> str | None:
    # Without one it is None, since a task may have no validation instances, which the journal does not say. A run of an
    # evaluator gets a line: most have one data set, and on the instances of others all programs may have failed.
    program = summary.recommended
    if program is None:
        is_evaluators = summary.score_source == "self-reported"
        chosen = (
            "none: no program was chosen on validation instances; evaluators that take an instance's number have some"
        )
        return chosen if is_evaluators else None
    together = "on search and validation instances together"
    # where the two have other signs, as logarithms may, a share of the template's score says nothing
    is_share = summary.template is None or summary.template.score * program.score > 0
    gained = (
        "" if program.gain is None or not is_share else f"; gain on the template {percent(program.gain)} {together}"
    )
    if (certificate := program.certificate) is not None:
        from behavesim.state.race import describe  # imported late: it loads numpy, which a list of runs needs not

        gained = f"; {describe(certificate)}"
    # a run that went on and was interrupted before it chose again
    early = (
        f"; chosen from the first {program.registered:,}"
        if program.registered < summary.feasible + summary.rejections + (summary.tuning.none if summary.tuning else 0)
        else ""
    )
    return f"{_program(program)}, on validation instances {SCORE.text(program.validation_score)}{gained}{early}"


def _time(summary: Summary) -> str:
    # The rate is left out if there is no candidate or no time.
    seconds = summary.seconds
    known = f"{seconds:.1f} s" if seconds < MINUTE_S else clock(seconds)
    return f"{known}, {frequency(summary.asked / seconds)}" if seconds > 0 and summary.asked else known
