"""What is due: the one pure function that says what a run decides next, given its state.

The search records that decision, the audit compares the journal with it, and a recovery takes it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from behavesim.base.config import Settings
from behavesim.base.errors import PartError
from behavesim.engine.tuning import next_tuned
from behavesim.methods.method import Method
from behavesim.proposers.proposer import Chooser, ProposerSettings
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TUNE,
    Added,
    Asked,
    Decision,
    Evaluated,
    NotAdded,
    NoteAsked,
    Prompt,
    Regrouped,
    Rejected,
    note_number,
)
from behavesim.state.race import next_in_race
from behavesim.state.state import RunState
from behavesim.task import Task

D = TypeVar("D")
# Regroupings and notes that a method may decide on in a row, without a candidate asked for or registered.
#
# ReEvo needs one note for each program of its population. A method that reaches this number would never stop.
IN_A_ROW = 1000


@dataclass(frozen=True)
class Allowed:
    """Which decisions the budget and the caps still allow."""

    # Whether groups may be arranged anew.
    regroup: bool
    # Whether a rejected candidate may be asked for again.
    repair: bool
    # Whether a new candidate or a note may be asked for.
    ask: bool
    # Whether the numbers of a program may be tuned.
    tune: bool = False


@dataclass(frozen=True)
class Rules:
    """The settings that decide the order of decisions, for every method."""

    # Candidate t is not asked for before candidate t - window is registered.
    window: int
    # How often a rejected candidate may be asked for again.
    repairs: int
    # Function that chooses the model of each question from the state; None if the proposer chooses it.
    choose: Chooser | None = None
    # Further instances on which a candidate that could be the best is judged; 0 for no race.
    race: int = 0
    # Function that returns the candidate whose numbers are tuned next, None if there is none now; None to tune nothing.
    tunes: Callable[[RunState], Asked | None] | None = None

    @classmethod
    def of(cls, settings: Settings, task: Task) -> Rules:
        """Return the rules from a run's settings and its task."""
        chosen = settings.of_proposer
        choose = chosen.chooser(settings.seed) if isinstance(chosen, ProposerSettings) else None
        tunes = partial(next_tuned, settings.tune, task) if settings.tune else None
        return cls(settings.window, settings.repair, choose, settings.race, tunes)


def next_decision(
    state: RunState, behaviours: Behaviours, method: Method[Any], rules: Rules, allowed: Allowed
) -> tuple[Decision, ...]:
    """Return the next decision; none if none is due, as while a reply is awaited.

    These are two events where a registration has read similarities of its candidate: the Compared that holds them comes
    first. The order is: regroup, repair, tune, ask, then register. In a race a candidate whose turn it is to be
    registered goes on, or gets its score, before. A reply or an outcome that arrives later can put a repair before the
    decision, but does not change it otherwise. Raises PartError if the method asks for a candidate with a wrong number,
    returns something else than a decision, or if IN_A_ROW decisions in a row led to no candidate.
    """
    # groups first: parents drawn before it would come from islands that it empties
    if allowed.regroup and (regrouped := method.regroup(state, behaviours)) is not None:
        _refuse_endless(state, method, "rearranges groups")
        return (_check_decision(regrouped, Regrouped),)
    # a candidate is registered once, in its turn: later it could not be repaired any more
    if allowed.repair and (repaired := _repair(state, method, rules.repairs)) is not None:
        return (repaired,)
    # asked before the registration, which may take long: the model writes meanwhile
    has_room = state.asked < state.registered + rules.window
    if rules.tunes is not None and allowed.tune and has_room and (tuned := rules.tunes(state)) is not None:
        return (tuned,)
    may_ask = allowed.ask and has_room
    asked = method.ask(state, behaviours, state.asked) if may_ask else None
    if asked is not None:
        _check_prompt(_check_decision(asked, Asked, NoteAsked).prompt)
    if isinstance(asked, NoteAsked):
        if not method.context.takes_notes:
            raise PartError(
                f"the method {method.name} asks for a note, and the proposer of this run writes none; mend it: "
                "`self.context.takes_notes` says whether it does"
            )
        _refuse_endless(state, method, "asks for notes")
        return (_complete(asked, state, behaviours, method, rules),)
    if state.awaited_notes:  # decisions must not depend on how long a note takes
        return ()
    if asked is not None:
        if asked.candidate != state.asked:
            raise PartError(
                f"the method {method.name} asks for candidate {asked.candidate}, not {state.asked}; mend it"
            )
        # a person's program takes the place of the method's question, and so comes where a question would
        if (program := state.next_injected) is not None:
            return (Asked(state.asked, (), None, Prompt(program.source, INJECTED)),)
        return (_complete(asked, state, behaviours, method, rules),)
    candidate = state.open.get(state.registered)
    if candidate is None or candidate.outcome is None or candidate.gone_on is not None:
        return ()
    if rules.race and isinstance(candidate.outcome, Evaluated) and candidate.race_ended is None:
        return (next_in_race(state, candidate, rules.race),)
    behaviours.begin_registration(candidate)
    registered = _check_decision(method.register(state, behaviours, candidate), Added, NotAdded)
    compared = behaviours.what_was_read()
    # it may be in the journal already, if the run was stopped between the two
    return (registered,) if compared is None or candidate.compared is not None else (compared, registered)


def _check_decision(decided: D, *kinds: type[Any]) -> D:
    if not isinstance(decided, kinds):
        raise PartError(f"the method returned {decided!r:.100}, which is no decision; mend it")
    return decided


def _check_prompt(prompt: object) -> None:
    if not (isinstance(prompt, Prompt) and isinstance(prompt.text, str) and isinstance(prompt.operator, str)):
        raise PartError(
            f"the method asks with {prompt!r:.100}; mend it: give a behavesim.Prompt of two texts, or one that "
            "self.prompts makes"
        )


def _complete(
    asked: Asked | NoteAsked, state: RunState, behaviours: Behaviours, method: Method[Any], rules: Rules
) -> Asked | NoteAsked:
    """Return a question with all words in its prompt, and the model that is to answer it, if the run chooses that."""
    if rules.choose is not None:
        number = asked.candidate if isinstance(asked, Asked) else note_number(asked.number)
        asked = replace(asked, prompt=replace(asked.prompt, model=rules.choose(state, number)))
    return method.prompts.complete(asked, state, behaviours)


def _refuse_endless(state: RunState, method: Method[Any], what: str) -> None:
    # a defect of the method: no candidate comes of these decisions, so the budget would never end the run
    if state.idle_decisions < IN_A_ROW:
        return
    raise PartError(
        f"the method {method.name} {what} without end: {IN_A_ROW} decisions in a row, and no candidate was asked for "
        f"or registered (it stands at candidate {state.registered}); mend it, and go on with --fork NEW-ID"
    )


def _repair(state: RunState, method: Method[Any], repairs: int) -> Asked | None:
    """Return the question that asks again for the first rejected candidate with a repair left; None without one."""
    for candidate in state.open.values() if repairs else ():
        outcome, reply = candidate.outcome, candidate.reply
        # a person or the machine wrote it, and no model can be asked to mend it
        if candidate.asked.prompt.operator in (INJECTED, TUNE):
            continue
        if isinstance(outcome, Rejected) and not outcome.is_given_up and candidate.repairs < repairs:
            assert reply is not None, "a candidate is rejected for what was replied"
            return method.prompts.repair(candidate.asked, reply.text, outcome)
    return None
