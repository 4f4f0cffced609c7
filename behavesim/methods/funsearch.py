"""FunSearch and FunSearch+BehaveSim: one archive of islands; the settings say where parents and children belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.config import Settings
from behavesim.events import (
    Asked,
    Clustered,
    Discarded,
    Evaluated,
    IslandsRestarted,
    Placed,
    Prompt,
    Ticket,
)
from behavesim.methods.comparison import Comparison
from behavesim.methods.draw import Generator, clusters, generator, pick_cluster, pick_program
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.similarity.behaviours import Behaviours
from behavesim.state import TEMPLATE, Member, OpenCandidate, RunState


@dataclass(frozen=True)
class Clustering:
    """Islands of programs that behave alike are wanted."""

    members: tuple[Member, ...]
    islands: int

    def decide(self, behaviours: Behaviours) -> Clustered:
        """The islands, by average linkage on 1 − BehaveSim."""
        groups = behaviours.group([member.candidate for member in self.members], self.islands)
        return founded([tuple(group) for group in groups], self.islands, self.members)


class FunSearch:
    """A pure function from the state of a run to its next decision (paper, "Details of FunSearch+BehaveSim").

    What sets the variants apart is in `config.METHOD_DEFAULTS`: how the islands begin, whether the two examples come
    from one island or two, and which island a child joins.
    """

    def __init__(self, settings: Settings, prompts: FunSearchPrompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def regroup(self, state: RunState) -> Clustered | Clustering | IslandsRestarted | None:
        """The founding or the restart of islands, where the tickets told so far make one due."""
        settings = self._settings
        if not state.clustered:
            return self._found(state) if state.told >= settings.n_init else None
        every = settings.restart_every
        return self._restart(state) if every and state.told // every > state.regrouped_at // every else None

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """The next question; None while the islands wait for the last of the first programs."""
        settings = self._settings
        if ticket < settings.n_init:
            return Asked(ticket, (TEMPLATE,), None, Prompt(self._prompts.template(), "template"))
        if not state.clustered:
            return None
        if (ticket - settings.n_init) % settings.samples_per_prompt and state.last_asked is not None:
            last = state.last_asked
            return Asked(ticket, last.parents, last.island, last.prompt)
        island, parents = self._parents(state, generator(settings.seed, ticket, "ask"))
        text = self._prompts.improve([parent.source for parent in parents])
        return Asked(ticket, tuple(parent.candidate for parent in parents), island, Prompt(text, "improve"))

    def compare(self, state: RunState, candidate: OpenCandidate) -> Comparison | None:
        """Each island's mean similarity decides where the next candidate goes, where behaviour decides."""
        if self._settings.placement != "behaviour" or not state.clustered:
            return None
        groups = {index: tuple(island.members) for index, island in enumerate(state.islands)}
        return Comparison(candidate.asked.candidate, groups)

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """Where a candidate goes; infeasible ones go nowhere."""
        outcome, ticket = candidate.outcome, candidate.asked.candidate
        if not isinstance(outcome, Evaluated) or not self._welcome(state, outcome):
            return Discarded(ticket)
        if not state.clustered:
            return Placed(ticket, None)
        return Placed(ticket, self._island(state, candidate))

    def _welcome(self, state: RunState, outcome: Evaluated) -> bool:
        if state.clustered or self._settings.keep_worse_than_template or state.template is None:
            return True
        return state.objective.utility(outcome.score) >= state.template.utility

    def _island(self, state: RunState, candidate: OpenCandidate) -> int:
        asked, settings = candidate.asked, self._settings
        if settings.placement == "behaviour":
            assert candidate.compared is not None, "behaviour decides, so the candidate has been compared"
            similarity = candidate.compared.similarity
            return max(sorted(similarity), key=lambda island: similarity[island])  # argmax of the mean similarity
        if settings.placement == "parent" and asked.island is not None:
            return asked.island
        return int(generator(settings.seed, asked.candidate, "place").integers(len(state.islands)))

    def _found(self, state: RunState) -> Clustered | Clustering:
        """The first islands: copies of the template, or the first programs, by behaviour or dealt at random."""
        count, members = self._settings.islands, state.nursery
        if not members:
            return Clustered(((TEMPLATE,),) * count)
        programs = tuple(state.members[member] for member in members)
        if self._settings.clustered_start:
            return Clustering(programs, count)
        order = generator(self._settings.seed, state.told, "deal").permutation(len(members))
        dealt = [tuple(members[k] for k in sorted(order[start::count])) for start in range(count)]
        return founded(dealt, count, programs)

    def _restart(self, state: RunState) -> IslandsRestarted:
        """Empty the half with the lowest best scores, refill each from a random survivor ("Restarting Islands")."""
        rng = generator(self._settings.seed, state.told, "restart")
        best = [state.best_member(island.members) for island in state.islands]
        tie_break = rng.permutation(len(best))
        order = sorted(range(len(best)), key=lambda i: (best[i].utility, tie_break[i]))
        emptied, survivors = order[: len(best) // 2], order[len(best) // 2 :]
        return IslandsRestarted({island: best[int(rng.choice(survivors))].candidate for island in sorted(emptied)})

    def _parents(self, state: RunState, rng: Generator) -> tuple[int, list[Member]]:
        """The examples of a prompt in ascending order of score, and the island of the best of them.

        S1 takes each from an island of its own, S2 all from one (paper, "Algorithm Selection"); no two are the same
        program in other words.
        """
        count = self._settings.examples_per_prompt
        across = rng.random() < self._settings.p_s1
        drawn = self._draw_islands(state, min(count, len(state.islands)) if across else 1, rng)
        chosen: list[tuple[int, Member]] = []
        for turn in range(count):
            taken = {member.identity for _, member in chosen}
            for index in np.roll(drawn, -turn).tolist():  # one with nothing new to show leaves its turn
                members = [state.members[m] for m in state.islands[index].members]
                if fresh := [member for member in members if member.identity not in taken]:
                    used = {member.score for island, member in chosen if island == index}
                    chosen.append((index, self._pick(state, index, fresh, used, rng)))
                    break
        chosen.sort(key=lambda pair: (pair[1].utility, -pair[1].candidate))
        return chosen[-1][0], [member for _, member in chosen]

    def _draw_islands(self, state: RunState, count: int, rng: Generator) -> NDArray[np.int64]:
        if self._settings.island_choice == "uniform":
            return rng.choice(len(state.islands), size=count, replace=False)
        best = [state.best_member(island.members).utility for island in state.islands]
        ranks = np.empty(len(best))
        ranks[np.argsort([-utility for utility in best], kind="stable")] = np.arange(1, len(best) + 1)
        return rng.choice(len(best), size=count, replace=False, p=(1 / ranks) / (1 / ranks).sum())

    def _pick(self, state: RunState, island: int, members: list[Member], used: set[float], rng: Generator) -> Member:
        """One program of an island: by score a cluster, not one used already where another is left; then by length."""
        groups = clusters(members)
        groups = [group for group in groups if group[0].score not in used] or groups
        settings, registrations = self._settings, state.islands[island].registrations
        cooled = (registrations % settings.cluster_temperature_period) / settings.cluster_temperature_period
        temperature = settings.cluster_temperature * (1 - cooled)
        return pick_program(pick_cluster(groups, settings.score_scale, temperature, rng), rng)


def founded(groups: Sequence[tuple[Ticket, ...]], islands: int, members: Sequence[Member]) -> Clustered:
    """The first islands; a group left empty takes the best program of the largest."""
    filled = [group for group in groups if group]
    largest = max(filled, key=lambda group: len(group))
    best = max((m for m in members if m.candidate in largest), key=lambda m: (m.utility, -m.candidate)).candidate
    return Clustered((*filled, *((best,) for _ in range(islands - len(filled)))))
