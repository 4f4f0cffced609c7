"""FunSearch and FunSearch+BehaveSim: islands of programs, their founding, restarts and draws of parents.

Settings alone distinguish the two: they choose where parents come from and where children go.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behavesim.methods.method import (
    Generator,
    Method,
    MethodSettings,
    clusters,
    pick_cluster,
    pick_program,
    question,
    ranks,
)
from behavesim.similarity.clustering import average_linkage, k_means
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, GroupName, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task


class FunSearchSettings(MethodSettings):
    """The settings of FunSearch, with the defaults of the plain method."""

    islands: int = Field(10, ge=1)
    """Number of islands; fewer by default with a budget below 2 000."""
    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt shows; fewer if there are no more to choose from."""
    samples_per_prompt: int = Field(2, ge=1)
    """Number of candidates asked for with the same prompt; fewer by default with a budget below 1 000."""
    n_init: int = Field(0, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget. With 0
    every island begins with the template."""
    clustered_start: bool = False
    """Whether to group the initial programs into islands by behaviour; otherwise they are dealt out at random."""
    clustering: Literal["kmeans", "average"] = "kmeans"
    """How `clustered_start` groups them: k-means on the rows of 1 − BehaveSim, or average linkage."""
    placement: Literal["behaviour", "parent", "random"] = "parent"
    """The island a program joins: the most similar one on average, its better parent's, or a random one."""
    p_s1: float = Field(0.0, ge=0, le=1)
    """Probability that a prompt's programs come from different islands (S1) instead of one (S2)."""
    island_choice: Literal["uniform", "rank"] = "uniform"
    """How islands are drawn: uniformly, or with probability ∝ 1 / rank of their best program."""
    keep_worse_than_template: bool = True
    """Whether to keep initial programs that score worse than the template."""
    cluster_temperature: float = Field(0.1, gt=0)
    """Temperature of the softmax over clusters on a new island; lower values prefer the best scores more."""
    cluster_temperature_period: int = Field(30_000, ge=1)
    """Number of programs added to an island while its cluster temperature falls towards 0; then it starts again."""
    score_scale: float = Field(1.0, ge=0)
    """Difference in score that counts as 1 in the softmax over clusters; the default is the task's own. 0 takes it from
    the scores on the island, as for an evaluator, whose scores may be of any size."""
    restart_every: int = Field(500, ge=0)
    """Number of registered candidates between restarts of the worse half of the islands; 0 means never."""
    restart_every_s: float = Field(0.0, ge=0)
    """Active seconds between restarts of islands; 0 means never (paper: 7200). The run then depends on its speed."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """Return the defaults that follow from the budget, and `score_scale`, which follows from the task."""
        return {**super().suited(task, budget), "score_scale": task.score_scale}


class FunSearchBehaveSimSettings(FunSearchSettings):
    """The settings of FunSearch, with the defaults of FunSearch+BehaveSim."""

    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget. With 0
    every island begins with the template."""
    clustered_start: bool = True
    """Whether to group the initial programs into islands by behaviour; otherwise they are dealt out at random."""
    placement: Literal["behaviour", "parent", "random"] = "behaviour"
    """The island a program joins: the most similar one on average, its better parent's, or a random one."""
    p_s1: float = Field(0.5, ge=0, le=1)
    """Probability that a prompt's programs come from different islands (S1) instead of one (S2)."""


class _Drawn(list[Member]):
    """Programs of a prompt, worst first; `island` is the one that the best of them is from."""

    def __init__(self, chosen: Sequence[tuple[GroupName, Member]]) -> None:
        super().__init__(member for _, member in chosen)
        self.island = chosen[-1][0]


class FunSearch(Method[FunSearchSettings]):
    """Evolves islands of programs side by side (paper, "Details of FunSearch+BehaveSim").

    The two variants differ in their settings alone: how islands begin, whether the programs of a prompt come from one
    island or several, and which island a child joins.
    """

    settings_type: ClassVar[type[MethodSettings]] = FunSearchSettings
    fixed_in_forks = frozenset({"islands", "n_init"})

    @property
    def uses_behaviour(self) -> bool:
        """Whether behaviour decides how islands begin or which island a program joins."""
        settings = self.settings
        return settings.placement == "behaviour" or (settings.clustered_start and settings.n_init > 0)

    @property
    def clock_every_s(self) -> float:
        """Active seconds between restarts by the clock; 0 for never."""
        return self.settings.restart_every_s

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the first islands once the initial programs are registered, later a restart that is due; else None."""
        if not state.groups:
            return self._found(state, behaviours) if state.registered >= self.settings.n_init else None
        return self._restart(state) if self._is_restart_due(state) else None

    def _is_restart_due(self, state: RunState) -> bool:
        if len(state.groups) < 2:  # a restart empties the worse half of the islands, and half of one is none
            return False
        last = max(state.groups.values(), key=lambda group: group.arranged_at)
        periods = (
            (self.settings.restart_every, last.arranged_at, state.registered),
            (self.settings.restart_every_s, last.arranged_at_s, state.active_s),
        )
        # multiples and not differences: a restart that came late does not put off the next one
        return any(every and now // every > before // every for every, before, now in periods)

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the next question; None while initial programs are awaited."""
        settings = self.settings
        if candidate < settings.n_init:
            return self.first_question(state, candidate)
        if not state.groups:
            return None
        shared = self.shared_parents(state, candidate, settings.n_init, settings.samples_per_prompt, "improve")
        if shared is not None:
            parents, island = shared
        else:
            rng = self.generator(candidate)
            drawn = self.fresh(state, "improve", lambda is_uniform: self._parents(state, rng, is_uniform))
            parents, island = drawn, drawn.island
        return question(candidate, parents, self.prompts.showing_programs("improve", parents), island)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return which island a candidate joins; initial programs are added, and get their island later."""
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        if state.groups:
            return Added(candidate.id, self._island(state, behaviours, candidate))
        is_worse = state.template is not None and state.member(candidate).utility < state.template.utility
        if is_worse and not self.settings.keep_worse_than_template:
            return NotAdded(candidate.id)
        return Added(candidate.id, None)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return how many initial programs there are; once there are islands, when they restart next (empty: never)."""
        every = self.settings.restart_every
        if not state.groups:
            return {"initial programs": f"{len(state.ungrouped)} of {self.settings.n_init}, not in islands yet"}
        by_clock = f"every {every_s:g} s" if (every_s := self.settings.restart_every_s) else ""
        by_count = f"at candidate {state.registered - state.registered % every + every:,}" if every else ""
        said = ", and ".join(filter(None, (by_count, by_clock)))
        return {"next restart": said} if said and len(state.groups) > 1 else {}

    def _island(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> GroupName:
        asked, placement = candidate.asked, self.settings.placement
        if placement == "behaviour":
            # unclipped: programs far from all islands would be equally similar to each otherwise
            similarity = behaviours.means(candidate.id, {name: group.members for name, group in state.groups.items()})
            return max(state.groups, key=lambda island: similarity[island])  # argmax of the mean similarity
        # a program that a person injected has no parent: it joins a random island
        if placement == "parent" and asked.group is not None:
            return asked.group
        return str(self.generator(candidate.id, "place").integers(len(state.groups)))

    def _found(self, state: RunState, behaviours: Behaviours) -> Regrouped:
        """Return the first islands: the initial programs in groups or, without any, copies of the template."""
        settings, members = self.settings, state.ungrouped
        # without initial programs every island begins with the template, as in FunSearch
        if not members:
            return Regrouped({str(island): (TEMPLATE,) for island in range(settings.islands)})
        # islands that only repeat others' programs would be drawn as often as these
        count = min(settings.islands, len(members))
        programs = tuple(state.members[member] for member in members)
        if settings.clustered_start:
            return initial_islands(self._clusters(members, count, behaviours), count, programs)
        # a deck that is shuffled and dealt gives islands of equal sizes, other than a draw for each program
        order = self.generator(state.registered, "deal").permutation(len(members))
        dealt = [tuple(members[k] for k in sorted(order[start::count])) for start in range(count)]
        return Regrouped({str(island): programs for island, programs in enumerate(dealt)})

    def _clusters(
        self, members: Sequence[CandidateId], count: int, behaviours: Behaviours
    ) -> list[tuple[CandidateId, ...]]:
        """Return the initial programs in at most `count` groups of similar behaviour."""
        distances = 1.0 - behaviours.matrix(members)
        if self.settings.clustering == "average":
            labels = average_linkage(distances, count)
        else:
            # as in the authors' code: two programs are near if they are equally far from all others
            labels = k_means(distances, count, self.generator(len(members), "cluster"))
        groups: dict[int, list[CandidateId]] = defaultdict(list)
        for number, label in zip(members, labels, strict=True):
            groups[label].append(number)
        return [tuple(group) for group in groups.values()]

    def _restart(self, state: RunState) -> Regrouped:
        """Return the restart: it empties the half of the islands with the lowest best scores."""
        # Half of an odd number is rounded down. An emptied island gets the best program of a random one of the others
        # (paper, "Restarting Islands").
        rng, names = self.generator(state.registered, "restart"), list(state.groups)
        best = [state.best_member(group.members) for group in state.groups.values()]
        # equal islands in random order, or the first names would always survive
        tie_break = rng.permutation(len(best))
        order = sorted(range(len(best)), key=lambda i: (best[i].utility, tie_break[i]))
        emptied, survivors = order[: len(best) // 2], order[len(best) // 2 :]
        return Regrouped({names[i]: (best[int(rng.choice(survivors))].candidate,) for i in sorted(emptied)})

    def _parents(self, state: RunState, rng: Generator, is_uniform: bool) -> _Drawn:
        """Return the programs of a prompt, worst first."""
        # S1 takes them from different islands in turn, S2 all from one (paper, "Algorithm Selection"). No two have the
        # same normal form; there are fewer than `examples_per_prompt` if the islands have no more. Where `is_uniform`,
        # programs of an island are equally probable: neither scores nor lengths count.
        count = self.settings.examples_per_prompt
        across = rng.random() < self.settings.p_s1
        islands = deque(self._draw_islands(state, min(count, len(state.groups)) if across else 1, rng).tolist())
        chosen: list[tuple[GroupName, Member]] = []
        for _ in range(count):
            taken = {member.identity for _, member in chosen}
            for island in map(str, islands):  # an island without a new program passes its turn to the next
                if fresh := [member for member in state.members_of(island) if member.identity not in taken]:
                    used = {member.score for other, member in chosen if other == island}
                    any_of = fresh[int(rng.integers(len(fresh)))] if is_uniform else None
                    chosen.append((island, any_of or self._pick(state, island, fresh, used, rng)))
                    break
            # S1: the next program comes from the next island; S2 has one island, and this changes nothing
            islands.rotate(-1)
        return _Drawn(sorted(chosen, key=lambda pair: pair[1].merit))

    def _draw_islands(self, state: RunState, count: int, rng: Generator) -> NDArray[np.int64]:
        if self.settings.island_choice == "uniform":
            return rng.choice(len(state.groups), size=count, replace=False)
        best = [state.best_member(group.members).utility for group in state.groups.values()]
        weights = 1 / ranks(best)
        return rng.choice(len(best), size=count, replace=False, p=weights / weights.sum())

    def _pick(
        self, state: RunState, island: GroupName, members: list[Member], used: set[float], rng: Generator
    ) -> Member:
        """Draw a cluster by score, preferably one whose score is not in `used`, and from it a program by length."""
        groups = clusters(members)
        groups = [group for group in groups if group[0].score not in used] or groups
        settings, added = self.settings, state.groups[island].added
        # saw-tooth of FunSearch: colder as an island fills, and hot again after each period
        cooled = (added % settings.cluster_temperature_period) / settings.cluster_temperature_period
        temperature = settings.cluster_temperature * (1 - cooled)
        return pick_program(pick_cluster(groups, settings.score_scale or _own_scale(groups), temperature, rng), rng)


class FunSearchBehaveSim(FunSearch):
    """FunSearch+BehaveSim: behaviour decides how islands begin and which one a child joins."""

    settings_type = FunSearchBehaveSimSettings


def _own_scale(groups: Sequence[Sequence[Member]]) -> float:
    """Return the difference in score that counts as 1, from the scores of clusters on an island; 1 for one cluster."""
    # where nobody knows what matters: at the usual temperature, .1, the median is drawn e^-3 times as often as the best
    ordered = sorted(group[0].utility for group in groups)
    return 10 / 3 * (ordered[-1] - ordered[(len(ordered) - 1) // 2]) or 1.0


def initial_islands(groups: Sequence[tuple[CandidateId, ...]], islands: int, members: Sequence[Member]) -> Regrouped:
    """Return the first islands, "0" and so on: the groups, and further ones up to `islands` with the best program."""
    best = max(members, key=lambda member: member.merit).candidate
    held = [*groups, *[(best,)] * (islands - len(groups))]
    return Regrouped({str(island): programs for island, programs in enumerate(held)})
