"""The frozen events a run is made of; the journal holds nothing else, and the state is their fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from behavesim.trajectory import Trajectory

Ticket = int
"""A candidate's number, in the order in which candidates are asked for; it names the candidate everywhere."""

Operator = Literal["template", "improve", "i1", "e1", "e2", "m1", "m2", "m3", "crossover", "repair"]
"""What a prompt asks for: a first program from the template, a better one (FunSearch), or one of EoH's operators."""

Stage = Literal["extraction", "evaluation"]


@dataclass(frozen=True)
class Prompt:
    """What a model is asked; the example programs are the fenced blocks of the text, in ascending order of score."""

    text: str
    operator: Operator


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as the endpoint counted them; None where it did not say."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True)
class Reply:
    """What a proposer answered: the text as it came, the model that wrote it, and what it cost.

    `calls` holds the usage of every request made for this reply that the endpoint answered, failed ones included, the
    last one being the reply's own; a proposer that asks nobody leaves it empty.
    """

    text: str
    model: str
    calls: tuple[Usage, ...] = ()
    finish_reason: str | None = None


@dataclass(frozen=True)
class RunStarted:
    """The run's settings as resolved, and what its results depend on beside them."""

    settings: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    isolation: str


@dataclass(frozen=True)
class RunResumed:
    """The run goes on in a new process; the candidates named were in flight and are asked for again."""

    asked_again: tuple[Ticket, ...]
    isolation: str


@dataclass(frozen=True)
class RunForked:
    """From here on the run goes its own way: up to here its journal is that of `run`, made under other settings."""

    run: str
    settings: Mapping[str, Any]
    fingerprint: Mapping[str, str]


@dataclass(frozen=True)
class RunStopped:
    """The run ended in order: `budget` when all was asked and told, else the cap or the signal that ended it."""

    reason: str


@dataclass(frozen=True)
class Asked:
    """A ticket was drawn; the parents are the prompt's examples, island is where they were drawn from."""

    candidate: Ticket
    parents: tuple[Ticket, ...]
    island: int | None
    prompt: Prompt


@dataclass(frozen=True)
class Responded:
    """A reply, committed as it came and before anything reads it."""

    candidate: Ticket
    reply: Reply


@dataclass(frozen=True)
class Evaluated:
    """A feasible candidate: the score of each instance, their aggregate, and what the program did on each.

    `fingerprint` names its normalised source; `copy_of` is the twin whose result it took without being run again.
    """

    candidate: Ticket
    source: str
    score: float
    scores: tuple[float, ...]
    trajectories: tuple[Trajectory, ...] = field(repr=False)
    thought: str = ""
    fingerprint: str = ""
    copy_of: Ticket | None = None
    cpu_s: float = 0.0

    __pydantic_config__ = {"arbitrary_types_allowed": True}  # noqa: RUF012 - how pydantic is told about Trajectory


@dataclass(frozen=True)
class Rejected:
    """A candidate that came to nothing, where and why; `reason` is a word of a closed list, `message` is for people."""

    candidate: Ticket
    stage: Stage
    reason: str
    message: str = ""
    source: str = ""
    thought: str = ""
    fingerprint: str = ""
    copy_of: Ticket | None = None
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Compared:
    """The candidate's mean similarity to each group of members that the method asked about."""

    candidate: Ticket
    similarity: Mapping[int, float]


@dataclass(frozen=True)
class Placed:
    """The candidate was told to the method and joined an island, from which others may have gone for it.

    `island` is None for one of the first programs, which wait to be clustered.
    """

    candidate: Ticket
    island: int | None
    evicted: tuple[Ticket, ...] = ()


@dataclass(frozen=True)
class Discarded:
    """The candidate was told to the method and not kept: rejected before, or of no use to it."""

    candidate: Ticket


@dataclass(frozen=True)
class Clustered:
    """The first programs were grouped by behaviour: the members of each island."""

    islands: tuple[tuple[Ticket, ...], ...]


@dataclass(frozen=True)
class IslandsRestarted:
    """Islands were emptied and refilled: each one's founder, the best of a surviving island."""

    founders: Mapping[int, Ticket]


@dataclass(frozen=True)
class ElitesRenewed:
    """The programs that stand for the niches known so far, best first; prompts are made of them until the next time."""

    elites: tuple[Ticket, ...]


@dataclass(frozen=True)
class Recommended:
    """The program chosen on validation instances, and the validation score of every program on the shortlist.

    None stands for a program that failed there; the choice is None where all did.
    """

    choice: Ticket | None
    validation: Mapping[Ticket, float | None]


CandidateEvent = Asked | Responded | Evaluated | Rejected | Compared | Placed | Discarded
RunEvent = RunStarted | RunForked | RunResumed | RunStopped | Clustered | IslandsRestarted | ElitesRenewed | Recommended
Event = CandidateEvent | RunEvent
