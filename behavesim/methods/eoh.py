"""EoH and EoH+BehaveSim: one population, and operators that take turns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behavesim.config import Settings
from behavesim.events import Asked, Compared, Discarded, Evaluated, Operator, Placed, Prompt, Ticket
from behavesim.methods.comparison import Comparison
from behavesim.methods.dominance import dissimilarity, similarities, survivors
from behavesim.methods.draw import Generator, generator, softmax
from behavesim.prompts.eoh import EohPrompts, Example
from behavesim.state import Member, OpenCandidate, RunState

POPULATION = 0
"""The island that is the population."""

OF_SEVERAL: frozenset[Operator] = frozenset({"e1", "e2"})
"""The operators that show several parents; the others change one."""


class EoH:
    """A pure function from the state of a run to its next decision (paper, "Implementation Details of EoH+BehaveSim").

    With `selection = "rank"` parents and survivors are chosen by score alone, as in plain EoH; with `"dissimilarity"`
    by the dominance-dissimilarity of score and behaviour.
    """

    def __init__(self, settings: Settings, prompts: EohPrompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def regroup(self, state: RunState) -> None:
        """Never: the population is renewed one program at a time."""
        return

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """First programs till the population is full, then the operators in turn; None while it may yet become full."""
        settings, members = self._settings, _population(state)
        if len(members) < settings.population:
            if len(members) + len(state.open) >= settings.population:
                return None
            return Asked(ticket, (), None, Prompt(self._prompts.first(), "i1"))
        operator = settings.operators[ticket % len(settings.operators)]
        rng = generator(settings.seed, ticket, "ask")
        parents = self._parents(members, settings.examples_per_prompt if operator in OF_SEVERAL else 1, rng)
        text = self._prompts.vary(operator, [Example(parent.source, parent.thought) for parent in parents])
        return Asked(ticket, tuple(parent.candidate for parent in parents), POPULATION, Prompt(text, operator))

    def compare(self, state: RunState, candidate: OpenCandidate) -> Comparison | None:
        """With every member of the population, where behaviour decides and the newcomer is new."""
        members = state.islands[POPULATION].members
        if self._settings.selection != "dissimilarity" or not members or _is_known(state, candidate.outcome):
            return None
        return Comparison(candidate.asked.candidate, {member: (member,) for member in members})

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """Whether a candidate joins the population, and who leaves it; copies and infeasible ones do not join."""
        outcome, ticket = candidate.outcome, candidate.asked.candidate
        if not isinstance(outcome, Evaluated) or _is_known(state, outcome):
            return Discarded(ticket)
        members = _population(state)
        if len(members) < self._settings.population:
            return Placed(ticket, POPULATION)
        stay = set(self._survivors([*members, _newcomer(state, outcome, candidate.compared)]))
        if ticket not in stay:
            return Discarded(ticket)
        return Placed(ticket, POPULATION, tuple(m.candidate for m in members if m.candidate not in stay))

    def _survivors(self, members: list[Member]) -> list[Ticket]:
        by_score = self._settings.selection == "rank"
        values = [member.utility for member in members] if by_score else _dissimilarity(members).tolist()
        return survivors(members, values, self._settings.population)

    def _parents(self, members: list[Member], count: int, rng: Generator) -> list[Member]:
        """Different members in ascending order of score (paper, "Parent Selection")."""
        size = min(count, len(members))
        if self._settings.selection == "rank":
            probabilities = _rank_probabilities(members)
        else:
            probabilities = softmax(_dissimilarity(members))  # π
        drawn = rng.choice(len(members), size=size, replace=False, p=probabilities)
        return sorted((members[index] for index in drawn), key=lambda member: (member.utility, -member.candidate))


def _population(state: RunState) -> list[Member]:
    """The members of the population in order of age."""
    return [state.members[member] for member in state.islands[POPULATION].members]


def _is_known(state: RunState, outcome: object) -> bool:
    """Whether the population has a program with the same normal form already."""
    return isinstance(outcome, Evaluated) and any(
        member.fingerprint == outcome.fingerprint for member in _population(state)
    )


def _newcomer(state: RunState, outcome: Evaluated, compared: Compared | None) -> Member:
    similarity = {} if compared is None else compared.similarity
    utility = state.objective.utility(outcome.score)
    return Member(outcome.candidate, outcome.source, outcome.score, utility, similarity=similarity)


def _dissimilarity(members: list[Member]) -> NDArray[np.float64]:
    return dissimilarity(np.array([member.utility for member in members]), similarities(members))


def _rank_probabilities(members: list[Member]) -> NDArray[np.float64]:
    """Plain EoH: proportional to 1 / (rank + N), the best having rank 1."""
    order = sorted(range(len(members)), key=lambda index: (-members[index].utility, index))
    weights = np.empty(len(members))
    weights[order] = 1.0 / (np.arange(1, len(members) + 1) + len(members))
    return np.asarray(weights / weights.sum(), dtype=np.float64)
