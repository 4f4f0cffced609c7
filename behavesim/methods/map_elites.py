"""MAP-Elites over behaviour: the best program of each kind of behaviour (Mouret & Clune 2015)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from behavesim.methods.method import Method, MethodSettings, question, worst_first
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# The name of the group of programs at the centre of each cell. They stay centres after they have lost their cell.
CENTRES = "centres"


class MapElitesSettings(MethodSettings):
    """The settings of MAP-Elites."""

    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget. With 0
    the template is the only centre."""
    cells: int = Field(30, ge=1)
    """Greatest number of cells; there are fewer if the initial programs have fewer different behaviours."""
    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt shows, each the elite of another cell; fewer if there are fewer cells."""


class MapElites(Method[MapElitesSettings]):
    """Keeps the best program of each cell; a newcomer competes with the elite of the cell it is most similar to.

    Cells lie around centres, as in CVT-MAP-Elites (Vassiliades et al. 2018), so nobody has to choose descriptors for a
    grid. Centres are initial programs that behave differently. Parents are the elites of cells drawn uniformly.
    """

    settings_type: ClassVar[type[MethodSettings]] = MapElitesSettings
    fixed_in_forks = frozenset({"n_init", "cells"})
    uses_behaviour = True

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return the centres once the initial programs are registered, then the first elite of each cell."""
        # two rearrangements: the elites need the centres as a group, since they may lose their cell and still define it
        if state.registered < self.settings.n_init or state.islands:
            return None
        members = [state.members[m] for m in state.ungrouped or [TEMPLATE]]  # if none was feasible, the template
        if CENTRES not in state.groups:
            return self._centres(members, behaviours)
        return _first_elites(members, state.groups[CENTRES].members, behaviours)

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the question for a better program than some elites of different cells; None until there is a map."""
        if candidate < self.settings.n_init:
            return self.first_question(state, candidate)
        if not state.islands:
            return None
        rng, cells = self.generator(candidate), list(state.islands)
        size = min(self.settings.examples_per_prompt, len(cells))

        def draw(is_uniform: bool) -> list[Member]:
            drawn = rng.choice(len(cells), size=size, replace=False)
            # a cell holds one program, its elite
            return worst_first(state.members_of(cells[cell])[0] for cell in drawn)

        elites = self.fresh(state, "improve", draw)
        return question(candidate, elites, self.prompts.showing_programs("improve", elites))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a candidate replaces the elite of the cell with the most similar centre, if it is better."""
        if not candidate.is_feasible:
            return NotAdded(candidate.id)
        if not state.islands:  # an initial program: cells come later
            return Added(candidate.id, None)
        centres = state.groups[CENTRES].members
        similarity = behaviours.similarities(candidate.id, centres)
        cell = str(max(range(len(centres)), key=lambda k: (similarity[centres[k]], -k)))
        (elite,) = state.members_of(cell)
        if state.member(candidate).utility <= elite.utility:
            return NotAdded(candidate.id)
        return Added(candidate.id, cell, (elite.candidate,))

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the number of cells; while there is no map, how many of the initial programs are feasible."""
        if not state.islands:
            return {"initial programs": f"{len(state.ungrouped)} of {self.settings.n_init}, no map yet"}
        return {"cells": str(len(state.islands))}

    def _centres(self, members: Sequence[Member], behaviours: Behaviours) -> Regrouped:
        """Return the centres: the best program, then each time the farthest from all before."""
        distance = 1.0 - behaviours.matrix([member.candidate for member in members])
        chosen = [max(range(len(members)), key=lambda k: (members[k].utility, -k))]
        nearest = distance[chosen[0]].copy()
        # at distance 0 every further program behaves as a centre does
        while len(chosen) < self.settings.cells and nearest.max() > 0:
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, distance[chosen[-1]])
        return Regrouped({CENTRES: tuple(members[k].candidate for k in chosen)}, selection=True)


def _first_elites(members: Sequence[Member], centres: Sequence[CandidateId], behaviours: Behaviours) -> Regrouped:
    """Return a group for each cell, named "0", "1" and so on, with its elite: of equally good ones the oldest."""
    # `members` come oldest first, the `centres` among them
    candidates = [member.candidate for member in members]
    similarity = behaviours.matrix(candidates)[:, [candidates.index(centre) for centre in centres]]
    cells: dict[int, Member] = {}
    for member, cell in zip(members, similarity.argmax(axis=1).tolist(), strict=True):
        # greater and not equal: the older of two as good stays, as in `register`
        if cell not in cells or member.utility > cells[cell].utility:
            cells[cell] = member
    return Regrouped({str(cell): (cells[cell].candidate,) for cell in sorted(cells)})
