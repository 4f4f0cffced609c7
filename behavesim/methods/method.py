"""A search method: what a search asks it to decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from behavesim.base.config import Options
from behavesim.base.plugins import file_of, is_own
from behavesim.methods.draw import Generator, generator
from behavesim.prompts.prompts import Prompts
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    Compared,
    Evaluated,
    GroupName,
    NotAdded,
    NoteAsked,
    Prompt,
    Regrouped,
)
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState
from behavesim.task import Task


class MethodSettings(Options):
    """The settings of a method that has none; subclass it for those of your own, each with its docstring below it."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """The defaults that depend on the task or on the budget; what a person sets comes before them."""
        return {}

    @classmethod
    def at_most_a_quarter(cls, setting: str, budget: int) -> int:
        """The default of a setting that counts candidates, or a quarter of the budget where that is less."""
        return min(int(cls.model_fields[setting].default), budget // 4)


S = TypeVar("S", bound=MethodSettings)


@dataclass(frozen=True)
class Brief:
    """What a method knows of its run beside its own settings: the seed, and how a model is asked."""

    seed: int
    prompts: Prompts
    takes_notes: bool = False
    """Whether the proposer answers requests for a text (`NoteAsked`); the offline one writes programs alone."""


@runtime_checkable
class Measurement(Protocol):
    """A decision that depends on what programs do: a frozen value that says what has to be measured for it."""

    def decide(self, behaviours: Behaviours) -> Compared | Regrouped | Asked | NoteAsked:
        """The decision, a pure function of this value and of the behaviours; it takes a while, and may run anywhere."""
        ...


class Method(ABC, Generic[S]):
    """Decides, and changes nothing: each decision is a pure function of the state and the settings.

    Subclass it, and name the subclass `method` in the method's file. What a decision draws, it draws from
    `self.generator`, so that a resumed run decides as if it had never stopped; nothing may be kept in attributes.
    """

    settings_type: ClassVar[type[MethodSettings]] = MethodSettings
    fixed_in_forks: ClassVar[frozenset[str]] = frozenset()
    """The settings that a fork must keep, since the archive could not be read otherwise."""
    asks_notes: ClassVar[bool] = False
    """Whether the method asks for texts about programs where the proposer answers such requests."""

    def __init__(self, settings: S, brief: Brief) -> None:
        self.settings = settings
        self.brief = brief

    @property
    def name(self) -> str:
        """What errors call the method: its class, or its file where it is one's own."""
        return str(file_of(type(self))) if is_own(type(self)) else type(self).__name__

    @property
    def uses_behaviour(self) -> bool:
        """Whether decisions depend on what programs do, and not on their scores alone: any method's that compares."""
        return type(self).compare is not Method.compare

    @property
    def needs_behaviour(self) -> bool:
        """Whether behaviours have to be known: to decide, or to tell a model of them."""
        return self.uses_behaviour or self.prompts.feedback == "behaviour"

    @property
    def clock_every_s(self) -> float:
        """Active seconds after which decisions want to know the time again (`RunState.active_s`); 0 where never."""
        return 0.0

    def regroup(self, state: RunState) -> Regrouped | Measurement | None:
        """A rearrangement of groups, where the candidates registered so far make one due."""
        return None

    @abstractmethod
    def ask(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked | None:
        """The question for the next candidate, or a text that is needed first; None where it must wait.

        It waits for more candidates to be registered. While a text is awaited nothing is registered, so that what the
        method knows when it goes on does not depend on how long the text took.
        """

    def compare(self, state: RunState, candidate: OpenCandidate) -> Measurement | None:
        """What to compare a feasible candidate with before it is registered; None where nothing needs it."""
        return None

    @abstractmethod
    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """What becomes of the next candidate, in the order in which they were asked for."""

    def facts(self, state: RunState) -> Mapping[str, str]:
        """What a person sees of the method beside its groups, such as when islands restart next: name and text."""
        return {}

    @property
    def prompts(self) -> Prompts:
        """How a model is asked.

        `first("template", candidate, state.template)` asks for a first program, `of("improve", parents)` for a better
        one than its parents.
        """
        return self.brief.prompts

    def first_question(self, state: RunState, candidate: CandidateId) -> Asked:
        """The question for a first program, which shows the template alone."""
        return Asked(candidate, (TEMPLATE,), None, self.prompts.first("template", candidate, state.template))

    def shared_question(self, state: RunState, candidate: CandidateId, begin: int, count: int) -> Asked | None:
        """Return the question that `candidate` shares with those before it, or None if it needs a question of its own.

        From candidate `begin` on, every `count` candidates share one question. A person's program can take the place of
        the first of them; then the next one gets the question, and never that of the `count` before.
        """
        first, last = candidate - (candidate - begin) % count, state.last_asked
        return None if last is None or last.candidate < first else replace(last, candidate=candidate)

    def generator(self, number: int, purpose: str = "ask") -> Generator:
        """The random numbers of one decision: equal arguments give equal draws in every process.

        `number` is the candidate the decision is about, or how many are registered; `purpose` tells apart what
        different decisions about the same number draw.
        """
        return generator(self.brief.seed, number, purpose)


def question(
    candidate: CandidateId, parents: Sequence[Member], prompt: Prompt, group: GroupName | None = None
) -> Asked:
    """A question that shows some programs."""
    return Asked(candidate, tuple(parent.candidate for parent in parents), group, prompt)


def kept_if_feasible(candidate: OpenCandidate, group: GroupName) -> Added | NotAdded:
    """Every feasible program joins the group."""
    return Added(candidate.id, group) if isinstance(candidate.outcome, Evaluated) else NotAdded(candidate.id)
