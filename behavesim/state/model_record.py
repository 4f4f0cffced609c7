"""What each model has done for a run, by which later questions may choose a model."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.members import OpenCandidate


@dataclass(frozen=True)
class ModelRecord:
    """What one model has done so far, counted over the registered candidates whose last reply it wrote."""

    candidates: int = 0
    """Number of registered candidates whose last reply this model wrote."""
    gains: int = 0
    """Number of these candidates that score better than the best program that their prompt showed."""
    tokens: Tokens = NO_TOKENS
    """Tokens and cost of the last reply to each of these candidates, summed; earlier replies do not count."""


def add_to_record(models: dict[str, ModelRecord], registered: OpenCandidate, utility: float | None) -> None:
    """Count a registered candidate in `models`, in the record of the model that wrote its last reply.

    `utility` is the candidate's score, turned so that higher is better; None if it was rejected. A reply without a
    request, such as the program that a person injected, is not counted.
    """
    reply, bar = registered.reply, registered.to_beat
    if reply is None or not reply.calls:
        return
    before = models.get(reply.model, ModelRecord())
    is_gain = utility is not None and bar is not None and utility > bar
    models[reply.model] = ModelRecord(
        before.candidates + 1, before.gains + is_gain, before.tokens + Tokens.of(reply.calls)
    )
