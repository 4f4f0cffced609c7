"""The frozen events of a run. A journal holds nothing else, and applying them in order gives the run's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from pydantic import SkipValidation

from behavesim.state.choices import PortfolioChosen as PortfolioChosen
from behavesim.state.choices import Recommended as Recommended
from behavesim.state.exchange import BatchSent as BatchSent
from behavesim.state.exchange import Prompt as Prompt
from behavesim.state.exchange import Reply as Reply
from behavesim.state.sessions import RunForked as RunForked
from behavesim.state.sessions import RunResumed as RunResumed
from behavesim.state.sessions import RunStarted as RunStarted
from behavesim.state.sessions import RunStopped as RunStopped
from behavesim.task import Metrics
from behavesim.trajectory import AlgorithmRun

CandidateId = int
"""A candidate's number, in the order in which candidates are asked for; -1 is the template."""

TEMPLATE: CandidateId = -1
"""The candidate number of the template. The template is in the archive but does not count towards the budget."""

GroupName = str
"""The name a method gives to a group of programs: an island's number, "population", "elites"."""

Stage = Literal["extraction", "evaluation"]
"""Where a candidate was rejected: as its reply was read ("extraction"), or its program run and scored."""

INJECTED = "injected"
"""The operator of a candidate whose program a person injected, and the model name of its reply: no model was asked."""


@dataclass(frozen=True)
class Injected:
    """A person injected a program. It is evaluated in place of the next candidate that the method would ask for.

    `not_before` is the smallest candidate number that it may get. `name` is unique in the run. `source` is the
    program's text.
    """

    name: str
    source: str
    not_before: CandidateId = 0


@dataclass(frozen=True)
class Advised:
    """A person advised the model: later prompts that ask for a program carry the sentence `text`.

    They do so from candidate `not_before` on, or from the next one if that is later. An empty `text` withdraws all
    advice. `name` is unique in the run.
    """

    name: str
    text: str
    not_before: CandidateId = 0


@dataclass(frozen=True)
class ClockRead:
    """The run had been active for `active_s` seconds, without pauses between sessions.

    Decisions use the reading once `registered` candidates are registered.

    It is journalled so that a replay or audit decides by the same time at the same place.
    """

    active_s: float
    registered: int


@dataclass(frozen=True)
class Asked:
    """A candidate was asked for, for the first time or again after a rejection (a repair).

    `parents` are the programs shown in the prompt, `group` the group they were drawn from, None for no group. If the
    prompt's operator is INJECTED, its text is the program itself.
    """

    candidate: CandidateId
    parents: tuple[CandidateId, ...]
    group: GroupName | None
    prompt: Prompt


@dataclass(frozen=True)
class Responded:
    """The reply for a candidate arrived. It is committed unchanged, before its program is extracted."""

    candidate: CandidateId
    reply: Reply


@dataclass(frozen=True)
class PutOff:
    """A candidate's evaluation said nothing of its program, since the machine may be at fault; it is repeated alone.

    `reason` is "clock" (its time by the clock was over), "memory" (the machine had no more) or "cpu" (it ended near its
    limit on CPU time). `message` says more to people. No decision follows from it.
    """

    candidate: CandidateId
    reason: str
    message: str = ""


@dataclass(frozen=True)
class Evaluated:
    """A candidate is feasible: its program's text, its score (a task's is a mean), scores and trajectories by instance.

    `thought` is the reply's sentence about the program, '' for none. `program_hash` is the hash of its normal form, ''
    if unknown. `copy_of` is the earlier candidate with the same text whose result was reused; None if the program was
    run. `cpu_s` is CPU seconds, for a copy the original's. `metrics` and `feedback` are what the task or evaluator said
    besides the score; empty if nothing. `counted_s` are the CPU seconds that count towards the limit; None if unknown.
    """

    candidate: CandidateId
    source: str
    score: float
    scores: tuple[float, ...]
    trajectories: Annotated[Sequence[AlgorithmRun], SkipValidation] = field(repr=False)
    thought: str = ""
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float = 0.0
    metrics: Metrics = field(default_factory=dict)
    feedback: str = field(default="", repr=False)
    counted_s: float | None = None

    __pydantic_config__ = {"arbitrary_types_allowed": True}  # noqa: RUF012 - how pydantic is told about Trajectory


@dataclass(frozen=True)
class Rejected:
    """A candidate was rejected at `stage`. `reason` is a word such as "timeout", `message` explains it to people.

    `source` is the program's text, `thought` the reply's sentence about it, `program_hash` the hash of its normal form.
    `copy_of` is the earlier candidate with the same text whose result was reused. `cpu_s` is CPU seconds. `metrics` and
    `feedback` are what the task or evaluator said. All of these are empty, None or 0 if the reply held no program.
    """

    candidate: CandidateId
    stage: Stage
    reason: str
    message: str = ""
    source: str = ""
    thought: str = ""
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float = 0.0
    metrics: Metrics = field(default_factory=dict)
    feedback: str = field(default="", repr=False)


@dataclass(frozen=True)
class Compared:
    """A candidate was compared as the method demanded: its BehaveSim similarities, before it is registered.

    `to_groups` holds the mean similarity to all members of each group, not clipped (it can be negative). `to_members`
    holds the similarity to single members, in [0, 1]. What was not demanded is empty.
    """

    candidate: CandidateId
    to_groups: Mapping[GroupName, float] = field(default_factory=dict)
    to_members: Mapping[CandidateId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """The candidate was registered and its program joined the archive in `group`; the `evicted` left that group.

    `group` is None for a program that waits until the method puts it into a group.
    """

    candidate: CandidateId
    group: GroupName | None
    evicted: tuple[CandidateId, ...] = ()


@dataclass(frozen=True)
class NotAdded:
    """The candidate was registered and not kept in the archive: it was rejected, or the method does not need it."""

    candidate: CandidateId


@dataclass(frozen=True)
class Regrouped:
    """Each named group now has exactly these members; other groups stay as they are.

    If `selection`, the groups only refer to members of other groups. If not, no program waits for a group any more, and
    members of no group leave the archive.
    """

    groups: Mapping[GroupName, tuple[CandidateId, ...]]
    selection: bool = False


@dataclass(frozen=True)
class NoteAsked:
    """The method asked for a text about the programs `about`, such as a reflection. `number` counts notes from 0."""

    number: int
    about: tuple[CandidateId, ...]
    prompt: Prompt


@dataclass(frozen=True)
class NoteReceived:
    """The reply to a note arrived. It is committed unchanged."""

    number: int
    reply: Reply


Decision = Regrouped | Asked | NoteAsked | Compared | Added | NotAdded
"""Events that follow from the state alone; other events come from models, the sandbox, the clock or people."""

DECISIONS = get_args(Decision)
"""The classes of Decision, for `isinstance`."""

RunEvent = (
    Injected | Advised | ClockRead | BatchSent | RunStarted | RunForked | RunResumed | RunStopped
    | Recommended | PortfolioChosen
)  # fmt: skip
"""Events of the run as a whole: they belong to no candidate and no note, and no method decides them."""

Event = Decision | Responded | NoteReceived | PutOff | Evaluated | Rejected | RunEvent
"""Any event of a run."""

AFTER_A_PAUSE = (
    RunStarted,
    RunResumed,
    RunForked,
    Recommended,
    PortfolioChosen,
)
"""Classes of events before which the run may have rested: the time since the event before them is not active time."""

STORED_AS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
"""Event classes by the name that journals store, the class's own: renaming a class makes old journals unreadable."""
