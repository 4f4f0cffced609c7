"""MAP-Elites over behaviour: the best program of each kind of behaviour (Mouret & Clune 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Method, MethodSettings, question
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, NotAdded, Regrouped
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task

CENTRES = "centres"
"""The group of the programs at the centre of each cell. They stay centres after they have lost their cell."""


class MapElitesSettings(MethodSettings):
    """The settings of MAP-Elites."""

    n_init: int = Field(100, ge=0)
    """Number of initial programs, asked for with the template alone; by default at most a quarter of the budget."""
    cells: int = Field(30, ge=1)
    """Greatest number of cells; there are fewer if the initial programs have fewer different behaviours."""
    examples_per_prompt: int = Field(2, ge=1)
    """Number of programs that a prompt shows, each the elite of another cell."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """Return at most a quarter of the budget for initial programs."""
        return {"n_init": cls.at_most_a_quarter("n_init", budget)}


@dataclass(frozen=True)
class Spread:
    """Asks for centres that behave differently: the best program, then each time the farthest from all before."""

    members: tuple[Member, ...]
    count: int

    def decide(self, behaviours: Behaviours) -> Regrouped:
        """Return the centres: at most `count`, no two of them at distance 0."""
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
    """Asks for the first elite of each cell: the best of the programs that are most similar to its centre."""

    members: tuple[Member, ...]
    centres: tuple[CandidateId, ...]

    def decide(self, behaviours: Behaviours) -> Regrouped:
        """Return the elite of each cell; every cell has one, since its centre is in it."""
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

    @property
    def uses_behaviour(self) -> bool:
        """True: behaviour decides the cell."""
        return True

    def regroup(self, state: RunState) -> Spread | FirstMap | None:
        """Return the request for centres once the initial programs are registered, then that for the first elites."""
        if state.registered < self.settings.n_init or state.islands:
            return None
        members = tuple(state.members[m] for m in state.ungrouped or [TEMPLATE])
        if CENTRES not in state.groups:
            return Spread(members, self.settings.cells)
        return FirstMap(members, tuple(state.groups[CENTRES].members))

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | None:
        """Return the question for a better program than some elites; None while there is no map yet."""
        if candidate < self.settings.n_init:
            return self.first_question(state, candidate)
        if not state.islands:
            return None
        rng, cells = self.generator(candidate), list(state.islands)
        drawn = rng.choice(len(cells), size=min(self.settings.examples_per_prompt, len(cells)), replace=False)
        # a cell holds one program, its elite
        elites = [state.members_of(cells[cell])[0] for cell in drawn]
        elites.sort(key=lambda member: member.merit)
        return question(candidate, elites, self.prompts.of("improve", elites))

    def compare(self, state: RunState, candidate: OpenCandidate) -> Comparison | None:
        """Return the comparison with every centre, once there is a map."""
        if not state.islands:
            return None
        return Comparison(candidate.id, members=tuple(state.groups[CENTRES].members))

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a program replaces the elite of its cell if it is better."""
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
        """Return the number of cells, or of initial programs while there is no map."""
        if not state.islands:
            return {"initial programs": f"{len(state.ungrouped)} of {self.settings.n_init}, no map yet"}
        return {"cells": str(len(state.islands))}
