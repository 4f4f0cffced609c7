"""States made by hand, for decisions that are a function of little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from behavesim.methods.method import MethodContext
from behavesim.prompts.prompts import Prompts
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Asked, Compared, Evaluated, Prompt, RunStarted
from behavesim.state.members import Group, Member, OpenCandidate
from behavesim.state.state import RunState
from tests.engine.toys import Toy, fitting

BRIEF = MethodContext(0, Prompts.of_run(fitting({"method": "funsearch", "ask_once": False}), Toy()), takes_notes=True)
UNREAD = Behaviours()
"""Behaviours that no decision may read."""


def member(candidate: int, score: float = 0.0, source: str = "", **others: Any) -> Member:
    """A program; its utility is its negated score."""
    return Member(candidate, source or f"program {candidate}", score, -score, **others)


def state_of(
    members: Iterable[Member] = (),
    groups: Mapping[str, Sequence[int]] | None = None,
    selections: Mapping[str, Sequence[int]] | None = None,
    opened: Iterable[OpenCandidate] = (),
    registered: int = 0,
    budget: int = 100,
) -> RunState:
    """A run that has come so far; selections are groups that only point out programs of others."""
    state = RunState(Toy.objective)
    state.started = RunStarted({"budget": budget}, {}, "none")
    state.template = member(TEMPLATE, 9.0, Toy.template)
    state.members = {each.candidate: each for each in (state.template, *members)}
    state.groups = {name: Group(list(held), arranged_at=registered) for name, held in (groups or {}).items()}
    for name, held in (selections or {}).items():
        state.groups[name] = Group(list(held), arranged_at=registered, is_selection=True)
    state.open = {each.id: each for each in opened}
    state.registered = registered
    state.asked = registered + len(state.open)
    return state


def candidate(
    number: int, score: float | None = None, group: str | None = None, similarity: Mapping[int, float] | None = None
) -> OpenCandidate:
    """A candidate that is awaited, or has a score, and may have been compared with members."""
    opened = OpenCandidate(Asked(number, (), group, Prompt("", "improve")))
    if score is not None:
        opened.outcome = Evaluated(number, f"program {number}", score, (score,), ())
    if similarity is not None:
        opened.compared = Compared(number, {}, similarity)
    return opened


class Alike(Behaviours):
    """Behaviours of which only the similarities are known, (N, N) between candidates 0 to N - 1."""

    def __init__(self, similarity: Sequence[Sequence[float]]) -> None:
        super().__init__()
        self._similarity = np.array(similarity)

    def matrix(self, members: Sequence[int]) -> np.ndarray:
        return self._similarity[np.ix_(members, members)]


class Newcomer(Behaviours):
    """Behaviours of which only a newcomer's similarities to members are known; `read` are those that it was compared
    with."""

    def __init__(self, similarity: Mapping[int, float]) -> None:
        super().__init__()
        self.read: list[int] = []
        self._similarity = similarity

    def similarities(self, candidate: int, members: Sequence[int]) -> dict[int, float]:
        self.read += members
        return {member: self._similarity[member] for member in members}
