"""ReEvo: generations of programs, and reflections on what made some of them better (Ye et al., NeurIPS 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from behavesim.methods.method import Method, MethodSettings, question
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, NotAdded, NoteAsked, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task

POPULATION = "population"
"""The programs that may be parents: the last generation's children, and the mutants that came after them."""
ELITE = "elite"
"""The best program ever found."""


class ReEvoSettings(MethodSettings):
    """The settings of ReEvo."""

    initial_population: int = Field(30, ge=2)
    """Initial programs, asked for with the template; at most a quarter of the budget unless named."""
    population: int = Field(10, ge=2)
    """Children by crossover in a generation."""
    mutation_rate: float = Field(0.5, ge=0, le=1)
    """Mutants of the elite in a generation, as a share of the population."""
    reflection: bool = True
    """Ask for reflections where the proposer writes any; the offline one does not."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """No more than a quarter of the budget for initial programs."""
        return {"initial_population": max(2, cls.at_most_a_quarter("initial_population", budget))}

    @property
    def mutants(self) -> int:
        """Mutants in a generation."""
        return round(self.mutation_rate * self.population)


class ReEvo(Method[ReEvoSettings]):
    """Selection, short-term reflection, crossover, long-term reflection, elitist mutation, and again (figure 1).

    A generation is asked for at once when the one before is registered, so no more than a generation is in flight.
    Reflections are notes: each generation has one on each pair of parents, and one that sums them up.
    """

    settings_type: ClassVar[type[MethodSettings]] = ReEvoSettings
    fixed_in_forks = frozenset({"initial_population", "population", "mutation_rate", "reflection"})
    asks_notes = True

    def regroup(self, state: RunState) -> Regrouped | None:
        """The children of a generation become the population once the last of them is registered.

        The population stays as it was where none of them is feasible.
        """
        due = self._last_boundary(state.registered)
        if due is None or (POPULATION in state.groups and state.groups[POPULATION].arranged_at >= due):
            return None
        before = state.groups[POPULATION].members if POPULATION in state.groups else [TEMPLATE]
        elite = TEMPLATE if state.best is None else self._elite(state)
        return Regrouped({POPULATION: tuple(state.ungrouped or before), ELITE: (elite,)})

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked | None:
        """The next question, or a reflection that it needs; None until the programs it builds on are registered."""
        settings = self.settings
        if candidate < settings.initial_population:
            return Asked(
                candidate,
                (TEMPLATE,),
                None,
                self.prompts.first("initial", candidate, state.template, operator="template"),
            )
        generation, place = divmod(candidate - settings.initial_population, self._cycle)
        first = candidate - place
        phase = first if place < settings.population else first + settings.population
        if state.registered < phase:
            return None
        if place < settings.population:
            return self._cross(state, candidate, generation, first)
        return self._mutate(state, candidate, generation)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Children wait for the end of their generation; mutants join the population at once."""
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        place = (candidate.id - self.settings.initial_population) % self._cycle
        is_mutant = candidate.id >= self.settings.initial_population and place >= self.settings.population
        return Added(candidate.id, POPULATION if is_mutant else None)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """The generation, and how many reflections were made or why there are none."""
        generation = max(0, state.asked - self.settings.initial_population) // self._cycle
        offline = "" if self.brief.takes_notes else " (the proposer writes none)"
        return {"generation": str(generation), "reflections": f"{len(state.notes)}{offline}"}

    @property
    def _cycle(self) -> int:
        """Candidates of a generation."""
        return self.settings.population + self.settings.mutants

    @property
    def _reflects(self) -> bool:
        return self.settings.reflection and self.brief.takes_notes

    def _last_boundary(self, registered: int) -> int | None:
        """How many candidates were registered when the last generation's children were complete."""
        beyond = registered - self.settings.initial_population
        if beyond < 0:
            return None
        generation, place = divmod(beyond, self._cycle)
        start = registered - place
        if place >= self.settings.population:
            return start + self.settings.population
        return start if generation == 0 else start - self.settings.mutants

    def _elite(self, state: RunState) -> CandidateId:
        """The best of those that are still in the archive: the old elite, the population and its children."""
        held = [state.members[m] for m in state.members if m != TEMPLATE] or [state.members[TEMPLATE]]
        return max(held, key=lambda member: member.merit).candidate

    def _cross(self, state: RunState, candidate: CandidateId, generation: int, first: CandidateId) -> Asked | NoteAsked:
        """A child of a pair; before the first one, a reflection on every pair of the generation."""
        population, noted = self.settings.population, len(state.notes)
        begun = generation * (population + 1)
        if self._reflects and noted < begun + population:
            pair = self._pair(state, first + noted - begun)
            prompt = self.prompts.of("short-term-reflection", pair)
            return NoteAsked(noted, tuple(parent.candidate for parent in pair), prompt)
        pair = self._pair(state, candidate)
        hint = state.notes[begun + candidate - first].text if self._reflects else ""
        return question(candidate, pair, self.prompts.hinted("crossover", pair, hint))

    def _mutate(self, state: RunState, candidate: CandidateId, generation: int) -> Asked | NoteAsked:
        """A mutant of the elite; before the first one, the long-term reflection of the generation."""
        population = self.settings.population
        (elite,) = state.members_of(ELITE)
        last = generation * (population + 1) + population
        if self._reflects and len(state.notes) <= last:
            before = state.notes[last - population - 1].text if generation else ""
            hints = [state.notes[n].text for n in range(last - population, last)]
            prompt = self.prompts.summary("long-term-reflection", before, hints)
            return NoteAsked(last, (elite.candidate,), prompt)
        hint = state.notes[last].text if self._reflects else ""
        return question(candidate, [elite], self.prompts.hinted("mutation", [elite], hint))

    def _pair(self, state: RunState, candidate: CandidateId) -> Sequence[Member]:
        """Two parents for a child, from worse to better: of different scores where there are any."""
        parents = {m.candidate: m for m in (*state.members_of(POPULATION), *state.members_of(ELITE))}
        pool, rng = list(parents.values()), self.generator(candidate)
        one = pool[int(rng.integers(len(pool)))]
        others = [m for m in pool if m.score != one.score] or [m for m in pool if m is not one] or [one]
        pair = [one, others[int(rng.integers(len(others)))]]
        return sorted(pair, key=lambda member: member.merit)
