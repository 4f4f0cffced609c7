"""The replies of a finished run once more, for nothing: other code, other settings of the archive, the same words."""

from __future__ import annotations

from collections.abc import Mapping

from behavesim.errors import ProposerError
from behavesim.events import Prompt, Reply, Ticket


class ReplayProposer:
    """Answers each ticket with what a journal holds for it, whatever the prompt is now."""

    def __init__(self, replies: Mapping[Ticket, Reply], run: str = "the replayed run") -> None:
        """`replies` by ticket, from the journal of `run`."""
        self._replies = replies
        self._run = run

    async def propose(self, prompt: Prompt, ticket: Ticket) -> Reply:
        """The reply that the ticket had; raises ProposerError where it had none."""
        if ticket not in self._replies:
            raise ProposerError(
                f"{self._run} has no reply for candidate {ticket}; "
                f"it holds {len(self._replies)}, so ask for no more than that with --budget"
            )
        return self._replies[ticket]
