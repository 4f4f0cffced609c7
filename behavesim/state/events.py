"""The frozen events of a run. A journal holds nothing else, and applying them in order gives the run's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from behavesim.state.exchange import Prompt as Prompt
from behavesim.state.exchange import Reply as Reply
from behavesim.trajectory import AlgorithmRun

CandidateId = int
"""A candidate's number, in the order in which candidates are asked for; -1 is the template."""

TEMPLATE: CandidateId = -1
"""The candidate number of the template. The template is in the archive but does not count towards the budget."""

GroupName = str
"""The name a method gives to a group of programs: an island's number, "population", "elites"."""

Stage = Literal["extraction", "evaluation"]
"""Where a candidate was rejected: when its reply was read, or when its program was run and scored."""

INJECTED = "injected"
"""The operator of a candidate whose program a person injected, and the model name of its reply: no model was asked."""


@dataclass(frozen=True)
class RunStarted:
    """The run began. It holds the resolved settings, the provenance (hashes and versions) and the isolation level."""

    settings: Mapping[str, Any]
    provenance: Mapping[str, str]
    isolation: str


@dataclass(frozen=True)
class RunResumed:
    """The run was resumed in a new process.

    The candidates `asked_again` and the notes `notes_again` have no reply yet. They are requested again while the caps
    allow it. At most `unanswered` of their earlier requests were sent and may have been billed. `price_list` names the
    list of prices used from here on.
    """

    asked_again: tuple[CandidateId, ...]
    isolation: str
    unanswered: int = 0
    price_list: str = ""
    notes_again: tuple[int, ...] = ()


@dataclass(frozen=True)
class RunForked:
    """The run was forked from `run`: the events before this one are copies of that run's, made under other settings."""

    run: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class RunStopped:
    """The run ended in order. `reason` is "budget" if all candidates were registered, else the cap or signal.

    `under_way` counts requests that may have been billed although no stored reply holds their usage. None if unknown.
    """

    reason: str
    under_way: int | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Injected:
    """A person injected a program. It is evaluated in place of the next candidate that the method would ask for.

    It gets no candidate number below `not_before`. `name` is unique in the run.
    """

    name: str
    source: str
    not_before: CandidateId = 0


@dataclass(frozen=True)
class ClockRead:
    """The run had been active for `active_s` seconds. Decisions use this once `registered` candidates are registered.

    Time is journalled so that a replay or audit decides by the same readings, at the same place.
    """

    active_s: float
    registered: int


@dataclass(frozen=True)
class Asked:
    """A candidate was asked for. `parents` are the programs shown in the prompt.

    `group` is the group they were drawn from, None for no group. If the prompt's operator is INJECTED, its text is the
    program itself.
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
class Evaluated:
    """A candidate is feasible. It holds its score (the task's mean), and the score and trajectory on each instance.

    `program_hash` is the hash of its normal form. `copy_of` is the earlier candidate with the same text whose result
    was reused; None if the program was run. `cpu_s` is the program's CPU time in seconds, for a copy that of the
    original.
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
    """A candidate was rejected at `stage`. `reason` is one word of a closed list, `message` explains it to people.

    The other fields mean the same as in Evaluated. They are empty where no program was found.
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


@dataclass(frozen=True)
class Compared:
    """The BehaveSim similarities of a candidate that the method asked for.

    `to_groups` holds the mean similarity to all members of each group, not clipped (it can be negative). `to_members`
    holds the similarity to single members, in [0, 1].
    """

    candidate: CandidateId
    to_groups: Mapping[GroupName, float] = field(default_factory=dict)
    to_members: Mapping[CandidateId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """The candidate was registered and its program joined `group`; the `evicted` members left that group.

    `group` is None for a program that gets its group later, as FunSearch's initial programs do.
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
    """The named groups got new members; other groups stay as they are.

    After it no program waits for a group, unless it is a `selection`: a group that only refers to programs of other
    groups.
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


@dataclass(frozen=True)
class Recommended:
    """The program chosen on validation instances (None if all failed), and the validation score of each tried program.

    A score of None means that the program failed. `worth` is the number by which programs were ranked, higher is
    better: the gain over the template on search and validation instances, a fraction. If the template has none, it
    failed, and the numbers are mean scores (negated if the task minimises). `worth` is empty in older journals.
    """

    choice: CandidateId | None
    validation: Mapping[CandidateId, float | None]
    worth: Mapping[CandidateId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PortfolioChosen:
    """A portfolio of programs that behave differently: (run, candidate) pairs, in the order in which they were chosen.

    `wanted` is the size that was asked for. `others` are the runs searched beside this one. `validation` holds each
    program's scores on the validation instances, None for one that failed there; it is empty if the task has none.
    """

    wanted: int
    programs: tuple[tuple[str, CandidateId], ...]
    validation: tuple[tuple[float, ...] | None, ...] = ()
    others: tuple[str, ...] = ()


Decision = Regrouped | Asked | NoteAsked | Compared | Added | NotAdded
"""The events that follow from the state alone; the rest came from the model, the sandbox, the clock or a person."""

DECISIONS = get_args(Decision)
"""The classes of Decision, for `isinstance`."""

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
"""Events before which the run may have been at rest. The time before them is not part of the run's active time."""

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
"""Event classes by the name that journals use. The names are written out so that a class can be renamed."""
