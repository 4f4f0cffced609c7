"""What each model has done for a run, by which later questions may choose a model."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.members import OpenCandidate


@dataclass(frozen=True)
class ModelRecord:
    """What a model has done so far, counted over its registered candidates."""

    candidates: int = 0
    """Number of registered candidates whose last reply it wrote."""
    gains: int = 0
    """How many of them score better than the best program that their prompt showed."""
    tokens: Tokens = NO_TOKENS
    """Tokens and cost of the last replies to them."""


def count(models: dict[str, ModelRecord], registered: OpenCandidate, utility: float | None) -> None:
    """Count a registered candidate in the record of the model that wrote it; `utility` is None if it was rejected.

    A reply without a request, as a person's program has, is not counted.
    """
    reply, bar = registered.reply, registered.to_beat
    if reply is None or not reply.calls:
        return
    before = models.get(reply.model, ModelRecord())
    is_gain = utility is not None and bar is not None and utility > bar
    models[reply.model] = ModelRecord(
        before.candidates + 1, before.gains + is_gain, before.tokens + Tokens.of(reply.calls)
    )
