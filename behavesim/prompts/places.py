"""Places in a prompt's text that are filled in when the prompt is about to be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from behavesim.base.text import storable
from behavesim.prompts.budget import fitted
from behavesim.state.events import Prompt

LATE = ("run", "tried", "failures", "behaviour")
"""The parts of a text that follow from the run's state or behaviours, by their names in `wording.PARTS`."""
LEFT_OUT = {
    "tried": "ideas tried",
    "failures": "recent failures",
    "behaviour": "behaviour",
    "run": "the run so far",
}
"""Words for each part of LATE that was left out of a prompt; the part that is left out first comes first."""
_UNWANTED = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def place(name: str) -> str:
    """Return the mark for the part of this name in a text: the name between null characters, which no program has."""
    return f"\0{name}\0"


def has_place(text: str, *names: str) -> bool:
    """Whether a text has a place for at least one of these parts."""
    return any(place(name) in text for name in names)


def filled(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with each part in its place, by name; if a paragraph is only an empty part, it is left out."""
    for name, part in parts.items():
        said, here = sendable(part), place(name)
        if not said:
            alone = f"\n\n{here}"
            text = text.replace(f"{alone}\n\n", "\n\n").removeprefix(f"{here}\n\n").removesuffix(alone)
        text = text.replace(here, said)
    return text


def filled_within(prompt: Prompt, parts: Mapping[str, Callable[[], str]], tokens: int | None) -> Prompt:
    """Return a prompt with parts in their places, as many as fit a budget of tokens; None allows any length.

    `parts` are functions that return each part; those without a place are not called. The parts named first in LEFT_OUT
    are left out first; `Prompt.left_out` then names them. A prompt that is too long even without them is returned so.
    """
    said = {name: part() for name, part in parts.items() if has_place(prompt.text, name)}
    shorter = [(what, {name: ""}) for name, what in LEFT_OUT.items() if name in said]
    text, left_out = fitted(lambda known: filled(prompt.text, known), said, shorter, tokens)
    return replace(prompt, text=text, left_out=(*prompt.left_out, *left_out))


def emptied(text: str) -> str:
    """Return a prompt's text without the marks that `place` returns for LATE: it then says nothing of the run."""
    return filled(text, dict.fromkeys(LATE, ""))


def sendable(text: str) -> str:
    """Return a text without control characters, apart from line feeds and tabs.

    A carriage return becomes a line feed, or goes if a line feed follows it. A lone surrogate becomes U+FFFD.
    """
    return storable(text.replace("\r\n", "\n").replace("\r", "\n")).translate(_UNWANTED)
