"""The frozen events of a run. A journal holds nothing else, and applying them in order gives the run's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import SkipValidation

from behavesim.base.text import ScoreSource, one_line
from behavesim.base.tokens import Usage
from behavesim.task import Metrics
from behavesim.task.evaluated import TRAJECTORY
from behavesim.trajectory import AlgorithmRun

# What passes between a run and a model: the prompt, the reply, and batches of prompts.


@dataclass(frozen=True)
class Prompt:
    """What a model is asked; the example programs are the fenced blocks of the text, worst first, best last.

    When a rejected candidate is asked for again, its own program or reply comes after them. `operator` is the method's
    name for the kind of request, such as "improve" or "e1". If `asks_thought`, a sentence about the program is
    looked for in the reply and stored as its thought. `left_out` is what was dropped to fit `prompt_tokens`. `model` is
    the model to ask, "" if the proposer chooses it.
    """

    text: str
    operator: str
    asks_thought: bool = False
    left_out: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True)
class Reply:
    """What a proposer answered: the unchanged text, the name of the model that wrote it, and the usage.

    `calls` holds the usage of each request for this reply that the endpoint answered, failed ones included, the reply's
    own last. It is empty if no endpoint was asked. `finish_reason` is the endpoint's word for why the text ended, None
    if it gave none. `unanswered` counts requests without an answer, which may have been billed. `fault` says in one
    line why the prompt was given up, '' if it was answered.
    """

    text: str
    model: str
    calls: tuple[Usage, ...] = ()
    finish_reason: str | None = None
    unanswered: int = 0
    fault: str = ""


@dataclass(frozen=True)
class BatchSent:
    """The prompts with these `numbers` are asked as one batch: of candidates, and of notes as `note_number` gives them.

    It is stored twice: with the `id` "" before anything is sent, and with the endpoint's id before a reply is waited
    for. `name` stands in the batch's metadata: by it a resumed run finds a batch whose id was not stored before a kill.
    """

    name: str
    numbers: tuple[int, ...]
    id: str = ""


def note_number(note: int) -> int:
    """Return the number that `propose` gets for note `note` (from 0), -2 and below; and the note's for that number."""
    return -2 - note


# Events of a run's sessions: it began, was resumed in another process, was forked from another run, or stopped.


_LONGEST_BEHAVIOUR = 40


@dataclass(frozen=True)
class RunStarted:
    """The run began. It holds the resolved settings, the provenance (hashes and versions) and the isolation level."""

    settings: Mapping[str, Any]
    provenance: Mapping[str, str]
    isolation: str

    @property
    def score_source(self) -> ScoreSource:
        """Who computes the run's scores; "trusted" if the provenance does not say, as in older journals."""
        return "self-reported" if self.provenance.get("score_source") == "self-reported" else "trusted"

    @property
    def behaviour(self) -> str | None:
        """What programs are compared by; None if unknown, as in older journals of runs with an evaluator.

        It is TRAJECTORY for a task's own trajectories. With an evaluator it is the name of what that left: "calls",
        "answers", "metrics" or "trajectory.json", in any case one line of at most 40 characters.
        """
        if self.score_source == "trusted" and "behaviour" not in self.provenance:
            return TRAJECTORY
        return one_line(self.provenance.get("behaviour", ""), _LONGEST_BEHAVIOUR) or None


@dataclass(frozen=True)
class RunResumed:
    """The run was resumed in a new process.

    The candidates `asked_again` and the notes `notes_again`, by number, have no reply yet. Those that no open batch has
    are requested again while the caps allow it. At most `unanswered` of their earlier requests were sent and may have
    been billed. `price_list` names the list of prices used from here on.
    """

    asked_again: tuple[int, ...]
    isolation: str
    # fields that older journals lack have defaults, and stand last
    unanswered: int = 0
    price_list: str = ""
    notes_again: tuple[int, ...] = ()


@dataclass(frozen=True)
class RunForked:
    """The run was forked from the run with the id `run`: the events before this one are copies of that run's.

    `settings` and `provenance` are the fork's, in force from here on.
    """

    run: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class RunStopped:
    """A session of the run ended, and was not killed.

    `reason` is "budget" if all candidates were registered, else a cap's name, "interrupted", "recovered" or "failed".
    `under_way` counts requests that may have been billed although no stored reply holds their usage; None if unknown.
    `message` says what went wrong, in one line; empty unless the reason is "failed", and in older journals.
    """

    reason: str
    under_way: int | None = field(default=None, repr=False)
    message: str = field(default="", repr=False)


# Events of choices that are made when a run has ended: the recommended program, and a portfolio of several.


@dataclass(frozen=True)
class Recommended:
    """The program chosen on validation instances, and the validation score of each tried program, by number.

    `choice` is None if none was tried or all failed; a score of None means that the program failed. `worth` ranks
    programs, higher is better: the gain over the template on search and validation instances, a fraction, after a race
    that on fresh instances. If the template failed, it is the mean score instead, negated if the task minimises. It is
    empty in older journals.
    """

    choice: int | None
    validation: Mapping[int, float | None]
    worth: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FreshBegun:
    """Programs, the template among them, are to race on fresh instances: validation instances from number `first` on.

    It is committed before any of them runs, and the run, with those that it was forked from, has used none of the
    instances before. The first block has `size` instances. The race takes at most `purse` evaluations of one program on
    one instance, or those of the first block if they are more.
    """

    programs: tuple[int, ...]
    first: int
    size: int
    purse: int


@dataclass(frozen=True)
class FreshScored:
    """The scores of programs on a block of a race: `count` fresh instances from number `first` on; () if one failed."""

    first: int
    count: int
    scores: Mapping[int, tuple[float, ...]]


@dataclass(frozen=True)
class PortfolioChosen:
    """A portfolio of programs that behave differently: (run, candidate) pairs, in the order in which they were chosen.

    `wanted` is the size that was asked for. `others` are the ids of the runs that programs were also chosen from.
    `validation` holds each program's scores on the validation instances, None for one that failed there; it is empty if
    the task has none.
    """

    wanted: int
    programs: tuple[tuple[str, int], ...]
    validation: tuple[tuple[float, ...] | None, ...] = ()
    others: tuple[str, ...] = ()


# A candidate's number, in the order in which candidates are asked for; -1 is the template.
CandidateId = int

TEMPLATE: CandidateId = -1
"""The candidate number of the template. The template is in the archive but does not count towards the budget."""

# The name a method gives to a group of programs: an island's number, "population", "elites".
GroupName = str

# Where a candidate was rejected: as its reply was read ("extraction"), its program run and scored, or as the machine
# tuned the numbers of another ("tune").
Stage = Literal["extraction", "evaluation", "tune"]

# The operator of a candidate whose program a person injected, and the model name of its reply: no model was asked.
INJECTED = "injected"
# The operator of a candidate that is its only parent with other numbers, which the machine tuned; likewise.
TUNE = "tune"


@dataclass(frozen=True)
class Injected:
    """A person injected a program. It is evaluated in place of the next candidate that the method would ask for.

    `not_before` is how many candidates are asked for before it at least, those whose numbers are tuned left out. `name`
    is unique in the run. `source` is the program's text.
    """

    name: str
    source: str
    not_before: int = 0


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
    prompt's operator is INJECTED, its text is the program itself. If it is TUNE, nobody is asked.
    """

    candidate: CandidateId
    parents: tuple[CandidateId, ...]
    group: GroupName | None
    prompt: Prompt


# What a tuned program is compared with its parent on: "fresh" instances, those of "validation", or where a task has no
# other instances, the "score" on those of the trials, measured again several times.
TuningCheck = Literal["fresh", "validation", "score"]


@dataclass(frozen=True)
class Tuning:
    """What was tried to tune the numbers of a program (`engine/tuning.py`).

    `values` has the numbers of each trial, first the program's own, and `gains` its mean gain on the program, a
    fraction, None if it failed. `before` and `after` are the scores of the program and of the best trial on what
    `check` names, as far as the comparison went; empty if there was none. `cpu_s` is CPU seconds of all this.
    """

    values: tuple[tuple[float, ...], ...]
    gains: tuple[float | None, ...]
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    cpu_s: float = 0.0
    check: TuningCheck | None = None

    @property
    def trials(self) -> int:
        """How many trials with other numbers there were."""
        return len(self.values) - 1


@dataclass(frozen=True)
class Responded:
    """The reply for a candidate arrived. It is committed unchanged, before its program is extracted.

    `tuning` is what was tried if the machine wrote it (TUNE); else None.
    """

    candidate: CandidateId
    reply: Reply
    tuning: Tuning | None = None


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

    @property
    def is_given_up(self) -> bool:
        """Whether there is no reply: the endpoint failed or refused the prompt, which says nothing of any program."""
        return self.reason == "given-up"


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
class GoneOn:
    """A candidate that may be the best is to be judged on `count` further instances, from number `first` on."""

    candidate: CandidateId
    first: int
    count: int


@dataclass(frozen=True)
class Raced:
    """The scores of a candidate, or of the template, on further instances from number `first` on.

    If it failed there, there are none, and `reason` and `message` are as of Rejected: the candidate is rejected.
    `cpu_s` is CPU seconds; 0 if an earlier candidate with the same text was judged on them.
    """

    candidate: CandidateId
    first: int
    scores: tuple[float, ...]
    cpu_s: float = 0.0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True)
class RaceEnded:
    """A feasible candidate goes on no further: `score` counts from here on, in place of the mean in Evaluated.

    It is estimated from its scores on `instances` instances, and can be compared with programs that saw more or fewer;
    see `state/race.py`. The standard error is that of the difference to the template; None if unknown.
    """

    candidate: CandidateId
    score: float
    standard_error: float | None
    instances: int


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


# Events that follow from the state alone; other events come from models, the sandbox, the clock or people.
Decision = Regrouped | Asked | NoteAsked | GoneOn | RaceEnded | Compared | Added | NotAdded

# The classes of Decision, for `isinstance`.
DECISIONS = get_args(Decision)

# Events of the run as a whole: they belong to no candidate and no note, and no method decides them.
RunEvent = (
    Injected | Advised | ClockRead | BatchSent | RunStarted | RunForked | RunResumed | RunStopped
    | FreshBegun | FreshScored | Recommended | PortfolioChosen
)  # fmt: skip

# Any event of a run.
Event = Decision | Responded | NoteReceived | PutOff | Evaluated | Rejected | Raced | RunEvent

# Classes of events before which the run may have rested: the time since the event before them is not active time.
AFTER_A_PAUSE = (
    RunStarted,
    RunResumed,
    RunForked,
    FreshBegun,
    FreshScored,
    Recommended,
    PortfolioChosen,
)

# Event classes by the name that journals store, the class's own: renaming a class makes old journals unreadable.
STORED_AS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
