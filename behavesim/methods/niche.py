"""Niche: prompts are made of the best programs that behave differently, chosen from all found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from behavesim.methods.draw import Generator, softmax
from behavesim.methods.method import Method, MethodSettings, kept_if_feasible, question
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task

ARCHIVE = "archive"
"""The group that holds every feasible program."""
ELITES = "elites"
"""The programs that stand for the niches known so far, best first."""

PRESSURE = 4.0
"""How much likelier the best elite is to be drawn than the last one: e to this power."""


class NicheSettings(MethodSettings):
    """The settings of niche."""

    examples_per_prompt: int = Field(2, ge=1)
    """Programs a prompt shows."""
    samples_per_prompt: int = Field(2, ge=1)
    """Candidates that share a prompt."""
    n_init: int = Field(100, ge=0)
    """Initial programs, asked for with the template alone; at most a quarter of the budget unless named."""
    elites: int = Field(30, ge=2)
    """Programs parents are drawn from, at most."""
    niche_radius: float = Field(0.3, ge=0)
    """How different elites are, in units of the median distance; 0 is without similarity."""
    renew_every: int = Field(10, ge=1)
    """Candidates between renewals of the elites."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """The task's radius, and no more than a quarter of the budget for initial programs."""
        return {"niche_radius": task.niche_radius, "n_init": cls.at_most_a_quarter("n_init", budget)}


@dataclass(frozen=True)
class Election:
    """The best program of each niche is wanted, best first: of programs in order of age, at most `count`."""

    archive: tuple[Member, ...]
    radius: float
    count: int

    def decide(self, behaviours: Behaviours) -> Regrouped:
        """The elites: of equal score the shorter is preferred, then the older."""
        preferences = [(-member.utility, len(member.source), member.candidate) for member in self.archive]
        return Regrouped({ELITES: tuple(behaviours.elites(preferences, self.radius, self.count))}, selection=True)


class Niche(Method[NicheSettings]):
    """An archive of all, and parents from those of its best that behave differently; no islands, no restarts.

    With `niche_radius = 0` similarity plays no part: what remains is an archive of the best distinct behaviours.
    """

    settings_type: ClassVar[type[MethodSettings]] = NicheSettings
    fixed_in_forks = frozenset({"n_init"})

    @property
    def uses_behaviour(self) -> bool:
        """True: elites are those that differ in what they do."""
        return True

    def regroup(self, state: RunState) -> Election | None:
        """The election of elites once the initial programs are registered, and again whenever some more are."""
        settings = self.settings
        if ELITES not in state.groups:
            is_due = state.registered >= settings.n_init
        else:
            is_due = state.registered >= state.groups[ELITES].arranged_at + settings.renew_every
        return Election(tuple(state.members_of(ARCHIVE)), settings.niche_radius, settings.elites) if is_due else None

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | None:
        """The next question; None while the first election is awaited."""
        settings = self.settings
        if candidate < settings.n_init:
            return self.first_question(state, candidate)
        if ELITES not in state.groups:
            return None
        shared = self.shared_question(state, candidate, settings.n_init, settings.samples_per_prompt)
        if shared is not None:
            return shared
        elites = state.members_of(ELITES)
        if not elites:
            return self.first_question(state, candidate)
        parents = self._parents(elites, self.generator(candidate))
        return question(candidate, parents, self.prompts.of("improve", parents), ARCHIVE)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Every feasible program is kept."""
        return kept_if_feasible(candidate, ARCHIVE)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """How many elites there are, and how old their election is."""
        if ELITES not in state.groups:
            return {"elites": f"none before {self.settings.n_init} initial programs"}
        elites = state.groups[ELITES]
        return {"elites": f"{len(elites.members)}, chosen {state.registered - elites.arranged_at} candidates ago"}

    def _parents(self, elites: list[Member], rng: Generator) -> list[Member]:
        """Different elites by rank, p ∝ exp(−4 r / |E|), in ascending order of score."""
        size = min(self.settings.examples_per_prompt, len(elites))
        probabilities = softmax(-PRESSURE * np.arange(len(elites)) / len(elites))
        drawn = rng.choice(len(elites), size=size, replace=False, p=probabilities)
        return [elites[rank] for rank in sorted(drawn, reverse=True)]
