"""Best of n: the template, again and again; what a method finds beyond this is what searching is worth."""

from __future__ import annotations

from behavesim.events import Asked, Discarded, Evaluated, Placed, Prompt, Ticket
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.state import TEMPLATE, OpenCandidate, RunState


class BestOfN:
    """Independent draws from the proposer; nothing that was found before is shown to it."""

    def __init__(self, prompts: FunSearchPrompts) -> None:
        self._prompt = Prompt(prompts.template(), "template")

    def regroup(self, state: RunState) -> None:
        """Never."""
        return

    def ask(self, state: RunState, ticket: Ticket) -> Asked:
        """The same question as ever."""
        return Asked(ticket, (TEMPLATE,), None, self._prompt)

    def compare(self, state: RunState, candidate: OpenCandidate) -> None:
        """Nothing: no decision depends on behaviour."""
        return

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """Every feasible program is kept."""
        ticket = candidate.asked.candidate
        return Placed(ticket, 0) if isinstance(candidate.outcome, Evaluated) else Discarded(ticket)
