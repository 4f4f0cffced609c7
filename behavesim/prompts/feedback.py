"""The words of prompts on results, their placeholders, and how a prompt is fitted to a budget of tokens.

First metrics, feedback, failures and advice in words, and how texts from outside are made safe to show. Then the places
in a prompt that are filled in when it is about to be sent. Last what is left out of a prompt that is too long.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import correlation

from behavesim.base.text import shorten, storable
from behavesim.base.tokens import estimate_tokens
from behavesim.state.events import CandidateId, Prompt, Rejected, Tuning
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
    own = _advice(state, candidate)
    return text.removesuffix(own) + own  # a prompt that was salvaged has it already


def _advice(state: RunState, candidate: CandidateId) -> str:
    """Return the end of a candidate's prompt, the advice in force; "" if there is none."""
    said = "".join(f"\n- {prose(each.text)}" for each in state.advice if each.is_in_force(candidate))
    return said and f"\n\nAdvice of the person who runs this search:{said}"


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


# The parts of a text that follow from the run's state or behaviours, by their names in `wording.PARTS`.
DEFERRED = ("surroundings", "leader", "run", "tried", "failures", "behaviour", "goal")
# The part that tells prompts with equal programs apart, filled in last.
ANGLE = "angle"
# Words for each part of DEFERRED that was left out of a prompt; the part that is left out first comes first.
LEFT_OUT = {
    "angle": "angle",
    "tried": "ideas tried",
    "failures": "recent failures",
    "behaviour": "behaviour",
    "leader": "the best program",
    "run": "the run so far",
}


def place(name: str) -> str:
    """Return the mark for the part of this name in a text: the name between null characters, which no program has."""
    return f"\0{name}\0"


def has_place(text: str, *names: str) -> bool:
    """Whether a text has a place for at least one of these parts."""
    return any(place(name) in text for name in names)


def fill_places(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with each part in its place, by name; a paragraph that is only an empty part is left out."""
    for name, part in parts.items():
        said, here = sendable(part), place(name)
        if not said:
            alone = f"\n\n{here}"
            text = text.replace(f"{alone}\n\n", "\n\n").removeprefix(f"{here}\n\n").removesuffix(alone)
        text = text.replace(here, said)
    return text


def without_placeholders(text: str) -> str:
    """Return a prompt's text without its places for DEFERRED: it then says nothing of the run."""
    return fill_places(text, {**dict.fromkeys((*DEFERRED, ANGLE), ""), "goal": "better"})


def fill_within_budget(prompt: Prompt, parts: Mapping[str, Callable[[], str]], tokens: int | None) -> Prompt:
    """Return a prompt with parts in their places, as many as fit a budget of tokens; None allows any length."""
    # `parts` are functions, since some take long: those without a place in the text are not called. What LEFT_OUT names
    # first is left out first. A prompt that is too long even without all of them is returned so.
    said = {name: part() for name, part in parts.items() if has_place(prompt.text, name)}
    shorter = [(what, {name: ""}) for name, what in LEFT_OUT.items() if name in said]
    text, left_out = fit_to_budget(lambda known: fill_places(prompt.text, known), said, shorter, tokens)
    return replace(prompt, text=text, left_out=(*prompt.left_out, *left_out))


# The parts of a prompt's text by their names in `wording.PARTS`.
Parts = Mapping[str, str]
# What is left out, in words, and the parts (by name) that take the place of longer ones.
Shorter = tuple[str, Parts]


def fit_to_budget(
    write: Callable[[Parts], str], parts: Parts, shorter: Iterable[Shorter], tokens: int | None
) -> tuple[str, tuple[str, ...]]:
    """Return the text that `write` makes of parts, and in words what was left out of it to fit a budget of tokens."""
    # `shorter`, the least important first, is read only until the text fits. What does not shorten the text is not
    # named. The text may still be too long at the end.
    text, left_out = write(parts), list[str]()
    for what, less in shorter if tokens is not None else ():
        if fits(text, tokens):
            break
        parts = {**parts, **less}
        if len(shortened := write(parts)) < len(text):
            text = shortened
            left_out.append(what)
    return text, tuple(dict.fromkeys(left_out))


def fits(text: str, tokens: int | None) -> bool:
    """Whether a prompt fits a budget of tokens, by the estimate of `estimate_tokens`; None allows any length."""
    return tokens is None or estimate_tokens(text) <= tokens


def cut_to_tokens(source: str, share: float) -> str:
    """Return the first lines of a program, a `share` (0 to 1) rounded down, at least one, and "…" as the last line."""
    lines = source.splitlines()
    return "\n".join([*lines[: max(1, int(share * len(lines)))], "…"])
