"""The type of a cap, and what a run has used when its caps are checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from behavesim.base.tokens import Price, Spending

if TYPE_CHECKING:
    from behavesim.base.config import Settings
    from behavesim.state.state import RunState


@dataclass(frozen=True)
class Use:
    """What a run has used so far, over all its sessions, and what one more request may add."""

    state: RunState
    price: Price
    active_s: float
    """Seconds that the run has been active, without pauses between sessions."""
    unasked: int
    """Number of open questions that a resumed run has not sent again yet."""

    @cached_property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far, with estimates where an endpoint did not count."""
        return Spending.of(self.state.tally.tokens, self.price)

    def with_another(self, amount: Callable[[Spending], float], first: float | None = None) -> float:
        """Return what `amount` takes from the spending, such as its tokens, as it may be after one more request.

        Requests without a reply, with the retries that they may need, count as the largest reply so far. Before the
        first reply each counts as `first`; if that is None, a single request adds nothing, and the result is infinite
        if there are several.
        """
        tally, sent = self.state.tally, self.state.waiting - self.unasked + 1
        unanswered = tally.unanswered + sent * (1 + tally.most_unanswered)
        if first is None:
            first = math.inf if sent > 1 else 0.0  # so the first request goes alone, and the next ones know its size
        replies = (Spending.of({model: largest}, self.price) for model, largest in tally.largest.items())
        return amount(self.spending) + unanswered * max(map(amount, replies), default=first)


@dataclass(frozen=True)
class Cap:
    """One limit of a run beside its budget: what it limits, and what people read when it has ended the run."""

    name: str
    """Name in the journal, as the reason for which the run stopped."""
    limit: Callable[[Settings], float | None]
    """Function that returns the limit that the settings set; None if they set none."""
    is_reached: Callable[[Use, float], bool]
    """Function of what was used and of the number that `limit` returned: whether the limit is reached.

    If it is, no further request is sent or, if `ends_run` is set, the run ends.
    """
    words: str
    """What ended the run, in a few words for a table, such as "time is up"."""
    sentence: Callable[[RunState, Settings, str], str]
    """Function that says what ended the run, from its state, the settings in force and the command that resumes it."""
    ends_run: bool = False
    """Whether the run ends at once and gives up what is under way. If not, requests under way are waited for."""
    follows_events: bool = False
    """Whether the events alone say when the cap is reached. If not, an audit must allow for an earlier end."""
