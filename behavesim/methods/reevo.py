"""ReEvo: generations of programs, and reflections on what made some of them better (Ye et al., NeurIPS 2024).

"The authors' code" is github.com/ai4co/reevo, reevo.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from pydantic import Field

from behavesim.methods.method import Generator, Method, MethodSettings, question, worst_first
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, NotAdded, NoteAsked, Regrouped
from behavesim.state.members import Member, Note, OpenCandidate
from behavesim.state.state import RunState

# The name of the group of parents: the last generation's children and the mutants after them.
POPULATION = "population"
# The name of the group of one: the best program when the last generation's children were complete.
ELITE = "elite"

# The operators of the two kinds of notes: on a pair of parents, and on the short-term ones since the last such note.
SHORT_TERM, LONG_TERM = "short-term-reflection", "long-term-reflection"
# How a reflection begins that finds nothing to learn: the prompt offers these words.
NOTHING = "no difference"


class ReEvoSettings(MethodSettings):
    """The settings of ReEvo."""

    initial_population: int = Field(30, ge=2)
    """Number of initial programs, asked for with the template; by default a quarter of the budget, from 2 to 30."""
    population: int = Field(10, ge=2)
    """Number of children by crossover in a generation."""
    mutation_rate: float = Field(0.5, ge=0, le=1)
    """Number of mutants of the best program in a generation, as a share of `population`, rounded; 0 for none."""
    reflection: bool = True
    """Whether to ask for reflections; the offline proposer writes none."""

    @property
    def mutants(self) -> int:
        """Number of mutants in a generation, rounded to a whole number."""
        return round(self.mutation_rate * self.population)


class ReEvo(Method[ReEvoSettings]):
    """Evolves a population, and asks the model to reflect on what made programs better (Ye et al., NeurIPS 2024).

    It repeats selection, short-term reflection, crossover, long-term reflection and elitist mutation (figure 1).
    A generation is asked for when the one before is registered. Reflections are notes: a generation has one on each
    pair of parents that has none yet and, if it has mutants, one that sums up those that are new.
    """

    settings_type: ClassVar[type[MethodSettings]] = ReEvoSettings
    fixed_in_forks = frozenset({"initial_population", "population", "mutation_rate", "reflection"})
    asks_notes = True

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the new population and elite once a generation's last child is registered, else None."""
        # The initial programs are the first generation. If no child is feasible, the population stays, at first the
        # template.
        due = self._last_boundary(state.registered)
        if due is None or (POPULATION in state.groups and state.groups[POPULATION].arranged_at >= due):
            return None
        before = state.groups[POPULATION].members if POPULATION in state.groups else [TEMPLATE]
        # the template counts among the members, as the seed does in the authors' code
        elite = state.best_member(state.members)
        return Regrouped({POPULATION: tuple(state.ungrouped or before), ELITE: (elite.candidate,)})

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return the next question, or a reflection that it needs; None while a registration is awaited."""
        settings = self.settings
        if candidate < settings.initial_population:
            return Asked(
                candidate,
                (TEMPLATE,),
                None,
                self.prompts.showing_template("initial", candidate, state.template, operator="template"),
            )
        place = (candidate - settings.initial_population) % self._cycle
        children = candidate - place + settings.population  # the number after the generation's last child
        if state.registered < (candidate - place if place < settings.population else children):
            return None
        if place < settings.population:
            return self._cross(state, candidate, children)
        return self._mutate(state, candidate)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a mutant joins the population at once, any other program when its generation is complete."""
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        place = (candidate.id - self.settings.initial_population) % self._cycle
        is_mutant = candidate.id >= self.settings.initial_population and place >= self.settings.population
        return Added(candidate.id, POPULATION if is_mutant else None)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the generation, from 0, the number of reflections, and a word if the proposer writes none."""
        generation = max(0, state.asked - self.settings.initial_population) // self._cycle
        offline = "" if self.context.takes_notes else " (the proposer writes none)"
        return {"generation": str(generation), "reflections": f"{len(state.notes)}{offline}"}

    @property
    def _cycle(self) -> int:
        """Number of candidates in a generation: its children and its mutants."""
        return self.settings.population + self.settings.mutants

    @property
    def _reflects(self) -> bool:
        return self.settings.reflection and self.context.takes_notes

    def _last_boundary(self, registered: int) -> int | None:
        """Return how many candidates there were when the last generation's children were complete, or None."""
        # the initial programs are the first generation's children
        beyond = registered - self.settings.initial_population
        if beyond < 0:
            return None
        generation, place = divmod(beyond, self._cycle)
        start = registered - place
        if place >= self.settings.population:
            return start + self.settings.population
        # this generation's children are not complete: the last that were are those before the latest mutants
        return start if generation == 0 else start - self.settings.mutants

    def _cross(self, state: RunState, candidate: CandidateId, end: CandidateId) -> Asked | NoteAsked:
        """Return the question for a child of two parents, or for a reflection that its generation still needs first."""
        # `end` is the number after the generation's last child. If all parents score the same, the best program is
        # mutated instead: the authors' code (`evolve`) then skips crossover, too.
        pairs = self._pairs(state, candidate, max(candidate + 1, min(end, state.budget)))
        if not pairs:
            return self._mutate(state, candidate)
        pair = pairs[0]
        if not self._reflects:
            return question(candidate, pair, self.prompts.hinted("crossover", pair, ""))
        known = {note.asked.about: note.text for note in state.notes.values()}
        # All reflections of a generation are asked for at once, to wait for one reply and not for ten. A child beyond
        # the budget asks for its own when its turn comes, since nobody knows how far the budget will be raised.
        for parents in pairs:
            if _numbers(parents) not in known:
                prompt = self.prompts.showing_programs(SHORT_TERM, parents)
                return NoteAsked(len(state.notes), _numbers(parents), prompt)
        return question(candidate, pair, self.prompts.hinted("crossover", pair, _said(known[_numbers(pair)])))

    def _mutate(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked:
        """Return the question for a mutant of the best program, or first a long-term reflection on what is new."""
        best = state.best_member(state.members)
        if not self._reflects:
            return question(candidate, [best], self.prompts.hinted("mutation", [best], ""))
        learnt, hints = _learnt(state)
        if hints:
            prompt = self.prompts.summary(LONG_TERM, learnt, hints)
            return NoteAsked(len(state.notes), (best.candidate,), prompt)
        return question(candidate, [best], self.prompts.hinted("mutation", [best], learnt))

    def _pairs(self, state: RunState, begin: CandidateId, end: CandidateId) -> list[list[Member]]:
        """Return two parents of different scores for each child from `begin` to before `end`; [] without any."""
        parents = {m.candidate: m for m in (*state.members_of(POPULATION), *state.members_of(ELITE))}
        pool = list(parents.values())
        if len({member.score for member in pool}) < 2:
            return []
        pairs: list[list[Member]] = []
        for child in range(begin, end):
            draw = partial(_pair, pool, self.generator(child))
            # the pairs so far count as shown: a generation repeats none while there are others
            pairs.append(self.fresh(state, "crossover", draw, [_numbers(pair) for pair in pairs]))
        return pairs


def _pair(pool: Sequence[Member], rng: Generator, is_uniform: bool) -> list[Member]:
    """Draw a program of `pool`, then one of another score, uniformly; the worse first."""
    one = pool[int(rng.integers(len(pool)))]
    # different scores: a reflection is on what makes one of the two better
    others = [m for m in pool if m.score != one.score]
    return worst_first((one, others[int(rng.integers(len(others)))]))


def _numbers(programs: Sequence[Member]) -> tuple[CandidateId, ...]:
    return tuple(program.candidate for program in programs)


def _learnt(state: RunState) -> tuple[str, list[Note]]:
    """Return the text of the last long-term reflection ("" before the first), and the short-term ones since."""
    learnt, hints = "", list[Note]()
    for note in state.notes.values():
        if note.asked.prompt.operator == LONG_TERM:
            learnt, hints = note.text, []
        elif _said(note.text):
            hints.append(note)
    return learnt, hints


def _said(hint: str) -> str:
    """Return a reflection's text, "" if it says that there is no difference."""
    return "" if hint.strip(" .*\"'{}").casefold().startswith(NOTHING) else hint
