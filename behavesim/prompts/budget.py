"""Fits prompts into a budget of tokens: leaves out what matters least, until the rest fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from behavesim.base.tokens import estimated_tokens

Parts = Mapping[str, str]
"""The parts of a prompt's text by their names in `wording.PARTS`."""
Shorter = tuple[str, Parts]
"""What is left out, in words, and the parts (by name) that take the place of longer ones."""

FIRST_LEFT_OUT: tuple[Shorter, ...] = (("angle", {"angle": ""}), ("hint", {"hint": ""}))
"""What every prompt can do without, the least important first."""
KEPT_SHARES = (1 / 2, 1 / 4, 1 / 8)
"""Shares of a program's lines that are kept, tried in this order, if everything else is left out already."""


def fits(text: str, tokens: int | None) -> bool:
    """Whether a prompt fits a budget of tokens, by the estimate of `estimated_tokens`; None allows any length."""
    return tokens is None or estimated_tokens(text) <= tokens


def fitted(
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


def cut(source: str, share: float) -> str:
    """Return the first lines of a program, a `share` (0 to 1) rounded down, at least one, and "…" as the last line."""
    lines = source.splitlines()
    return "\n".join([*lines[: max(1, int(share * len(lines)))], "…"])
