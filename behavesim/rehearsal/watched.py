"""A method under watch: its decisions are made twice, and must change nothing."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, TypeVar

from behavesim.methods.method import Method
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded, NoteAsked, Regrouped
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState

T = TypeVar("T")


class Impure(Exception):
    """A decision changed something, or came out otherwise when it was made again."""


class Watched(Method[Any]):
    """Decides as another method does, twice each time; raises Impure if the two differ or it changed what it must not.

    That is its attributes, and the state's members, groups, open candidates and counts.
    """

    def __init__(self, method: Method[Any]) -> None:
        super().__init__(method.settings, method.brief)
        self._method = method

    @property
    def name(self) -> str:
        """The watched method's name."""
        return self._method.name

    @property
    def uses_behaviour(self) -> bool:
        """Whether the watched method uses behaviour."""
        return self._method.uses_behaviour

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._watched("regroup", state, lambda: self._method.regroup(state, behaviours))

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._watched("ask", state, lambda: self._method.ask(state, behaviours, candidate))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._watched("register", state, lambda: self._method.register(state, behaviours, candidate))

    def _watched(self, name: str, state: RunState, decide: Callable[[], T]) -> T:
        """Return what `decide` does, the watched method's decision of this name.

        It is called twice. Raises Impure if the results differ, or if it changes the method's attributes or what
        `_seen` returns of the state.
        """
        # these two are frozen, and copying them would take most of the time
        frozen = {id(given): given for given in (self.settings, self.brief)}
        before, own = _seen(state), deepcopy(vars(self._method), frozen)
        # a decision that draws from a generator of its own, or counts, comes out otherwise the second time
        first, second = decide(), decide()
        if first != second:
            raise Impure(
                f"`{name}` decides otherwise when asked again: draw random numbers from self.generator(number)"
            )
        if (now := vars(self._method)) != own:
            changed = next(key for key in (*now, *own) if key not in now or key not in own or now[key] != own[key])
            raise Impure(f"`{name}` keeps something in self.{changed}, which a resumed run does not have")
        if _seen(state) != before:
            raise Impure(f"`{name}` changes the state, which only events may do: return a decision instead")
        return first


def _seen(state: RunState) -> tuple[Any, ...]:
    """Return a copy of the state's members, groups, open candidates and counts, to compare it with a later one."""
    # members are frozen, so copies of what holds them are enough
    groups = {name: copy(vars(group)) | {"members": list(group.members)} for name, group in state.groups.items()}
    opened = {candidate: copy(vars(each)) for candidate, each in state.open.items()}
    return state.asked, state.registered, dict(state.members), groups, list(state.ungrouped), opened, len(state.notes)
