"""Niche: prompts show the best programs that behave differently, chosen from all found so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from behavesim.methods.method import Generator, Method, MethodSettings, add_if_feasible, falling, question
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task

# The name of the group of every feasible program.
ARCHIVE = "archive"
# The name of the group of elites: the best program of each niche, best first.
ELITES = "elites"


class NicheSettings(MethodSettings):
    """The settings of niche."""

    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt shows; fewer if there are no more to choose from."""
    samples_per_prompt: int = Field(2, ge=1)
    """Number of candidates asked for with the same prompt; fewer by default with a budget below 1 000."""
    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget."""
    elites: int = Field(30, ge=2)
    """Greatest number of elites, from which parents are drawn."""
    niche_radius: float = Field(0.3, ge=0)
    """Least distance between elites, in units of the median distance of the first 100 distinct behaviours; with 0 they
    only have to differ. The default is the task's own."""
    renew_every: int = Field(10, ge=1)
    """Number of registered candidates between renewals of the elites."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """Return the defaults that follow from the budget, and `niche_radius`, which follows from the task."""
        return {**super().suited(task, budget), "niche_radius": task.niche_radius}


class Niche(Method[NicheSettings]):
    """Keeps every feasible program, and draws parents from elites that behave differently; no islands, no restarts.

    `niche_radius = 0` uses no similarity: elites are then the best programs with distinct behaviours.
    """

    settings_type: ClassVar[type[MethodSettings]] = NicheSettings
    fixed_in_forks = frozenset({"n_init"})
    uses_behaviour = True

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the elites after the initial programs and every `renew_every` candidates, else None."""
        settings = self.settings
        if ELITES not in state.groups:
            is_due = state.registered >= settings.n_init
        else:
            is_due = state.registered >= state.groups[ELITES].arranged_at + settings.renew_every
        if not is_due:
            return None
        # of equal scores the shorter first, then the older: the simpler one is shown to the model
        preferences = [(-each.utility, len(each.source), each.candidate) for each in state.members_of(ARCHIVE)]
        return Regrouped(
            {ELITES: tuple(behaviours.elites(preferences, settings.niche_radius, settings.elites))}, selection=True
        )

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the next question; None while the first elites are awaited."""
        settings = self.settings
        if candidate < settings.n_init:
            return self.first_question(state, candidate)
        if ELITES not in state.groups:
            return None
        elites = state.members_of(ELITES)
        # no initial program was feasible, so there is nothing to improve on yet
        if not elites:
            return self.first_question(state, candidate)
        shared = self.shared_parents(state, candidate, settings.n_init, settings.samples_per_prompt, "improve")
        if shared is not None:
            parents, _ = shared
        else:
            rng = self.generator(candidate)
            parents = self.fresh(state, "improve", lambda is_uniform: self._parents(elites, rng, is_uniform))
        return question(candidate, parents, self.prompts.showing_programs("improve", parents), ARCHIVE)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the archive."""
        return add_if_feasible(candidate, ARCHIVE)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return how many elites there are, and how many candidates ago they were chosen."""
        if ELITES not in state.groups:
            return {"elites": f"none before {self.settings.n_init} initial programs"}
        elites = state.groups[ELITES]
        return {"elites": f"{len(elites.members)}, chosen {state.registered - elites.arranged_at} candidates ago"}

    def _parents(self, elites: list[Member], rng: Generator, is_uniform: bool) -> list[Member]:
        """Draw different elites, better ones preferred unless `is_uniform`; worst first."""
        size = min(self.settings.examples_per_prompt, len(elites))
        drawn = rng.choice(len(elites), size=size, replace=False, p=None if is_uniform else falling(len(elites)))
        # elites come best first, and prompts show the best last
        return [elites[rank] for rank in sorted(drawn, reverse=True)]
