"""The frozen events a run is made of; the journal holds nothing else, and the state is their fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from behavesim.base.tokens import Usage
from behavesim.trajectory import AlgorithmRun

CandidateId = int
"""A candidate's number, in the order in which candidates are asked for; -1 is the template."""

TEMPLATE: CandidateId = -1
"""The template stands in the archive like any program; nobody asked for it, and no budget pays for it."""

GroupName = str
"""What a method calls a group of programs: an island's number, "population", "elites"."""

Stage = Literal["extraction", "evaluation"]

INJECTED = "injected"
"""The operator of a candidate that a person put in, and the model of its reply: nobody was asked for it."""


@dataclass(frozen=True)
class Prompt:
    """What a model is asked; the example programs are the fenced blocks of the text, in ascending order of score.

    `operator` is the word by which a method knows what it asked for, such as "improve" or "e1"; `asks_thought` says
    that the reply may begin with the idea of the program, which is kept beside it.
    """

    text: str
    operator: str
    asks_thought: bool = False


@dataclass(frozen=True)
class Reply:
    """What a proposer answered: the text as it came, the model that wrote it, and what it cost.

    `calls` holds the usage of every request made for this reply that the endpoint answered, failed ones included, the
    last one being the reply's own; a proposer that asks nobody leaves it empty. `unanswered` counts those that were
    sent and not answered, which may have been billed all the same. `fault` is why there is no reply, in one line, where
    the prompt was given up.
    """

    text: str
    model: str
    calls: tuple[Usage, ...] = ()
    finish_reason: str | None = None
    unanswered: int = 0
    fault: str = ""


@dataclass(frozen=True)
class RunStarted:
    """The run's settings as resolved, and what its results depend on beside them."""

    settings: Mapping[str, Any]
    provenance: Mapping[str, str]
    isolation: str


@dataclass(frozen=True)
class RunResumed:
    """The run goes on in a new process; the candidates and notes named were not answered, and are asked for again.

    They are asked as far as the caps leave room. Of their earlier requests at most `unanswered` had been sent, and may
    have been billed. From here on `price_list` says what a request costs.
    """

    asked_again: tuple[CandidateId, ...]
    isolation: str
    unanswered: int = 0
    price_list: str = ""
    notes_again: tuple[int, ...] = ()


@dataclass(frozen=True)
class RunForked:
    """From here on the run goes its own way: up to here its journal is that of `run`, made under other settings."""

    run: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class RunStopped:
    """The run ended in order: `budget` when all was asked and registered, else the cap or the signal that ended it.

    `under_way` is how many requests may have been billed and are in no reply: those not answered then, and the earlier
    ones for the same prompts. None if nobody knows.
    """

    reason: str
    under_way: int | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Injected:
    """A program that a person put into the run, committed as it came: it is tried in place of a question.

    The question is the next one, or the first from candidate `not_before` on. `name` is like no other of the run.
    """

    name: str
    source: str
    not_before: CandidateId = 0


@dataclass(frozen=True)
class ClockRead:
    """So many seconds the run had been active; decisions know it once `registered` candidates are registered.

    The clock is asked once, here: whoever decides again goes by this reading, and knows it at the same place.
    """

    active_s: float
    registered: int


@dataclass(frozen=True)
class Asked:
    """A candidate is asked for; the parents are the prompt's examples, `group` is where they were drawn from.

    Where the operator is INJECTED, the text is the program itself.
    """

    candidate: CandidateId
    parents: tuple[CandidateId, ...]
    group: GroupName | None
    prompt: Prompt


@dataclass(frozen=True)
class Responded:
    """A reply, committed as it came and before anything reads it."""

    candidate: CandidateId
    reply: Reply


@dataclass(frozen=True)
class Evaluated:
    """A feasible candidate: the score of each instance, their aggregate, and what the program did on each.

    `program_hash` names its normal form. `copy_of` is the candidate with the same text whose result it took without
    being run again. `cpu_s` is the program's CPU time in seconds, of a copy that of the candidate that was run.
    """

    candidate: CandidateId
    source: str
    score: float
    scores: tuple[float, ...]
    trajectories: Sequence[AlgorithmRun] = field(repr=False)
    thought: str = ""
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float = 0.0

    __pydantic_config__ = {"arbitrary_types_allowed": True}  # noqa: RUF012 - how pydantic is told about Trajectory


@dataclass(frozen=True)
class Rejected:
    """A candidate that came to nothing, where and why; `reason` is a word of a closed list, `message` is for people."""

    candidate: CandidateId
    stage: Stage
    reason: str
    message: str = ""
    source: str = ""
    thought: str = ""
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Compared:
    """How alike a candidate is to what the method asked about, as BehaveSim.

    `to_groups` holds the mean similarity to all members of a group, unclipped; `to_members` that to single members,
    in [0, 1].
    """

    candidate: CandidateId
    to_groups: Mapping[GroupName, float] = field(default_factory=dict)
    to_members: Mapping[CandidateId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """The candidate was registered, and the method keeps its program: in a group, from which others may go for it.

    `group` is None for one that waits to be given a group, as FunSearch's initial programs do.
    """

    candidate: CandidateId
    group: GroupName | None
    evicted: tuple[CandidateId, ...] = ()


@dataclass(frozen=True)
class NotAdded:
    """The candidate was registered, and nothing of it is kept: it was rejected, or is of no use to the method."""

    candidate: CandidateId


@dataclass(frozen=True)
class Regrouped:
    """Groups were arranged anew: the members of each group named; groups that are not named stay as they are.

    Programs that waited for a group wait no longer. A `selection` only points out programs of other groups.
    """

    groups: Mapping[GroupName, tuple[CandidateId, ...]]
    selection: bool = False


@dataclass(frozen=True)
class NoteAsked:
    """The method asks for a text about programs, such as a reflection; `number` counts the notes of a run from 0."""

    number: int
    about: tuple[CandidateId, ...]
    prompt: Prompt


@dataclass(frozen=True)
class NoteReceived:
    """The text that was asked for, committed as it came."""

    number: int
    reply: Reply


@dataclass(frozen=True)
class Recommended:
    """The program chosen on validation instances, and the validation score of every program on the shortlist.

    None stands for a program that failed there; the choice is None where all did. `worth` has the deciding number of
    each other program, and nothing in older journals: its gain on the template over search and validation instances, a
    fraction. Where the template has no number, it failed; the numbers are mean scores then, negated to minimise.
    """

    choice: CandidateId | None
    validation: Mapping[CandidateId, float | None]
    worth: Mapping[CandidateId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PortfolioChosen:
    """The programs that were chosen because they behave differently, in order, by run and candidate.

    Some may be of `others`, the runs that were chosen from beside this one. `validation` holds the scores of each on
    the validation instances, None of one that failed there and was left out; it is empty where the task has none.
    """

    wanted: int
    programs: tuple[tuple[str, CandidateId], ...]
    validation: tuple[tuple[float, ...] | None, ...] = ()
    others: tuple[str, ...] = ()


Decision = Regrouped | Asked | NoteAsked | Compared | Added | NotAdded
"""The events that follow from the state alone; the rest came from the model, the sandbox, the clock or a person."""

DECISIONS = get_args(Decision)

Event = (
    Decision | Responded | NoteReceived | Evaluated | Rejected
    | Injected | ClockRead | RunStarted | RunForked | RunResumed | RunStopped | Recommended | PortfolioChosen
)  # fmt: skip

AFTER_A_PAUSE = (
    RunStarted,
    RunResumed,
    RunForked,
    Recommended,
    PortfolioChosen,
)
"""Events before which a run may have lain still: the time up to them is none of the run's."""

STORED_AS: Mapping[str, type[Event]] = {
    "RunStarted": RunStarted,
    "RunResumed": RunResumed,
    "RunForked": RunForked,
    "RunStopped": RunStopped,
    "Injected": Injected,
    "ClockRead": ClockRead,
    "Asked": Asked,
    "Responded": Responded,
    "Evaluated": Evaluated,
    "Rejected": Rejected,
    "Compared": Compared,
    "Added": Added,
    "NotAdded": NotAdded,
    "Regrouped": Regrouped,
    "NoteAsked": NoteAsked,
    "NoteReceived": NoteReceived,
    "Recommended": Recommended,
    "PortfolioChosen": PortfolioChosen,
}
"""The events by the names that stand in journals, written out: no journal changes where a class is renamed."""
