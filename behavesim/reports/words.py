"""Numbers, tasks and rejections in the words of every screen and page; kept light, as a list of runs loads it."""

from __future__ import annotations

from collections.abc import Mapping

from behavesim.analysis.summary import KILLED, Noise, Summary
from behavesim.analysis.table import ERROR, FRACTION, SCORE
from behavesim.base.text import ScoreSource, count_noun
from behavesim.engine.caps import BY_NAME

# Words for each reason for rejection that can follow a number, such as "3 timed out".
REJECTED: Mapping[str, str] = {
    "beyond-bound": "with a score beyond the bound",
    "costly-score": "too costly to score",
    "crash": "killed by a signal",
    "empty": "empty replies",
    "edit": "with edits that do not apply",
    "evaluator": "failed in the evaluator",
    "evaluator-error": "with an error that the evaluator states",
    "exception": "raised an exception",
    "exit": "ended their process",
    "forbidden": "stopped by the sandbox",
    "given-up": "unanswered by the endpoint",
    "incomparable": "not comparable",
    "invalid-solution": "with invalid solutions",
    "keeps-state": "kept state",
    "memory": "out of memory",
    "no-function": "without the function",
    "non-finite": "without a finite score",
    "not-told-apart": "no better with other numbers",
    "output": "with unreadable solutions",
    "outside": "changed outside the marked blocks",
    "refusal": "declined by the model",
    "signature": "with other parameters",
    "syntax": "with syntax errors",
    "timeout": "timed out",
    "too-long": "too long",
    "too-complex": "too complex",
    "truncated": "cut off",
}

# Words for each source of scores, on screens and pages.
SCORES: Mapping[ScoreSource, str] = {
    "trusted": "trusted: computed outside the sandbox",
    "self-reported": "self-reported: by an evaluator that programs run beside, and could change",
}


def score_source_row(source: ScoreSource) -> dict[str, str]:
    """Return {"scores": a line on who computed them}; {} for trusted scores."""
    return {} if source == "trusted" else {"scores": SCORES[source]}


def percent(fraction: float | None) -> str:
    """Return a fraction as text in per cent, such as "12.50 %"; "unknown" for None."""
    return "unknown" if fraction is None else f"{FRACTION.text(fraction)} %"


def clock(seconds: float) -> str:
    """Return seconds as minutes:seconds ("2:05"), from an hour on with hours ("1:00:00"); rounded down."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def frequency(a_second: float) -> str:
    """Return a rate, given per second, as text in the first fitting unit: "2.5/s", "3.0/min" or "1.2/h"."""
    if a_second >= 1:
        return f"{a_second:.1f}/s"
    return f"{60 * a_second:.1f}/min" if a_second >= 1 / 60 else f"{3600 * a_second:.1f}/h"


def rejections(reasons: Mapping[str, int]) -> str:
    """Return counts by reason as text, such as "3 out of memory, 1 timed out"; "" without any."""
    return ", ".join(f"{count:,} {REJECTED.get(reason, reason)}" for reason, count in reasons.items())


def state_in_words(summary: Summary) -> str:
    """Return the state of a run, and what ended it unless its budget was spent, such as "stopped: time is up"."""
    if summary.state == "failed":
        return f"failed: {summary.failure}" if summary.failure else "failed"
    reason = summary.stopped_by or ""
    if reason == KILLED:
        return "killed: resume it"
    why = BY_NAME[reason].words if reason in BY_NAME else reason
    return f"{summary.state}: {why}" if why and summary.state != "finished" else summary.state


def program_name(candidate: int) -> str:
    """Return the name of a program for people: "the template" for the number -1, else such as "candidate 7"."""
    from behavesim.state.events import TEMPLATE  # imported late: it loads numpy, and a list of runs names no program

    return "the template" if candidate == TEMPLATE else f"candidate {candidate}"


def worth(candidate: int, score: float, gap: float | None, certain: str = "") -> str:
    """Return a program's score, how certain it is, its gap (a fraction) if known, and its name, as one line."""
    known = "" if gap is None else f", gap {percent(gap)}"
    return f"{SCORE.text(score)}{certain and f' {certain}'}{known} ({program_name(candidate)})"


def certainty(standard_error: float | None, instances: int | None) -> str:
    """Return a score's standard error and its number of instances, such as "± 0.012 (65)"; "" if unknown."""
    return "" if standard_error is None else f"± {ERROR.text(standard_error)} ({instances})"


def certificate_text(summary: Summary) -> str | None:
    """Return what a race on fresh instances says of the recommended program, as a line; None without one."""
    certificate = None if summary.recommended is None else summary.recommended.certificate
    if certificate is None:
        return None
    from behavesim.state.race import describe  # imported late, as above

    return f"{program_name(certificate.candidate)}, recommended: {describe(certificate)}"


def noise_text(noise: Noise | None) -> str | None:
    """Return how large a difference of scores is chance, as a line; None if it is unknown."""
    if noise is None:
        return None
    small, large = (f"{100 * each:.2g} %" for each in (noise.more_difference, noise.difference))
    on = count_noun(noise.instances, "instance")
    return f"two good programs differ by chance by up to {large} (the median pair) with {on}, {small} with {noise.more}"


def progress(
    template: float, best: float, gain: float, unit: str, is_finished: bool = False, told_apart: bool | None = None
) -> str:
    """Return a line that compares the best candidate's score with the template's.

    `gain` is the improvement as a fraction of the template's score, or the plain difference if that is 0. Unless it is
    positive, the line says that nothing has beaten the template. The plain difference stands where the two have other
    signs: a share of one says nothing then. `told_apart` is whether a gain is more than chance; None if unknown.
    """
    much = f"{100 * abs(gain):.1f} %" if template * best > 0 else SCORE.text(abs(template - best))
    of = f" ({unit})" if unit else ""
    begins = f"template {SCORE.text(template)} → best"
    if gain > 0:
        chance = " on these instances; on others that may be chance" if told_apart is False else ""
        return f"{begins} {SCORE.text(best)}{of}, {much} better{chance}"
    worse = f", {much} worse" if gain < 0 else ""
    yet = "" if is_finished else " yet"
    return f"{begins} candidate {SCORE.text(best)}{of}{worse}: nothing has beaten the template{yet}"
