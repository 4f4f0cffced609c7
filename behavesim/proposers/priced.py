"""The door for replies: what any proposer returns is checked, and its requests get estimates of tokens and costs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

from behavesim.base.errors import PartError
from behavesim.base.plugins import as_part_errors
from behavesim.base.text import one_line, storable
from behavesim.base.tokens import Usage, token_count
from behavesim.state.events import Prompt, Reply
from behavesim.state.protocols import Responder

# Most characters of a reply that are kept: eight times what is read of one. SQLite refuses rows of a gigabyte.
LONGEST_REPLY = 4 * 2**20
# Most characters of a model's name and of a finish reason that are kept.
LONGEST_NAME = 200
# What each field of a Reply must be, in words.
_FIELDS = {
    "text": "a str",
    "model": "a str",
    "calls": "Usage, in a tuple",
    "finish_reason": "a str or None",
    "unanswered": "an int of 0 or more",
    "fault": "a str",
}
# Returns a request's cost in USD at today's prices, for a model's name and its tokens; None if it is unknown.
Cost = Callable[[str, Usage], float | None]


class PricedProposer:
    """Passes prompts to another proposer, checks its replies, and adds missing token estimates and costs to them."""

    def __init__(self, proposer: Responder, cost: Cost | None) -> None:
        """`cost` gives the price of a request of `proposer`; it is None for a proposer that costs no money."""
        self._proposer = proposer
        self._cost = cost

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the other proposer's checked reply, with tokens for each of its calls, and a cost in USD if known.

        Raises whatever the other proposer raises, but PartError if a user's own proposer raises an exception that is no
        BehavesimError, or returns no proper reply.
        """
        name = type(self._proposer).__name__
        with as_part_errors(type(self._proposer), "proposer"):
            answering = self._proposer.propose(prompt, number)
            if not inspect.isawaitable(answering):
                raise _mistake(name, "must define `async def propose`, not `def propose`")
            try:
                found = await answering
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # nobody cancelled the request: without a reply or an error, its candidate would be open for ever
                raise _mistake(name, "cancelled its own request, where it should return or raise") from None
        reply = check_reply(found, name)
        # A proposer of a user's own need not list calls; a reply that may cost something counts as one all the same.
        # Where a prompt was given up, `unanswered` says what may be billed.
        calls = reply.calls or ((Usage(),) if self._cost and not reply.fault else ())
        estimated = (call.with_estimates(prompt.text, reply.text) for call in calls)
        return replace(reply, calls=tuple(self._add_price(reply.model, call) for call in estimated))

    def _add_price(self, model: str, call: Usage) -> Usage:
        if self._cost is None or call.cost_usd is not None:
            return call
        return replace(call, cost_usd=self._cost(model, call))


def check_reply(found: object, proposer: str) -> Reply:
    """Return what a proposer answered as a reply that can be stored, counted and priced.

    Lone surrogates become U+FFFD, and what is too long is cut. Raises PartError, which names the `proposer`, if `found`
    is no Reply or a field has the wrong type: then each of its replies would.
    """
    if not isinstance(found, Reply):
        raise _mistake(proposer, f"must return a behavesim.Reply, not {type(found).__name__}")
    calls = found.calls if isinstance(found.calls, Sequence) else [found.calls]
    is_right = {
        "text": isinstance(found.text, str),
        "model": isinstance(found.model, str),
        "calls": all(isinstance(call, Usage) for call in calls),
        "finish_reason": isinstance(found.finish_reason, str | None),
        "unanswered": token_count(found.unanswered) is not None,
        "fault": isinstance(found.fault, str),
    }
    for field, is_good in is_right.items():
        if not is_good:
            values = calls if field == "calls" else [getattr(found, field)]
            came = " and ".join(sorted({type(value).__name__ for value in values}))
            raise _mistake(proposer, f"returned a Reply whose `{field}` must be {_FIELDS[field]}, not {came}")
    reason = found.finish_reason
    return Reply(
        storable(found.text[:LONGEST_REPLY]),
        one_line(storable(found.model), LONGEST_NAME),
        tuple(call.checked() for call in calls),
        None if reason is None else one_line(storable(reason), LONGEST_NAME),
        int(found.unanswered),
        one_line(storable(found.fault)),
    )


def _mistake(proposer: str, what: str) -> PartError:
    return PartError(f"the proposer {proposer} {what}; mend it, and go on with --fork NEW-ID")
