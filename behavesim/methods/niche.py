"""Niche: prompts are made of the best programs that behave differently, chosen from all found so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from behavesim.config import Settings
from behavesim.events import Asked, Discarded, ElitesRenewed, Evaluated, Placed, Prompt, Ticket
from behavesim.methods.draw import Generator, generator, softmax
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.similarity.behaviours import Behaviours
from behavesim.state import TEMPLATE, Member, OpenCandidate, RunState

ARCHIVE = 0
"""The island that holds every feasible program."""

PRESSURE = 4.0
"""How much likelier the best elite is to be drawn than the last one: e to this power."""


@dataclass(frozen=True)
class Election:
    """The best program of each niche is wanted, best first: of programs in ticket order, at most `count`."""

    archive: tuple[Member, ...]
    radius: float
    count: int

    def decide(self, behaviours: Behaviours) -> ElitesRenewed:
        """The elites: of equal score the shorter is preferred, then the older."""
        preferences = [(-member.utility, len(member.source), member.candidate) for member in self.archive]
        return ElitesRenewed(tuple(behaviours.elites(preferences, self.radius, self.count)))


class Niche:
    """A pure function from the state of a run to its next decision; no islands, restarts or temperature.

    With `niche_radius = 0` similarity plays no part: what remains is an archive of the best distinct behaviours.
    """

    def __init__(self, settings: Settings, prompts: FunSearchPrompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def regroup(self, state: RunState) -> Election | None:
        """The election of elites once the first programs are told, and again whenever some more are."""
        settings = self._settings
        if state.elites_at is None:
            due = state.told >= settings.n_init
        else:
            due = state.told >= state.elites_at + settings.renew_every
        if not due:
            return None
        archive = tuple(state.members[member] for member in state.islands[ARCHIVE].members)
        return Election(archive, settings.niche_radius, settings.elites)

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """The next question; None while the first election is awaited."""
        settings = self._settings
        if ticket < settings.n_init:
            return self._first(ticket)
        if state.elites_at is None:
            return None
        if (ticket - settings.n_init) % settings.samples_per_prompt and state.last_asked is not None:
            last = state.last_asked
            return Asked(ticket, last.parents, last.island, last.prompt)
        if not state.elites:
            return self._first(ticket)
        parents = self._parents(state, generator(settings.seed, ticket, "ask"))
        text = self._prompts.improve([parent.source for parent in parents])
        return Asked(ticket, tuple(parent.candidate for parent in parents), ARCHIVE, Prompt(text, "improve"))

    def compare(self, state: RunState, candidate: OpenCandidate) -> None:
        """Nothing: elites are elected from all at once."""
        return

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """Every feasible program is kept."""
        ticket = candidate.asked.candidate
        return Placed(ticket, ARCHIVE) if isinstance(candidate.outcome, Evaluated) else Discarded(ticket)

    def _first(self, ticket: Ticket) -> Asked:
        return Asked(ticket, (TEMPLATE,), None, Prompt(self._prompts.template(), "template"))

    def _parents(self, state: RunState, rng: Generator) -> list[Member]:
        """Different elites by rank, p ∝ exp(−4 r / |E|), in ascending order of score."""
        elites = state.elites
        size = min(self._settings.examples_per_prompt, len(elites))
        probabilities = softmax(-PRESSURE * np.arange(len(elites)) / len(elites))
        drawn = rng.choice(len(elites), size=size, replace=False, p=probabilities)
        return [state.members[elites[rank]] for rank in sorted(drawn, reverse=True)]
