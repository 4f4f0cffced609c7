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
"""The best program there was when the last generation's children were complete, the template included."""

SHORT_TERM, LONG_TERM = "short-term-reflection", "long-term-reflection"
"""The operators of the two kinds of notes: on one pair of parents, and on all that was said since the last one."""


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
        return Regrouped({POPULATION: tuple(state.ungrouped or before), ELITE: (_best(state).candidate,)})

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
        place = (candidate - settings.initial_population) % self._cycle
        children = candidate - place + settings.population  # the number after the generation's last child
        if state.registered < (candidate - place if place < settings.population else children):
            return None
        if place < settings.population:
            return self._cross(state, candidate, children)
        return self._mutate(state, candidate)

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

    def _cross(self, state: RunState, candidate: CandidateId, end: CandidateId) -> Asked | NoteAsked:
        """Return the question for a child of a pair, or first a reflection that the generation still needs.

        `end` is the number after the generation's last child. Without two programs of different scores the elite is
        mutated instead: the authors' code (github.com/ai4co/reevo, reevo.py, `evolve`) then skips crossover too.
        """
        pair = self._pair(state, candidate)
        if pair is None:
            return self._mutate(state, candidate)
        if not self._reflects:
            return question(candidate, pair, self.prompts.hinted("crossover", pair, ""))
        known = {note.asked.about: note.text for note in state.notes.values()}
        # all reflections of the generation at once, to wait for one reply and not for ten; but for no child that the
        # budget does not pay for: where it was raised later, each of those further children asks for its own
        for child in range(candidate, max(candidate + 1, min(end, state.budget))):
            parents = self._pair(state, child)
            if parents is not None and _numbers(parents) not in known:
                prompt = self.prompts.of(SHORT_TERM, parents)
                return NoteAsked(len(state.notes), _numbers(parents), prompt)
        return question(candidate, pair, self.prompts.hinted("crossover", pair, known[_numbers(pair)]))

    def _mutate(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked:
        """Return the question for a mutant of the best program, or first a long-term reflection on what is new."""
        best = _best(state)
        if not self._reflects:
            return question(candidate, [best], self.prompts.hinted("mutation", [best], ""))
        learnt, hints = _learnt(state)
        if hints:
            prompt = self.prompts.summary(LONG_TERM, learnt, hints)
            return NoteAsked(len(state.notes), (best.candidate,), prompt)
        return question(candidate, [best], self.prompts.hinted("mutation", [best], learnt))

    def _pair(self, state: RunState, candidate: CandidateId) -> Sequence[Member] | None:
        """Return two parents of different scores for a child, the worse first; None if all parents score the same."""
        parents = {m.candidate: m for m in (*state.members_of(POPULATION), *state.members_of(ELITE))}
        pool, rng = list(parents.values()), self.generator(candidate)
        one = pool[int(rng.integers(len(pool)))]
        others = [m for m in pool if m.score != one.score]
        if not others:
            return None
        pair = [one, others[int(rng.integers(len(others)))]]
        return sorted(pair, key=lambda member: member.merit)


def _best(state: RunState) -> Member:
    """Return the best program there is; the template counts, as the seed does in the authors' code."""
    return state.best_member(state.members)


def _numbers(programs: Sequence[Member]) -> tuple[CandidateId, ...]:
    return tuple(program.candidate for program in programs)


def _learnt(state: RunState) -> tuple[str, list[str]]:
    """Return the text of the last long-term reflection ("" before the first), and of the short-term ones since."""
    learnt, hints = "", list[str]()
    for note in state.notes.values():
        if note.asked.prompt.operator == LONG_TERM:
            learnt, hints = note.text, []
        elif note.text:
            hints.append(note.text)
    return learnt, hints
