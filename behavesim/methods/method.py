"""What a search asks of its method: the base class `Method`, and what methods share.

First come the settings, the context and the decisions of a method, and how a run finds its method. Then come functions
that decisions are made of: they ask, register a candidate, compare a newcomer with an archive, or draw at random. Each
depends on its arguments alone; a generator is one of them.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.base.config import Configurable, Options, Settings, suited_to_budget
from behavesim.base.errors import PartError
from behavesim.base.plugins import as_part_errors, file_of, is_own
from behavesim.programs.functions import has_constants
from behavesim.prompts.prompts import Prompts
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    GroupName,
    NotAdded,
    NoteAsked,
    Prompt,
    Regrouped,
)
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.settings import METHODS
from behavesim.state.state import RunState
from behavesim.task import Task


class MethodSettings(Options):
    """The settings of a method that has none. Subclass it for your own, each a field with a docstring below it."""

    of_any_budget: ClassVar[frozenset[str]] = frozenset()
    """Names of settings whose default does not depend on the budget, though those of this name do in other methods."""

    @classmethod
    def suited(cls, task: Task, budget: int) -> Mapping[str, Any]:
        """Return, by name, the defaults that depend on the task or the budget (candidates); a person's values win.

        Here these are the method's settings that `BUDGET_DEFAULTS` names (base/config.py), such as `n_init`.
        """
        return suited_to_budget(cls.model_fields, budget, cls.of_any_budget)


S = TypeVar("S", bound=MethodSettings)


@dataclass(frozen=True)
class MethodContext:
    """What a method knows of its run beside its own settings: the seed and the prompts."""

    seed: int
    prompts: Prompts
    # Whether the proposer answers requests for texts (`NoteAsked`); the offline one writes programs only.
    takes_notes: bool = False


Generator = np.random.Generator
Parents = TypeVar("Parents", bound=Sequence[Member])
# The numbers of some parents, in the order in which a prompt shows them.
Numbers = tuple[CandidateId, ...]
# Most draws of parents in search of some that were not shown together; after them, at most TRIES − 1 uniform ones.
TRIES = 32


class Method(Configurable, ABC, Generic[S]):
    """Makes decisions from the state, the behaviours and the settings alone, and changes nothing.

    Subclass it, and name the subclass `method` in the method's file. Draw random numbers from `self.generator`, and
    keep nothing in attributes: then a resumed run decides as if it had never stopped.
    """

    settings_type: ClassVar[type[MethodSettings]] = MethodSettings
    fixed_in_forks: ClassVar[frozenset[str]] = frozenset()
    """Names of settings that a fork must keep: under other values the method could not continue from the archive."""
    asks_notes: ClassVar[bool] = False
    """Whether the method asks for texts about programs, if the proposer answers such requests."""
    shows_found: ClassVar[bool] = True
    """Whether prompts show programs that the run has found; a dry run expects longer ones than the first then."""

    def __init__(self, settings: S, context: MethodContext) -> None:
        self.settings = settings
        self.context = context

    @property
    def name(self) -> str:
        """The method's name in errors: its class, or the path of the file of a user's method."""
        return str(file_of(type(self))) if is_own(type(self)) else type(self).__name__

    @property
    def uses_behaviour(self) -> bool:
        """Whether decisions read behaviours. If yours do, write `uses_behaviour = True` in the class.

        A run keeps behaviours, and refuses programs that cannot be compared, only if its decisions or prompts need it.
        """
        return False

    @property
    def clock_every_s(self) -> float:
        """Active seconds between readings of the clock (`RunState.active_s`) that decisions need; 0 for none."""
        return 0.0

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return a rearrangement of groups; None if none is due."""
        return None

    @abstractmethod
    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return the question for the next candidate, whose number is `candidate`, or for a text that is needed first.

        Return None to wait: it is called again, at the latest when another candidate is registered. While a text is
        awaited, nothing is registered, so that decisions do not depend on how long the text took.
        """

    @abstractmethod
    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return whether a candidate is kept, and in which group. Candidates come in the order of their numbers.

        The similarities of the candidate that it reads from `behaviours` are recorded in the journal before it, and
        become the `similarity` of the program if it is kept.
        """

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return what screens say of the method beside its groups: texts by name, such as when islands restart."""
        return {}

    @property
    def prompts(self) -> Prompts:
        """The prompts of the run.

        `showing_template("template", candidate, state.template)` asks for a first program, and
        `showing_programs("improve", parents)` for a program better than its parents, which come worst first.
        """
        return self.context.prompts

    def first_question(self, state: RunState, candidate: CandidateId) -> Asked:
        """Return the question for a candidate whose prompt shows the template alone."""
        return Asked(candidate, (TEMPLATE,), None, self.prompts.showing_template("template", candidate, state.template))

    def shared_parents(
        self, state: RunState, candidate: CandidateId, begin: int, count: int, operator: str
    ) -> tuple[list[Member], GroupName | None] | None:
        """Return the programs that `candidate` is shown as those before it were, and their group; None for new ones.

        From candidate `begin` on, every `count` candidates in a row share their programs; only the angle of their
        prompts differs, and what the run has learnt meanwhile. They are None for the first of them, after an injected
        program in its place, if the operator differed, or if one of the programs has left the archive.
        """
        first, last = candidate - (candidate - begin) % count, state.last_asked
        if last is None or last.candidate < first or last.prompt.operator != operator:
            return None
        if not all(parent in state.members for parent in last.parents):
            return None
        return [state.members[parent] for parent in last.parents], last.group

    @property
    def asks_once(self) -> bool:
        """Whether questions are not repeated: `ask_once`, if a model reads the prompts and they are not the paper's."""
        settings = self.prompts.settings
        return settings.ask_once and settings.prompts != "paper" and self.context.takes_notes

    @property
    def asks_each_once(self) -> bool:
        """Whether no operator shows a program alone twice while others are left: `asks_once` and `ask_each_once`."""
        return self.asks_once and self.prompts.settings.ask_each_once

    def can_change_numbers(self, program: Member) -> bool:
        """Whether asking for other numbers can help: with `asks_once` not if it has none, or the machine tunes them."""
        return not self.asks_once or (not self.prompts.settings.tune and has_constants(program.source))

    def fresh(
        self,
        state: RunState,
        operator: str,
        draw: Callable[[bool], Parents],
        taken: Collection[Numbers] = (),
        least: int = 2,
    ) -> Parents:
        """Return the parents that `draw(False)` draws; with `asks_once` ones that the operator has not shown together.

        For these it tries up to TRIES draws, then up to TRIES − 1 with `draw(True)`, which asks for a uniform draw. The
        first draw is returned if none of them is new, or at once if it has fewer than `least` parents. `taken` are
        further parents, as numbers, that count as shown.
        """
        first = draw(False)
        if not self.asks_once or len(first) < least:
            return first
        shown = state.shown_parents.get(operator, ())
        for drawn in range(2 * TRIES - 1):
            parents = draw(drawn >= TRIES) if drawn else first
            numbers = tuple(parent.candidate for parent in parents)
            if len(numbers) >= least and numbers not in shown and numbers not in taken:
                return parents
        return first

    def not_asked(self, state: RunState, operator: str, members: Sequence[Member]) -> Sequence[Member]:
        """Return the members that the operator has not shown alone yet; all if it has shown each.

        Without `asks_each_once` it returns all, too.
        """
        if not self.asks_each_once:
            return members
        shown = state.shown_parents.get(operator, ())
        return [member for member in members if (member.candidate,) not in shown] or members

    def generator(self, number: int, purpose: str = "ask") -> Generator:
        """Return the random generator of one decision: equal arguments give equal draws in every process.

        `number` is the candidate that the decision is about, or how many are registered. Decisions of different
        `purpose` about the same number draw different numbers.
        """
        return generator(self.context.seed, number, purpose)


def method_type(name: str) -> type[Method[Any]]:
    """Return a method's class; raises UsageError if there is none of that name or path, or it is no Method."""
    return METHODS.load_type(name, Method)


def method_of(settings: Settings, task: Task, takes_notes: bool = False) -> Method[Any]:
    """Return the method of a run; UsageError if there is none, or if the wording of its prompts cannot be loaded.

    Raises PartError if a user's own method cannot be made.
    """
    context = MethodContext(settings.seed, Prompts.of_run(settings, task, takes_notes), takes_notes)
    chosen = method_type(settings.method)
    try:
        inspect.signature(chosen).bind(settings.of_method, context)
    except TypeError as error:
        raise PartError(f"the method {settings.method} cannot be made ({error}); leave its `__init__` out") from error
    with as_part_errors(chosen, "method"):
        return chosen(settings.of_method, context)


def question(
    candidate: CandidateId, parents: Sequence[Member], prompt: Prompt, group: GroupName | None = None
) -> Asked:
    """Return a question whose prompt shows `parents`, in that order; `group` is the one they are from, or None."""
    return Asked(candidate, tuple(parent.candidate for parent in parents), group, prompt)


def worst_first(programs: Iterable[Member]) -> list[Member]:
    """Return programs in the order in which prompts show them: the best last, and of equal scores the oldest."""
    return sorted(programs, key=lambda program: program.merit)


def add_if_feasible(candidate: OpenCandidate, group: GroupName) -> Added | NotAdded:
    """Return that a feasible candidate joins `group`, and that any other is not added."""
    return Added(candidate.id, group) if candidate.is_feasible else NotAdded(candidate.id)


def add_if_it_stays(
    candidate: CandidateId, group: GroupName, members: Sequence[Member], stay: Collection[CandidateId]
) -> Added | NotAdded:
    """Return that a candidate joins `group` and `members` not in `stay` leave it; not added if it is not in `stay`."""
    if candidate not in stay:
        return NotAdded(candidate)
    return Added(candidate, group, tuple(m.candidate for m in members if m.candidate not in stay))


def is_copy(newcomer: Member, members: Sequence[Member]) -> bool:
    """Return whether a member has the newcomer's `identity`: equal normal form or, if that is unknown, equal text."""
    return any(member.identity == newcomer.identity for member in members)


def compare_with(newcomer: Member, members: Sequence[Member], behaviours: Behaviours) -> Member:
    """Return a newcomer with its `similarity` to each of the members. Read while it is registered, it is recorded."""
    similarity = behaviours.similarities(newcomer.candidate, [member.candidate for member in members])
    return replace(newcomer, similarity=similarity)


# A number for each purpose of a generator. It is part of the seed, so two purposes never draw the same numbers.
PURPOSES = {"ask": 1, "restart": 2, "place": 3, "deal": 4}


def generator(seed: int, number: int, purpose: str) -> Generator:
    """Return the generator of one decision: equal arguments give equal draws, whatever happened before."""
    # a user's method may name any purpose; crc32, since Python's own hash differs between processes
    return np.random.default_rng([seed, number, PURPOSES.get(purpose) or crc32(purpose.encode())])


def softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Return N probabilities that sum to 1, each in proportion to exp(logit), from N logits; ValueError if N is 0."""
    values = np.asarray(logits, dtype=np.float64)
    # the greatest exponent is then 0, so that exp cannot overflow
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def ranks(utilities: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks 1 to N of N utilities, (N,): 1 for the highest; of equal ones the earlier has the lower rank."""
    ranked = np.empty(len(utilities))
    # a stable sort, so that equal utilities have the same ranks on every machine
    ranked[np.argsort(-np.asarray(utilities), kind="stable")] = np.arange(1, len(utilities) + 1)
    return ranked


def rank_probabilities(utilities: Sequence[float]) -> NDArray[np.float64]:
    """Return plain EoH's probabilities of N parents, (N,), ∝ 1 / (rank + N); the highest utility has rank 1."""
    weights = 1.0 / (ranks(utilities) + len(utilities))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


# How strongly programs of better rank are preferred by `falling`: of many, the first is drawn about e^4 = 55 times as
# often as the last.
PRESSURE = 4.0


def falling(count: int) -> NDArray[np.float64]:
    """Return the probabilities of ranks r = 0 to count − 1, (count,), ∝ exp(−PRESSURE · r / count); count ≥ 1."""
    return softmax(-PRESSURE * np.arange(count) / count)


def only(probabilities: NDArray[np.float64], members: Sequence[Member], among: Sequence[Member]) -> NDArray[np.float64]:
    """Return the probabilities of N members, (N,), sum 1, if only those of `among`, at least one, may be drawn."""
    if len(among) == len(members):
        return probabilities  # the same bits, so that draws among all are what they were
    left = np.isin([member.candidate for member in members], [member.candidate for member in among])
    weights = np.where(left, probabilities, 0.0)
    # a softmax can underflow to 0 for all that are left
    return np.asarray(weights / weights.sum() if weights.any() else left / left.sum(), dtype=np.float64)


def clusters(members: Sequence[Member]) -> list[list[Member]]:
    """Group members by equal score, in order of first arrival (paper, "Algorithm Database")."""
    groups: dict[float, list[Member]] = {}
    for member in members:
        groups.setdefault(member.score, []).append(member)
    return list(groups.values())


def pick_cluster(groups: Sequence[list[Member]], scale: float, temperature: float, rng: Generator) -> list[Member]:
    """Draw one of the clusters `groups` by a softmax of utility / scale / temperature: higher ones are preferred.

    `scale` is the difference in score that counts as 1; `temperature` is above 0, a lower one prefers the best more.
    """
    # subtracting the greatest changes no probability, and large scores keep their digits
    greatest = max(group[0].utility for group in groups)
    probabilities = softmax([(group[0].utility - greatest) / scale / temperature for group in groups])
    return groups[rng.choice(len(groups), p=probabilities)]


def pick_program(cluster: Sequence[Member], rng: Generator) -> Member:
    """Draw one program of a cluster by a softmax of minus its length, scaled as in FunSearch: prefers shorter ones."""
    # the 1e-6 is FunSearch's, against a division by zero
    lengths = np.array([len(member.source) for member in cluster], dtype=np.float64)
    probabilities = softmax(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[rng.choice(len(cluster), p=probabilities)]
