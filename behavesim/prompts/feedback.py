"""Puts the metrics and feedback of programs, a run's recent failures and advice into the words of prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from behavesim.base.text import shorten, storable
from behavesim.base.tokens import estimate_tokens
from behavesim.state.events import CandidateId, Prompt, Rejected
from behavesim.state.members import Member, Note
from behavesim.state.state import RunState
from behavesim.task import Metrics
from behavesim.task.score import PRIVATE

# Fits prompts into a budget of tokens: leaves out what matters least, until the rest fits.


# The parts of a prompt's text by their names in `wording.PARTS`.
Parts = Mapping[str, str]
# What is left out, in words, and the parts (by name) that take the place of longer ones.
Shorter = tuple[str, Parts]

# What every prompt can do without, the least important first.
FIRST_LEFT_OUT: tuple[Shorter, ...] = (("angle", {"angle": ""}), ("hint", {"hint": ""}))
# Shares of a program's lines that are kept, tried in this order, if everything else is left out already.
KEPT_SHARES = (1 / 2, 1 / 4, 1 / 8)


def fits(text: str, tokens: int | None) -> bool:
    """Whether a prompt fits a budget of tokens, by the estimate of `estimate_tokens`; None allows any length."""
    return tokens is None or estimate_tokens(text) <= tokens


def fit_to_budget(
    write: Callable[[Parts], str], parts: Parts, shorter: Iterable[Shorter], tokens: int | None
) -> tuple[str, tuple[str, ...]]:
    """Return the text that `write` makes of parts, and in words what was left out of it to fit a budget of tokens.

    `shorter` says what to leave out, the least important first, and is read until the text fits. What does not shorten
    the text is not named. The text may still be too long at the end. If `tokens` is None, nothing is left out.
    """
    text, left_out = write(parts), list[str]()
    for what, less in shorter if tokens is not None else ():
        if fits(text, tokens):
            break
        parts = {**parts, **less}
        if len(shortened := write(parts)) < len(text):
            text = shortened
            left_out.append(what)
    return text, tuple(dict.fromkeys(left_out))


def cut_to_tokens(source: str, share: float) -> str:
    """Return the first lines of a program, a `share` (0 to 1) rounded down, at least one, and "…" as the last line."""
    lines = source.splitlines()
    return "\n".join([*lines[: max(1, int(share * len(lines)))], "…"])


# Places in a prompt's text that are filled in when the prompt is about to be sent.


# The parts of a text that follow from the run's state or behaviours, by their names in `wording.PARTS`.
DEFERRED = ("run", "tried", "failures", "behaviour")
# Words for each part of LATE that was left out of a prompt; the part that is left out first comes first.
LEFT_OUT = {
    "tried": "ideas tried",
    "failures": "recent failures",
    "behaviour": "behaviour",
    "run": "the run so far",
}
_UNWANTED = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def place(name: str) -> str:
    """Return the mark for the part of this name in a text: the name between null characters, which no program has."""
    return f"\0{name}\0"


def has_place(text: str, *names: str) -> bool:
    """Whether a text has a place for at least one of these parts."""
    return any(place(name) in text for name in names)


def fill_places(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with each part in its place, by name; if a paragraph is only an empty part, it is left out."""
    for name, part in parts.items():
        said, here = sendable(part), place(name)
        if not said:
            alone = f"\n\n{here}"
            text = text.replace(f"{alone}\n\n", "\n\n").removeprefix(f"{here}\n\n").removesuffix(alone)
        text = text.replace(here, said)
    return text


def fill_within_budget(prompt: Prompt, parts: Mapping[str, Callable[[], str]], tokens: int | None) -> Prompt:
    """Return a prompt with parts in their places, as many as fit a budget of tokens; None allows any length.

    `parts` are functions that return each part; those without a place are not called. The parts named first in LEFT_OUT
    are left out first; `Prompt.left_out` then names them. A prompt that is too long even without them is returned so.
    """
    said = {name: part() for name, part in parts.items() if has_place(prompt.text, name)}
    shorter = [(what, {name: ""}) for name, what in LEFT_OUT.items() if name in said]
    text, left_out = fit_to_budget(lambda known: fill_places(prompt.text, known), said, shorter, tokens)
    return replace(prompt, text=text, left_out=(*prompt.left_out, *left_out))


def without_placeholders(text: str) -> str:
    """Return a prompt's text without the marks that `place` returns for LATE: it then says nothing of the run."""
    return fill_places(text, dict.fromkeys(DEFERRED, ""))


def sendable(text: str) -> str:
    """Return a text without control characters, apart from line feeds and tabs.

    A carriage return becomes a line feed, or goes if a line feed follows it. A lone surrogate becomes U+FFFD.
    """
    return storable(text.replace("\r\n", "\n").replace("\r", "\n")).translate(_UNWANTED)


# Most metrics of a program that prompts show, the first ones: each takes a few tokens in every prompt.
METRICS_SHOWN = 12
# Most characters of a program's feedback that prompts show.
FEEDBACK_SHOWN = 800
# Most characters of a failed program's message, and as many of its feedback, in a prompt's list of failures.
FAILURE_SHOWN = 400
# Most characters that prompts show of the idea of a program whose code they do not show.
#
# Ideas of a language model differ in their ends; half of those that were recorded had 250 characters or more.
IDEA_SHOWN = 300


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
    shown = quote_lines(program.feedback, FEEDBACK_SHOWN)
    return ["What was said about it when it ran:", shown] if shown else []


def with_advice(text: str, state: RunState, candidate: CandidateId) -> str:
    """Return the text of a candidate's prompt with the advice that is in force for that candidate at its end.

    If the text ends with that advice already, or with the advice to the candidate asked for last, it is removed first.
    """
    own = _advice(state, candidate)
    # a prompt that candidates share has the advice to the last of them, one that was salvaged its own
    last = "" if state.last_asked is None else _advice(state, state.last_asked.candidate)
    return text.removesuffix(own).removesuffix(last) + own


def quote_lines(text: str, longest: int, is_end: bool = False) -> str:
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
    more = quote_lines(rejected.feedback, FAILURE_SHOWN, is_end=True)
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
    return words if longest is None else shorten(words, longest)


def _text(value: float | str) -> str:
    """Return a metric's value as text: a number with five significant digits, a text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"
