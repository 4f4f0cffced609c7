"""Niche: prompts are made of the best programs that behave differently, chosen from all found so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from behavesim.config import Settings
from behavesim.events import Asked, Discarded, ElitesRenewed, Evaluated, Placed, Prompt, Ticket
from behavesim.methods.draw import Generator, generator, softmax
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.state import TEMPLATE, Member, OpenCandidate, RunState

Preference = tuple[float, int, Ticket]
"""What makes a program the better of two, smallest first: its negated utility, its length, its age."""

Election = Callable[[Sequence[Ticket], Callable[[Ticket], Preference], float, int], Sequence[Ticket]]
"""Of programs in ticket order, the best of each niche, best first: given what each is worth, the radius of a niche, and
how many there shall be at most."""

ARCHIVE = 0
"""The island that holds every feasible program."""

PRESSURE = 4.0
"""How much likelier the best elite is to be drawn than the last one: e to this power."""


class Niche:
    """A pure function from the state of a run to its next decision; no islands, restarts or temperature.

    With `niche_radius = 0` similarity plays no part: what remains is an archive of the best distinct behaviours.
    """

    def __init__(self, settings: Settings, prompts: FunSearchPrompts, elect: Election) -> None:
        self._settings = settings
        self._prompts = prompts
        self._elect = elect

    def regroup(self, state: RunState) -> ElitesRenewed | None:
        """The election of elites once the first programs are told, and again whenever some more are."""
        settings = self._settings
        if state.elites_at is None:
            due = state.told >= settings.n_init
        else:
            due = state.told >= state.elites_at + settings.renew_every
        if not due:
            return None

        def preference(candidate: Ticket) -> Preference:
            member = state.members[candidate]
            return -member.utility, len(member.source), candidate

        archive = state.islands[ARCHIVE].members
        return ElitesRenewed(tuple(self._elect(archive, preference, settings.niche_radius, settings.elites)))

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

    def groups(self, state: RunState, candidate: OpenCandidate) -> Mapping[int, Sequence[Ticket]]:
        """None: elites are elected from all at once."""
        return {}

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
