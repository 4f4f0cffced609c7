"""Set search: looks for programs that are good together, and asks for what the set of them lacks.

The programs of a set are all run on an instance, and the best of their solutions counts. EoH-S (Liu et al., AAAI 2026;
`eoh_s.py`) aims at such sets by the scores on instances; here behaviour can take part. After the method come its words
for prompts, then the order in which a set takes programs (`set_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behavesim.code_similarity.text import subtree_distances
from behavesim.methods.eoh import similarities
from behavesim.methods.method import (
    Generator,
    Method,
    MethodSettings,
    add_if_it_stays,
    compare_with,
    falling,
    is_copy,
    question,
    ranks,
    softmax,
    worst_first,
)
from behavesim.prompts.feedback import IDEA_SHOWN, prose
from behavesim.similarity.clustering import median_distance
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Objective

Worth = Literal["both", "instances", "behaviour", "text"]
# The name of the group of all programs that are kept.
POPULATION = "population"
# The name of the group of those that are the set, in the order in which it takes them.
SET = "set"
# Most instances of which a prompt says how good the set is there, the weakest first.
WEAKEST_SHOWN = 3


class SetSearchSettings(MethodSettings):
    """The settings of set-search."""

    set_size: int = Field(10, ge=2)
    """Number of programs in the set: all are run on an instance, and the best of their solutions counts."""
    population: int = Field(30, ge=2)
    """Greatest number of programs that are kept: the set is chosen from them, and parents are drawn from them."""
    # a population below `set_size` could not fill the set, however small the budget
    of_any_budget = frozenset({"population"})
    worth: Worth = "both"
    """What a program adds to the set: better scores on instances, another behaviour, or another text. With `both` it is
    scores among programs of different behaviour; where no program improves a score, as on a single instance, it is the
    best mean score of another behaviour."""
    set_radius: float = Field(0.3, ge=0)
    """Distance that programs of the set keep from one another, in units of the median distance in the population.
    Nearer ones join only if no others are left; with 0 distance does not count."""
    samples_per_prompt: int = Field(2, ge=1)
    """Number of candidates asked for with the same prompt; fewer by default with a budget below 1 000."""
    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget."""


class SetSearch(Method[SetSearchSettings]):
    """Keeps the programs that a set takes first, and asks for what the set lacks.

    The set takes the best program first, then each time the one that adds most to it (`set_order`). The programs that
    it would take last leave the population. A prompt shows a program of the set and one that complements it.
    """

    settings_type: ClassVar[type[MethodSettings]] = SetSearchSettings
    # a fork cannot change these: members are compared once, when they join, and not again under other settings
    fixed_in_forks = frozenset({"worth", "n_init", "measure", "truncate", "skip", "normaliser"})

    @property
    def uses_behaviour(self) -> bool:
        """Whether behaviour takes part in choosing the set and the parents."""
        return self.settings.worth in ("both", "behaviour")

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the set, chosen anew, if a program has joined the population since it was last chosen; else None."""
        members = state.groups[POPULATION].members if POPULATION in state.groups else []
        if state.registered < self.settings.n_init or not members:
            return None
        if SET in state.groups and members[-1] < state.groups[SET].arranged_at:
            return None
        chosen = self.chosen(state)[: self.settings.set_size]
        return Regrouped({SET: tuple(member.candidate for member in chosen)}, selection=True)

    def chosen(self, state: RunState) -> list[Member]:
        """Return the whole population, not empty, in the order in which the set takes its programs."""
        return self._order(state, state.members_of(POPULATION))

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the question for a program that adds to the set; None while initial programs are awaited."""
        settings = self.settings
        if candidate < settings.n_init:
            return self.first_question(state, candidate)
        if state.registered < settings.n_init:
            return None
        taken = state.members_of(SET)
        if not taken:
            return self.first_question(state, candidate)
        shared = self.shared_parents(state, candidate, settings.n_init, settings.samples_per_prompt, "complement")
        if shared is not None:
            parents, _ = shared
        else:
            parents = self.fresh(state, "complement", self._drawing(state, taken, self.generator(candidate)))
        says = self.prompts.settings.prompt_feedback != "none"
        words = lacks(taken, parents, state.template, state.objective) if says else ""
        by_instance = settings.worth in ("both", "instances") and len(parents[0].scores) > 1
        wanted = describe_wanted(is_set_told=says, by_instance=by_instance)
        prompt = self.prompts.showing_programs("complement", parents, set=words, adds=wanted)
        return question(candidate, parents, prompt, POPULATION)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return whether a candidate joins the population, and who leaves it: those that the set would take last."""
        members = state.members_of(POPULATION)
        if not candidate.is_feasible or is_copy(state.member(candidate), members):
            return NotAdded(candidate.id)
        newcomer = state.member(candidate)
        if self.uses_behaviour:  # also while there is room: those who come later choose by these similarities
            newcomer = compare_with(newcomer, members, behaviours)
        if len(members) < self.settings.population:
            return Added(candidate.id, POPULATION)
        order = self._order(state, [*members, newcomer])
        stay = {member.candidate for member in order[: self.settings.population]}
        return add_if_it_stays(candidate.id, POPULATION, members, stay)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the set's size and, of several instances, its weakest (from 1); or that there is no set yet."""
        taken = state.members_of(SET)
        if not taken or state.template is None:
            return {"set": f"none before {self.settings.n_init} initial programs"}
        gains = _relative(taken, state.template, state.objective).max(axis=0)
        weakest = f", weakest on instance {int(gains.argmin()) + 1}" if len(gains) > 1 else ""
        return {"set": f"{len(taken)} programs{weakest}"}

    def _order(self, state: RunState, members: Sequence[Member]) -> list[Member]:
        """Return members, given oldest first, in the order in which the set takes them."""
        assert state.template is not None, "every run begins with its template"
        gains = _relative(members, state.template, state.objective)
        distances = _distances(members, gains, self.settings.worth)
        by_instance = self.settings.worth in ("both", "instances")
        counted = gains if by_instance else np.zeros_like(gains)
        return [members[place] for place in set_order(members, counted, distances, self.settings.set_radius)]

    def _drawing(self, state: RunState, taken: Sequence[Member], rng: Generator) -> Callable[[bool], list[Member]]:
        """Return what draws a program of the set, `taken`, and one that complements it; the worse comes first."""
        # Both are drawn by rank. `worth` says what ranks the second: the mean over instances of the better gain of the
        # two, its distance from the first, or the sum of both ranks.
        assert state.template is not None, "every run begins with its template"
        members, worth = state.members_of(POPULATION), self.settings.worth
        # once for all draws of a question: they cost more than the draws
        gains = _relative(members, state.template, state.objective)
        distances = None if worth == "instances" else _distances(members, gains, worth)

        def draw(is_uniform: bool) -> list[Member]:
            first = members.index(taken[_by_rank(len(taken), rng, is_uniform)])
            others = [place for place in range(len(members)) if place != first]
            if not others:
                return [members[first]]
            standing = np.zeros(len(others))
            if worth in ("both", "instances"):
                standing += ranks(np.maximum(gains[others], gains[first]).mean(axis=1).tolist())
            if distances is not None:
                standing += ranks(distances[first, others].tolist())
            second = others[int(np.argsort(standing, kind="stable")[_by_rank(len(others), rng, is_uniform)])]
            return worst_first((members[first], members[second]))

        return draw


def lacks(taken: Sequence[Member], shown: Sequence[Member], template: Member | None, objective: Objective) -> str:
    """Return the words of a prompt on what a set lacks: where its best score gains least on the template.

    `taken` are the set's programs, `shown` those of the prompt; `template` must not be None.
    """
    assert template is not None, "every run begins with its template"
    gains = _relative(taken, template, objective)
    weakest = np.argsort(gains.max(axis=0), kind="stable")[:WEAKEST_SHOWN].tolist()
    leaders = gains.argmax(axis=0)
    said = [f"A set of {len(taken)} programs is kept: on each instance the best of their solutions counts."]
    if len(template.scores) == 1:
        return f"{said[0]} The set's best score is {taken[leaders[0]].score:.6g}."
    each = [
        f"instance {place + 1} ({100 * gains[leaders[place], place]:.3g} %, "
        f"scoring {taken[leaders[place]].scores[place]:.6g})"
        for place in weakest
    ]
    said.append(f"Its lead over the search's first program is least on {', '.join(each)}.")
    first = weakest[0]
    scored = [f"program {number} scores {member.scores[first]:.6g}" for number, member in enumerate(shown, 1)]
    said.append(f"On instance {first + 1} {' and '.join(scored)}.")
    leader = taken[leaders[first]]
    if leader.thought and leader.candidate not in {member.candidate for member in shown}:
        said.append(f"The idea of the best program there: {prose(leader.thought, IDEA_SHOWN)}")
    return " ".join(said)


def describe_wanted(is_set_told: bool, by_instance: bool) -> str:
    """Return what a new program should do, as the end of "Write a program that …".

    `is_set_told`: the prompt says what the set lacks. `by_instance`: a better score on one instance is enough.
    """
    if by_instance:
        if is_set_told:
            return (
                "adds to the set: it beats the set's best score on some instance, above all where the lead is least, "
                "even if worse elsewhere"
            )
        return "beats those above on some instance, even if worse elsewhere"
    best = "the set's best score" if is_set_told else "those above"
    adds = "adds to the set: it " * is_set_told
    return f"{adds}beats {best}, or comes near by making other choices"


def _by_rank(count: int, rng: Generator, is_uniform: bool) -> int:
    """Draw a rank of 0 to count − 1, lower ones preferred (`falling`); all equally probable if `is_uniform`."""
    return int(rng.choice(count, p=softmax(np.zeros(count)) if is_uniform else falling(count)))


Matrix = NDArray[np.float64]


def set_order(
    members: Sequence[Member], gains: Matrix, distances: Matrix | None = None, radius: float = 0.0
) -> list[int]:
    """Return the indices of all N members, at least one, in the order in which a set takes them.

    gains: (N, instances), higher is better. distances: (N, N); None if distance does not count. radius: least distance
    of those that come first, in units of the median distance; the rest follow by the same rule, without the distance.
    """
    # The best by score comes first; each next one most improves the mean over instances of the set's best gain. That
    # mean is submodular, so greedy choice is near the best. Of equal ones the better by score comes first, then the
    # shorter text, then the earlier in `members`.
    standing = sorted(
        range(len(members)), key=lambda place: (-members[place].utility, len(members[place].source), place)
    )
    gains = gains[standing]
    distances = np.zeros((len(members),) * 2) if distances is None else distances[np.ix_(standing, standing)]
    apart = radius * median_distance(distances)
    left, far = np.ones(len(standing), dtype=bool), np.ones(len(standing), dtype=bool)
    best, order = np.full(gains.shape[1], np.inf), list[int]()  # nothing improves on infinity: the best by score leads
    while left.any():
        pool = left & far if (left & far).any() else left
        added = np.where(pool, np.maximum(gains - best, 0.0).sum(axis=1), -1.0)
        place = int(added.argmax())  # the first of equal ones, which stand in order of preference
        best = np.maximum(best, gains[place]) if order else gains[place]
        far &= distances[place] >= apart
        left[place] = False
        order.append(standing[place])
    return order


def utilities(members: Sequence[Member], objective: Objective) -> Matrix:
    """Return, (N, instances), the scores of N members, negated if the task minimises: higher is better."""
    return objective.utility(1.0) * np.array([member.scores for member in members], dtype=np.float64)


def _relative(members: Sequence[Member], template: Member, objective: Objective) -> Matrix:
    """Return, (N, instances), how much better N ≥ 1 members are than the template, as a fraction of its score there."""
    # where the template scores 0, no fraction of it exists: it is the plain difference
    base = utilities([template], objective)
    found: Matrix = (utilities(members, objective) - base) / np.where(base == 0, 1.0, np.abs(base))
    return found


def _distances(members: Sequence[Member], gains: Matrix, worth: Worth) -> Matrix:
    """Return (N, N) distances of members, given oldest first: of behaviour, 1 − BehaveSim, or as `worth` says."""
    if worth == "text":
        return subtree_distances([member.source for member in members])
    if worth == "instances":
        differ: Matrix = (gains[:, None, :] != gains[None, :, :]).any(axis=2).astype(np.float64)
        return differ
    return 1.0 - similarities(members)
