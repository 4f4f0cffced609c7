"""The words of prompts on results: metrics, feedback, failures and advice. Makes texts from outside safe to show."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import correlation

from behavesim.base.text import shorten, storable
from behavesim.state.events import CandidateId, Rejected, Tuning
from behavesim.state.members import Member, Note
from behavesim.state.state import RunState
from behavesim.task import Metrics
from behavesim.task.score import PRIVATE

# Most metrics of a program that prompts show, the first ones: each takes a few tokens in every prompt.
METRICS_SHOWN = 12
# Most characters of a program's feedback that prompts show: of the best one and the last one shown, and of others.
#
# Before the best program had its feedback beside it, each program shown had 800.
FEEDBACK_SHOWN, OTHERS_FEEDBACK = 800, 400
# Most characters of a failed program's message, and as many of its feedback, in a prompt's list of failures.
FAILURE_SHOWN = 400
# Most characters that prompts show of the idea of a program that failed.
#
# Ideas of a language model differ in their ends; half of those that were recorded had 250 characters or more.
IDEA_SHOWN = 300


def metrics_in_words(metrics: Metrics, score: float | None = None) -> str:
    """Return the first METRICS_SHOWN metrics as a sentence, without those that equal `score`; "" if none is left."""
    kept = ((name, value) for name, value in metrics.items() if value != score and not name.startswith(PRIVATE))
    known = [f"{prose(name)} {_text(value)}" for name, value in kept]
    more = ", …" if len(known) > METRICS_SHOWN else ""
    return f"Metrics: {', '.join(known[:METRICS_SHOWN])}{more}." if known else ""


def _text(value: float | str) -> str:
    """Return a metric's value as text: a number with five significant digits, a text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"


def feedback_in_words(program: Member, most: int = FEEDBACK_SHOWN) -> list[str]:
    """Return the paragraphs that show a program's feedback, its first `most` characters; [] if none."""
    shown = quote_lines(program.feedback, most)
    return ["What was said about it when it ran:", shown] if shown else []


def failure_in_words(rejected: Rejected, origin: str = "", times: int = 1) -> str:
    """Return why a program failed, as an item of a list; `origin` is what it was written from, or "".

    `times` is how many programs failed for this reason with this message.
    """
    idea = f"(its idea: {prose(rejected.thought, IDEA_SHOWN)})" if rejected.thought else ""
    message = prose(rejected.message[:FAILURE_SHOWN])
    metrics = metrics_in_words(rejected.metrics)
    if metrics and message and message[-1] not in ".!?":
        message += "."  # or the metrics would read as its end
    first = " ".join(filter(None, [message, metrics, idea]))
    # the end of a traceback, or of what a process wrote, says what went wrong
    more = quote_lines(rejected.feedback, FAILURE_SHOWN, is_end=True)
    reason = f"{rejected.reason} ({times} programs)" if times > 1 else rejected.reason
    return "\n".join(filter(None, [f"- {origin}{reason}: {first}", more]))


# From this correlation on prompts say that a score depends on a number, of at most so many numbers.
SENSITIVE, SENSITIVE_SHOWN = 0.3, 3


def tuning_in_words(tuning: Tuning) -> str:
    """Return what the machine's trials of a program's numbers say: those on which the score depends most, if any."""
    trials = [
        (values, -math.inf if gain is None else gain) for values, gain in zip(tuning.values, tuning.gains, strict=True)
    ]
    own, (best, _) = tuning.values[0], max(trials, key=lambda trial: trial[1])
    said = f"The machine tuned its numbers in {tuning.trials} trials"
    # what changed in trials that failed alone is structure, and stayed as it was
    working = [values for values, gain in trials if gain > -math.inf]
    changed = [place for place in range(len(own)) if len({values[place] for values in working}) > 1]
    by_weight = sorted(changed, key=lambda place: -_sensitivity(trials, best, place))
    telling = [place for place in by_weight if _sensitivity(trials, best, place) >= SENSITIVE][:SENSITIVE_SHOWN]
    if not telling:
        return f"{said}; the score hardly depends on any of them."
    listed = ", ".join(f"{best[each]:.6g} (was {own[each]:.6g})" for each in telling)
    return f"{said}; the score depends most on {listed}."


def _sensitivity(trials: Sequence[tuple[Sequence[float], float]], best: Sequence[float], place: int) -> float:
    """Return how well a number's distance from its best value predicts a loss: a rank correlation, at most 1."""
    # by ranks: scales may be logarithmic, and a trial that failed has no gain
    values = _ranks([each[place] for each, _ in trials])
    middle = next(rank for rank, (each, _) in zip(values, trials, strict=True) if each is best)
    away, gains = [abs(rank - middle) for rank in values], _ranks([gain for _, gain in trials])
    return -correlation(away, gains) if len(set(away)) > 1 and len(set(gains)) > 1 else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [(bisect_left(ordered, each) + bisect_right(ordered, each)) / 2 for each in values]


def what_became(hint: Note) -> str:
    """Return the scores of programs written with a hint, and the better parent's, to end a line; "" without any."""
    if not hint.children:
        return ""
    scores = ", ".join("rejected" if score is None else f"{score:.6g}" for score in hint.children)
    before = "" if hint.score is None else f"; the better parent {hint.score:.6g}"
    return f" (written with it: {scores}{before})"


def with_advice(text: str, state: RunState, candidate: CandidateId) -> str:
    """Return the text of a candidate's prompt with the advice in force for that candidate at its end."""
    said = "".join(f"\n- {prose(each.text)}" for each in state.advice if each.is_in_force(candidate))
    own = said and f"\n\nAdvice of the person who runs this search:{said}"
    return text.removesuffix(own) + own  # a prompt that was salvaged has it already


def prose(text: str, longest: int | None = None) -> str:
    """Return a text from outside on one line, cut to `longest` characters; None cuts nothing."""
    # without back-quotes, as in `quote_lines`
    words = " ".join(sendable(text).replace("`", "'").split())
    return words if longest is None else shorten(words, longest)


def quote_lines(text: str, longest: int, is_end: bool = False) -> str:
    """Return the first or, if `is_end`, the last `longest` characters of a text, indented and without blank lines.

    Of several lines whole ones are kept; "…" stands for lines after them. Control characters are removed, back-quotes
    become apostrophes.
    """
    # a back-quote could open a fenced block, which readers would take for a program
    kept = text[-longest:] if is_end else text[:longest]
    if is_end and len(text) > longest and "\n" in kept.rstrip() and text[-longest - 1] != "\n":
        kept = kept.partition("\n")[2]
    elif not is_end and text[longest:].strip():
        # half a line of figures would be read as all there is
        whole = kept if text[longest] == "\n" else kept.rpartition("\n")[0]
        kept = f"{whole or kept}\n…"
    lines = sendable(kept).replace("`", "'").splitlines()
    return "\n".join(f"    {line.rstrip()}" for line in lines if line.strip())


_UNWANTED = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def sendable(text: str) -> str:
    """Return a text without control characters but line feeds and tabs, and with U+FFFD for lone surrogates."""
    return storable(text.replace("\r\n", "\n").replace("\r", "\n")).translate(_UNWANTED)
