"""EoH-S: evolves a small set of complementary programs by their scores on single instances (Liu et al., AAAI 2026).

The sources are the published paper, its first version, arXiv 2508.03082, whose appendix has the prompts, and "the
authors' code", github.com/FeiLiu36/EoH-S: code/llm4ad/method/eohs. The paper is followed where they differ; the page on
methods lists where. It says nothing of copies: there the code is followed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from behavesim.base.text import count_noun
from behavesim.methods.eoh import FIRST_PROGRAMS
from behavesim.methods.method import (
    Generator,
    Method,
    MethodSettings,
    falling,
    only,
    question,
    rank_probabilities,
    worst_first,
)
from behavesim.methods.set_search import set_order, utilities
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# The name of the only group: the set, in the order in which it was chosen.
POPULATION = "population"


class EoHSSettings(MethodSettings):
    """The settings of EoH-S."""

    # the population is the set that a person asked for, and not a means to find one program
    of_any_budget = frozenset({"population"})

    population: int = Field(10, ge=2)
    """Number of programs in the set (n), and of new ones in a generation."""
    operators: tuple[Literal["cs", "ls"], ...] = Field(("cs", "ls"), min_length=1)
    """The kinds of requests, drawn with equal probability: cs shows two complementary programs and asks for another
    one, ls shows one program and asks for a better one."""


class EoHS(Method[EoHSSettings]):
    """Evolves a set of programs that complement one another on the search's instances; behaviour takes no part.

    In each generation n programs are asked for and the n that are best together stay ("Complementary Population
    Management"). A generation is asked for when the one before is registered.
    """

    settings_type: ClassVar[type[MethodSettings]] = EoHSSettings
    fixed_in_forks = frozenset({"population"})

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the n programs of a registered generation and the last set that are best together, else None."""
        # The first is the best by score; each next one most improves the sum over instances of the set's best score
        # (ΔCPI, eq. 3). First programs are a generation, too, complete when none is in flight and n were added, or one
        # was and FIRST_PROGRAMS · n are registered: a task with few different programs could never give n.
        size = self.settings.population
        if POPULATION in state.groups:
            is_due = state.registered >= state.groups[POPULATION].arranged_at + size
        else:
            enough = size if state.registered < FIRST_PROGRAMS * size else 1
            is_due = len(state.ungrouped) >= enough and not state.open
        if not is_due:
            return None
        pool = [*state.members_of(POPULATION), *(state.members[each] for each in state.ungrouped)]
        order = set_order(pool, utilities(pool, state.objective))[:size]
        return Regrouped({POPULATION: tuple(pool[place].candidate for place in order)})

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the next question; None when the generation is asked for, until it is registered."""
        size = self.settings.population
        if POPULATION not in state.groups:
            if state.ungrouped and candidate >= FIRST_PROGRAMS * size:
                return None
            if len(state.ungrouped) + len(state.open) >= size:  # those in flight may yet be feasible
                return None
            return Asked(candidate, (), None, self.prompts.showing_template("i1", candidate, state.template))
        if candidate >= state.groups[POPULATION].arranged_at + size:
            return None
        members, rng = state.members_of(POPULATION), self.generator(candidate)
        operator = self.settings.operators[int(rng.integers(len(self.settings.operators)))]
        if operator == "cs" and len(members) > 1:
            asked = state.shown_parents.get("cs", set()) if self.asks_once else set()
            parents = worst_first(farthest_pair(members, rng, asked))
        else:
            operator, parents = "ls", [_by_rank(members, self.not_asked(state, "ls", members), rng)]
        return question(candidate, parents, self.prompts.showing_programs(operator, parents), POPULATION)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a candidate waits for its generation to be complete; infeasible ones and copies do not."""
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        newcomer = state.member(candidate)
        # a copy has the same normal form or the same score on every instance (the authors' `has_duplicate_function`)
        known = [*state.members_of(POPULATION), *(state.members[each] for each in state.ungrouped)]
        if any(each.identity == newcomer.identity or each.scores == newcomer.scores for each in known):
            return NotAdded(candidate.id)
        return Added(candidate.id, None)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the set's size and how many of the generation are registered, or how many wait for the first set."""
        if POPULATION not in state.groups:
            return {"set": f"none yet, {count_noun(len(state.ungrouped), 'first program')}"}
        group = state.groups[POPULATION]
        done = state.registered - group.arranged_at
        return {"set": f"{len(group.members)} programs, {done} of {self.settings.population} of the next generation"}


def farthest_pair(
    members: Sequence[Member], rng: Generator, asked: Collection[tuple[CandidateId, ...]] = ()
) -> tuple[Member, Member]:
    """Return the two of at least two members whose scores differ most ("Complementary-aware Search").

    A pair in `asked`, in either order, is only returned if all pairs are: then one is drawn, farther ones preferred.
    """
    # Manhattan distance over the instances: the same whether a task minimises or maximises
    scores = np.array([member.scores for member in members], dtype=np.float64)
    distances = np.abs(scores[:, None, :] - scores[None, :, :]).sum(axis=2)
    rows, columns = np.triu_indices(len(members), 1)
    order = np.argsort(-distances[rows, columns], kind="stable")
    pairs = [(members[rows[place]], members[columns[place]]) for place in order]
    known = {frozenset(numbers) for numbers in asked}
    fresh = [pair for pair in pairs if frozenset(each.candidate for each in pair) not in known]
    # the farthest once more would be half of all questions while no new program survives
    return fresh[0] if fresh else pairs[int(rng.choice(len(pairs), p=falling(len(pairs))))]


def _by_rank(members: Sequence[Member], among: Sequence[Member], rng: Generator) -> Member:
    """Draw a member of `among` as plain EoH does, p ∝ 1 / (rank of its mean score + N) ("Local Search")."""
    probabilities = only(rank_probabilities([member.utility for member in members]), members, among)
    return members[int(rng.choice(len(members), p=probabilities))]
