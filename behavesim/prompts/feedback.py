"""Puts the metrics and feedback of programs, a run's recent failures and advice into the words of prompts."""

from __future__ import annotations

from behavesim.base.text import shortened
from behavesim.prompts.places import sendable
from behavesim.state.events import CandidateId, Rejected
from behavesim.state.members import Member, Note
from behavesim.state.state import RunState
from behavesim.task import Metrics
from behavesim.task.score import PRIVATE

METRICS_SHOWN = 12
"""Most metrics of a program that prompts show, the first ones: each takes a few tokens in every prompt."""
FEEDBACK_SHOWN = 800
"""Most characters of a program's feedback that prompts show."""
FAILURE_SHOWN = 400
"""Most characters of a failed program's message, and as many of its feedback, in a prompt's list of failures."""
IDEA_SHOWN = 300
"""Most characters that prompts show of the idea of a program whose code they do not show.

Ideas of a language model differ in their ends; half of those that were recorded had 250 characters or more.
"""


def metrics_in_words(metrics: Metrics, score: float | None = None) -> str:
    """Return the first METRICS_SHOWN metrics as a sentence; "" if none is left.

    Metrics that equal `score` are left out (with None, none are), and those whose names begin with PRIVATE.
    """
    kept = ((name, value) for name, value in metrics.items() if value != score and not name.startswith(PRIVATE))
    known = [f"{prose(name)} {_text(value)}" for name, value in kept]
    more = ", …" if len(known) > METRICS_SHOWN else ""
    return f"Metrics: {', '.join(known[:METRICS_SHOWN])}{more}." if known else ""


def feedback_in_words(program: Member) -> list[str]:
    """Return the paragraphs that show a program's feedback, its first FEEDBACK_SHOWN characters; [] if it has none."""
    shown = quoted(program.feedback, FEEDBACK_SHOWN)
    return ["What was said about it when it ran:", shown] if shown else []


def with_advice(text: str, state: RunState, candidate: CandidateId) -> str:
    """Return the text of a candidate's prompt with the advice that is in force for that candidate at its end.

    If the text ends with that advice already, or with the advice to the candidate asked for last, it is removed first.
    """
    own = _advice(state, candidate)
    # a prompt that candidates share has the advice to the last of them, one that was salvaged its own
    last = "" if state.last_asked is None else _advice(state, state.last_asked.candidate)
    return text.removesuffix(own).removesuffix(last) + own


def quoted(text: str, longest: int, is_end: bool = False) -> str:
    """Return the first or, if `is_end`, the last `longest` characters of a text, indented and without blank lines.

    An end begins with a whole line, if it has several. A back-quote becomes an apostrophe: it could open a fenced
    block, which readers would take for a program. Control characters are removed.
    """
    kept = text[-longest:] if is_end else text[:longest]
    if is_end and len(text) > longest and "\n" in kept.rstrip() and text[-longest - 1] != "\n":
        kept = kept.partition("\n")[2]
    lines = sendable(kept).replace("`", "'").splitlines()
    return "\n".join(f"    {line.rstrip()}" for line in lines if line.strip())


def _advice(state: RunState, candidate: CandidateId) -> str:
    """Return the end of a candidate's prompt, the advice in force; "" if there is none."""
    said = "".join(f"\n- {prose(each.text)}" for each in state.advice if each.is_in_force(candidate))
    return said and f"\n\nAdvice of the person who runs this search:{said}"


def failure_in_words(rejected: Rejected, origin: str = "") -> str:
    """Return why a program failed, as an item of a list.

    Its first line has `origin` (what the program was written from, or ""), the reason, the message, the metrics and the
    program's idea. The end of the feedback follows on further lines.
    """
    idea = f"(its idea: {prose(rejected.thought, IDEA_SHOWN)})" if rejected.thought else ""
    message = prose(rejected.message[:FAILURE_SHOWN])
    first = " ".join(filter(None, [message, metrics_in_words(rejected.metrics), idea]))
    # the end of a traceback, or of what a process wrote, says what went wrong
    more = quoted(rejected.feedback, FAILURE_SHOWN, is_end=True)
    return "\n".join(filter(None, [f"- {origin}{rejected.reason}: {first}", more]))


def what_became(hint: Note) -> str:
    """Return what scores programs written with a hint got, and the better parent's, to end a line; "" without any."""
    if not hint.children:
        return ""
    scores = ", ".join("rejected" if score is None else f"{score:.6g}" for score in hint.children)
    before = "" if hint.score is None else f"; the better parent {hint.score:.6g}"
    return f" (written with it: {scores}{before})"


def prose(text: str, longest: int | None = None) -> str:
    """Return a text from outside on one line, cut to `longest` characters; None cuts nothing.

    It has no control characters, and ' for back-quotes.
    """
    # a back-quote could open a fenced block, which readers would take for a program
    words = " ".join(sendable(text).replace("`", "'").split())
    return words if longest is None else shortened(words, longest)


def _text(value: float | str) -> str:
    """Return a metric's value as text: a number with five significant digits, a text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"
