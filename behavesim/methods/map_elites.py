"""MAP-Elites over behaviour: the best program of each kind of behaviour (Mouret & Clune 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Method, MethodSettings, question
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

CENTRES = "centres"
"""The name of the group of programs at the centre of each cell. They stay centres after they have lost their cell."""


class MapElitesSettings(MethodSettings):
    """The settings of MAP-Elites."""

    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget. With 0
    the template is the only centre."""
    cells: int = Field(30, ge=1)
    """Greatest number of cells; there are fewer if the initial programs have fewer different behaviours."""
    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt shows, each the elite of another cell; fewer if there are fewer cells."""


@dataclass(frozen=True)
class Spread:
    """A request for centres that behave differently: the best program, then each time the farthest from all before.

    They are chosen among `members`, which come oldest first and are at least one; `count` is their greatest number.
    """

    members: tuple[Member, ...]
    count: int

    def decide(self, behaviours: Behaviours) -> Regrouped:
        """Return the group of centres: at most `count`, no two of them at distance 0."""
        distance = 1.0 - behaviours.matrix([member.candidate for member in self.members])
        chosen = [max(range(len(self.members)), key=lambda k: (self.members[k].utility, -k))]
        nearest = distance[chosen[0]].copy()
        # at distance 0 every further program behaves as a centre does
        while len(chosen) < self.count and nearest.max() > 0:
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, distance[chosen[-1]])
        return Regrouped({CENTRES: tuple(self.members[k].candidate for k in chosen)}, selection=True)


@dataclass(frozen=True)
class FirstMap:
    """A request for the first elite of each cell: the best of the programs that are most similar to its centre.

    `centres` are among the `members`; `members` come oldest first.
    """

    members: tuple[Member, ...]
    centres: tuple[CandidateId, ...]

    def decide(self, behaviours: Behaviours) -> Regrouped:
        """Return a group for each cell, named "0", "1" and so on, with its elite: of equally good ones the oldest."""
        candidates = [member.candidate for member in self.members]
        similarity = behaviours.matrix(candidates)[:, [candidates.index(centre) for centre in self.centres]]
        cells: dict[int, Member] = {}
        for member, cell in zip(self.members, similarity.argmax(axis=1).tolist(), strict=True):
            # greater and not equal: the older of two as good stays, as in `register`
            if cell not in cells or member.utility > cells[cell].utility:
                cells[cell] = member
        return Regrouped({str(cell): (cells[cell].candidate,) for cell in sorted(cells)})


class MapElites(Method[MapElitesSettings]):
    """Keeps the best program of each cell; a newcomer competes with the elite of the cell it is most similar to.

    Cells lie around centres, as in CVT-MAP-Elites (Vassiliades et al. 2018), so nobody has to choose descriptors for a
    grid. Centres are initial programs that behave differently. Parents are the elites of cells drawn uniformly.
    """

    settings_type: ClassVar[type[MethodSettings]] = MapElitesSettings
    fixed_in_forks = frozenset({"n_init", "cells"})

    def regroup(self, state: RunState) -> Spread | FirstMap | None:
        """Return the request for centres once the initial programs are registered, then that for the first elites.

        Before and afterwards return None. If no initial program is feasible, the template is the only centre.
        """
        if state.registered < self.settings.n_init or state.islands:
            return None
        members = tuple(state.members[m] for m in state.ungrouped or [TEMPLATE])
        if CENTRES not in state.groups:
            return Spread(members, self.settings.cells)
        return FirstMap(members, tuple(state.groups[CENTRES].members))

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | None:
        """Return the question for a better program than some elites, drawn from different cells.

        Initial programs are asked for with the template alone; after them None is returned until there is a map.
        """
        if candidate < self.settings.n_init:
            return self.first_question(state, candidate)
        if not state.islands:
            return None
        rng, cells = self.generator(candidate), list(state.islands)
        size = min(self.settings.examples_per_prompt, len(cells))

        def draw(is_uniform: bool) -> list[Member]:
            # a cell holds one program, its elite
            elites = [state.members_of(cells[cell])[0] for cell in rng.choice(len(cells), size=size, replace=False)]
            return sorted(elites, key=lambda member: member.merit)

        elites = self.fresh(state, "improve", draw)
        return question(candidate, elites, self.prompts.showing_programs("improve", elites))

    def compare(self, state: RunState, candidate: OpenCandidate) -> Comparison | None:
        """Return the comparison of the candidate with every centre; None while there is no map."""
        if not state.islands:
            return None
        return Comparison(candidate.id, members=tuple(state.groups[CENTRES].members))

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a candidate joins the cell whose centre it is most similar to, if it is better than its elite.

        The elite is then evicted. Otherwise it is not added, nor is an infeasible one. An initial program is added
        without a cell.
        """
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        # an initial program: there are no cells yet
        if candidate.compared is None:
            return Added(candidate.id, None)
        similarity = candidate.compared.to_members
        centres = state.groups[CENTRES].members
        cell = str(max(range(len(centres)), key=lambda k: (similarity[centres[k]], -k)))
        (elite,) = state.members_of(cell)
        if state.member(candidate).utility <= elite.utility:
            return NotAdded(candidate.id)
        return Added(candidate.id, cell, (elite.candidate,))

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the number of cells; while there is no map, how many of the `n_init` initial programs are feasible."""
        if not state.islands:
            return {"initial programs": f"{len(state.ungrouped)} of {self.settings.n_init}, no map yet"}
        return {"cells": str(len(state.islands))}
