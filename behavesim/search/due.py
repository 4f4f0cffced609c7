"""What is due: the one place that says what a run does next, as a pure function of its state.

The search performs it, the audit compares the journal with it, and a recovery takes it once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from behavesim.base.config import Settings
from behavesim.base.errors import PartError
from behavesim.methods.method import Measurement, Method
from behavesim.state.events import INJECTED, Asked, Decision, Evaluated, NoteAsked, Prompt, Rejected
from behavesim.state.state import RunState

IN_A_ROW = 1000
"""Rearrangements and notes that a method may decide on before it asks for a candidate or one is registered.

ReEvo asks for one note for each program of its population. A method that gets this far would go on for ever.
"""


@dataclass(frozen=True)
class Permits:
    """What the budget and the caps leave to decide."""

    regroup: bool
    repair: bool
    ask: bool


@dataclass(frozen=True)
class Rules:
    """In which order a run goes on, whatever its method."""

    window: int
    """Candidate t is asked for once candidate t - window has been registered."""
    repairs: int
    """Further tries a rejected candidate gets."""

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """The rules that a run's settings set."""
        return cls(settings.window, settings.repair)


def due(state: RunState, method: Method[Any], rules: Rules, permits: Permits) -> Decision | Measurement | None:
    """The next decision, or the measurement it needs: regroup, else repair, ask or register; None while none is due.

    What arrives meanwhile (replies, outcomes) can put a repair before it, and changes nothing else about it.
    Raises PartError where the method goes round in circles or asks for a candidate out of turn.
    """
    if permits.regroup and (regrouped := method.regroup(state)) is not None:
        return _leading_on(regrouped, state, method)
    if permits.repair and (repaired := _repair(state, method, rules.repairs)) is not None:
        return repaired
    may_ask = permits.ask and state.asked < state.registered + rules.window
    asked = method.ask(state, state.asked) if may_ask else None
    if isinstance(asked, NoteAsked):
        return method.prompts.completed(_leading_on(asked, state, method), state)
    if state.awaited_notes:  # what the method knows must not depend on how long a text takes
        return None
    if asked is not None:
        if isinstance(asked, Asked) and asked.candidate != state.asked:
            raise PartError(
                f"the method {method.name} asks for candidate {asked.candidate}, not {state.asked}; mend it"
            )
        return _injected(state) or method.prompts.completed(asked, state)
    candidate = state.open.get(state.registered)
    if candidate is None or candidate.outcome is None:
        return None
    if isinstance(candidate.outcome, Evaluated) and candidate.compared is None:
        comparison = method.compare(state, candidate)
        if comparison is not None:
            return comparison
    return method.register(state, candidate)


D = TypeVar("D")


def _leading_on(decision: D, state: RunState, method: Method[Any]) -> D:
    """Return the decision; raises PartError where too many in a row led to no candidate."""
    if state.without_candidate < IN_A_ROW:
        return decision
    which = "asks for notes" if isinstance(decision, NoteAsked) else "rearranges groups"
    raise PartError(
        f"the method {method.name} {which} without end: {IN_A_ROW} decisions in a row, and no candidate was asked for "
        f"or registered (it stands at candidate {state.registered}); mend it, and go on with --fork NEW-ID"
    )


def _injected(state: RunState) -> Asked | None:
    """A person's program in place of the next question, where one waits: so its turn says all of when it came."""
    program = state.next_injected
    return None if program is None else Asked(state.asked, (), None, Prompt(program.source, INJECTED))


def _repair(state: RunState, method: Method[Any], repairs: int) -> Asked | None:
    """The question that gives the first rejected candidate another try, where one has any left."""
    for candidate in state.open.values() if repairs else ():
        outcome, reply = candidate.outcome, candidate.reply
        if candidate.asked.prompt.operator == INJECTED:  # who wrote it is not to be asked
            continue
        if isinstance(outcome, Rejected) and candidate.repairs < repairs:
            assert reply is not None, "a candidate is rejected for what was replied"
            return method.prompts.repair(candidate.asked, reply.text, outcome)
    return None
