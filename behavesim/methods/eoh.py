"""EoH and EoH+BehaveSim: one population, operators that take turns, and dominance-dissimilarity.

The settings and the method come first, then the ranking by score and behaviour of EoH+BehaveSim. "The authors' code" of
plain EoH is github.com/FeiLiu36/EoH; ai4co/reevo has a copy in baselines/eoh/original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behavesim.methods.method import (
    Generator,
    Method,
    MethodSettings,
    add_if_it_stays,
    compare_with,
    is_copy,
    only,
    question,
    rank_probabilities,
    softmax,
    worst_first,
)
from behavesim.programs.functions import has_constants
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# The name of the only group.
POPULATION = "population"
# First programs asked for at most, per place of the population (the authors' `n_create`); more if none is feasible.
FIRST_PROGRAMS = 2
# The operators whose prompts show several parents; the prompts of the others show one.
OF_SEVERAL = frozenset({"e1", "e2"})


class EoHSettings(MethodSettings):
    """The settings of EoH, with the defaults of the plain method."""

    population: int = Field(20, ge=2)
    """Size of the population: the greatest number of programs that are kept."""
    # A new operator needs a text of its name in prompts/full and in prompts/paper: without one, its first question
    # raises KeyError. If it shows several parents, it also belongs in OF_SEVERAL. Offline proposers change programs for
    # it as for any operator that BREEDING_MOVES (offline/proposer.py) and MUTATION_MOVES (offline/mutator.py) do not
    # name: add moves of its own there.
    operators: tuple[Literal["e1", "e2", "m1", "m2", "m3"], ...] = Field(("e1", "e2", "m1", "m2"), min_length=1)
    """The operators, which take turns in this order. e1 and e2 show several parents, m1, m2 and m3 one."""
    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt of e1 or e2 shows; fewer if there are no more to choose from."""
    selection: Literal["rank", "dissimilarity"] = "rank"
    """Choose parents and survivors by rank of score, or by dominance and dissimilarity (EoH+BehaveSim)."""


class EoHBehaveSimSettings(EoHSettings):
    """The settings of EoH, with the defaults of EoH+BehaveSim."""

    selection: Literal["rank", "dissimilarity"] = "dissimilarity"
    """Choose parents and survivors by rank of score, or by dominance and dissimilarity (EoH+BehaveSim)."""


class EoH(Method[EoHSettings]):
    """Evolves one population by operators that take turns (paper, "Implementation Details of EoH+BehaveSim").

    `selection = "rank"` chooses parents and survivors by score alone, as plain EoH does; `"dissimilarity"` chooses
    them by score and behaviour together.
    """

    settings_type: ClassVar[type[MethodSettings]] = EoHSettings
    # a fork cannot change these: members are compared once, when they join, and not again under other settings
    fixed_in_forks = frozenset({"selection", "measure", "truncate", "skip", "normaliser"})

    @property
    def uses_behaviour(self) -> bool:
        """Whether behaviour takes part in choosing parents and survivors."""
        return self.settings.selection == "dissimilarity"

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the question for a first program or, once there are enough, of the operator whose turn it is."""
        settings, members = self.settings, state.members_of(POPULATION)
        if self._is_filling(members, candidate):
            if len(members) + len(state.open) >= settings.population:
                return None  # those in flight may yet fill the population
            return Asked(candidate, (), None, self.prompts.showing_template("i1", candidate, state.template))
        # by the candidate's number and not by a counter, so that a resumed run goes on with the right turn
        operator: str = settings.operators[candidate % len(settings.operators)]
        if operator in OF_SEVERAL and len(members) == 1:
            operator = self._of_one_instead(operator)  # nothing to differ from or to share an idea with
        rng = self.generator(candidate)
        if operator in OF_SEVERAL:
            count = settings.examples_per_prompt
            parents = self.fresh(state, operator, lambda is_uniform: self._parents(members, count, rng, is_uniform))
        else:
            operator, parents = self._of_one(state, operator, members, rng)
        return question(candidate, parents, self.prompts.showing_programs(operator, parents), POPULATION)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return whether a candidate joins the population, and who leaves it; an infeasible one or a copy does not."""
        members = state.members_of(POPULATION)
        if not candidate.is_feasible or self._counts_as_copy(members, state.member(candidate)):
            return NotAdded(candidate.id)
        newcomer = state.member(candidate)
        if self.uses_behaviour:  # also while there is room: those who come later choose by these similarities
            newcomer = compare_with(newcomer, members, behaviours)
        if len(members) < self.settings.population:
            return Added(candidate.id, POPULATION)
        pool = [*members, newcomer]  # the newcomer takes part, where the paper's loop stops before it
        values = _dissimilarity(pool).tolist() if self.uses_behaviour else [member.utility for member in pool]
        stay = survivors(pool, values, self.settings.population)
        return add_if_it_stays(candidate.id, POPULATION, members, stay)

    def _is_filling(self, members: list[Member], candidate: CandidateId) -> bool:
        """Return whether `candidate` is asked for as a first program: while the population is not full."""
        # A task with few different scores or programs could never fill it. So operators begin after FIRST_PROGRAMS
        # candidates for each place of the population, if there is any member.
        size = self.settings.population
        return len(members) < size and (not members or candidate < FIRST_PROGRAMS * size)

    def _counts_as_copy(self, members: list[Member], newcomer: Member) -> bool:
        """Return whether the newcomer counts as a copy of a member, by normal form; in plain EoH by score."""
        # There programs of equal score count as one, and the older stays (`population_management` of the authors'
        # pop_greedy.py). They round to 5 decimals first; here scores are compared as they are, since tasks scale them.
        if self.uses_behaviour:
            return is_copy(newcomer, members)
        return any(member.score == newcomer.score for member in members)

    def _of_one(
        self, state: RunState, operator: str, members: list[Member], rng: Generator
    ) -> tuple[str, list[Member]]:
        """Return the operator, which shows one parent, and that parent."""
        # m2 cannot help a program without constants, or in a run that tunes: with `asks_once`, another operator then
        # takes its turn. With `asks_each_once`, the parent is one that the operator has not shown alone yet, and m2
        # gets one with constants.
        if not self.asks_each_once:
            parents = self._parents(members, 1, rng)
            helps = operator != "m2" or self.can_change_numbers(parents[0])
            return operator if helps else self._of_one_instead("m2"), parents
        left = self.not_asked(state, operator, members)
        parents = self._parents(members, 1, rng, among=left)
        while operator == "m2" and not self.can_change_numbers(parents[0]):
            left = [member for member in left if member is not parents[0]]
            if not left and (operator := self._of_one_instead("m2")) == "m2":
                able = [member for member in members if has_constants(member.source)]
                return operator, self._parents(members, 1, rng, among=able or members)
            left = left or self.not_asked(state, operator, members)
            parents = self._parents(members, 1, rng, among=left)
        return operator, parents

    def _of_one_instead(self, operator: str) -> str:
        """Return who takes this operator's turn: m1 of those that show one program, else the next; or itself."""
        # a person who leaves m1 out of `operators` does not want it asked
        others = {other for other in self.settings.operators if other not in OF_SEVERAL and other != operator}
        return min(others, default=operator)

    def _parents(
        self,
        members: list[Member],
        count: int,
        rng: Generator,
        is_uniform: bool = False,
        among: Sequence[Member] | None = None,
    ) -> list[Member]:
        """Draw `count` different members, or all if there are fewer; worst first (paper, "Parent Selection")."""
        # if `is_uniform`, all are equally probable; otherwise only those of `among` are drawn, at least `count`
        size = min(count, len(members))
        by_rank = rank_probabilities([member.utility for member in members])
        probabilities = softmax(_dissimilarity(members)) if self.uses_behaviour else by_rank  # π
        probabilities = only(probabilities, members, among or members)
        drawn = rng.choice(len(members), size=size, replace=False, p=None if is_uniform else probabilities)
        return worst_first(members[index] for index in drawn)


class EoHBehaveSim(EoH):
    """EoH+BehaveSim: chooses parents and survivors by score and behaviour together."""

    settings_type = EoHBehaveSimSettings


# Dominance-dissimilarity: ranks programs by score and by behaviour together (paper, "EoH+BehaveSim").
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def _dissimilarity(members: list[Member]) -> Vector:
    return dissimilarity(np.array([member.utility for member in members]), similarities(members))


def dissimilarity(utility: Vector, similarity: Matrix) -> Vector:
    """Return v of N ≥ 1 programs, (N,), each 0 or less: minus the similarities to those that dominate it.

    `utility` (N,), greater is better; `similarity` (N, N) in [0, 1]; both as in "Parent Selection" of the paper.
    """
    # Two objectives: a high utility, and a low similarity to the best program, the first with the highest utility. One
    # program dominates another if it is no worse in both and better in one.
    to_best = similarity[int(utility.argmax())]
    no_worse = (utility[:, None] >= utility[None, :]) & (to_best[:, None] <= to_best[None, :])
    better = (utility[:, None] > utility[None, :]) | (to_best[:, None] < to_best[None, :])
    dominates = no_worse & better  # D[i, j] = 1 iff P[i] ≺ P[j]; 0 on the diagonal
    return np.asarray(-(similarity * dominates).sum(axis=0), dtype=np.float64)  # ColumnwiseSum(S ⊙ D), S = −BehaveSim


def similarities(members: Sequence[Member]) -> Matrix:
    """Return the (N, N) similarities of members, given oldest first; KeyError if two were never compared."""
    matrix = np.ones((len(members), len(members)))  # 1 on the diagonal: a program is as similar to itself as can be
    for row, younger in enumerate(members):
        for column, elder in enumerate(members[:row]):
            matrix[row, column] = matrix[column, row] = younger.similarity[elder.candidate]
    return matrix


def survivors(members: Sequence[Member], values: Sequence[float], size: int) -> list[CandidateId]:
    """Return the numbers of the `size` members that stay, oldest first (paper, "Population Management").

    The best by score always stays; the others in order of `values`, one for each member, then of score, then of age.
    """
    best = max(members, key=lambda member: member.merit)
    ranked = sorted(
        zip(members, values, strict=True),
        # False sorts before True, so the best by score comes first whatever its value
        key=lambda pair: (pair[0] is not best, -pair[1], -pair[0].utility, pair[0].candidate),
    )
    return sorted(member.candidate for member, _ in ranked[:size])
