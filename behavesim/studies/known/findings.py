"""What the study knows of single programs, of pairs of them, and of those who found them."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.studies.known.partings import Parting
from behavesim.task.verdict import Verdict


@dataclass(frozen=True)
class Tried:
    """A program that was run: its name, who found it, its source and its verdict."""

    name: str
    whose: str
    source: str
    verdict: Verdict


@dataclass(frozen=True)
class Refused:
    """A program that could not be run or was rejected: at which stage, and why."""

    name: str
    whose: str
    stage: str
    reason: str
    message: str


@dataclass(frozen=True)
class Found:
    """A program with its score and gap, the number of its behaviour from 1, and its nearest program.

    `copy_of` is the first program with this behaviour, None for that program itself. `nearest` is `copy_of`, or the
    most similar program of another behaviour, with their BehaveSim and where they part; the three are None if there is
    none. A copy never parts: its `parting` is None.
    """

    name: str
    whose: str
    score: float
    gap: float | None
    behaviour: int
    copy_of: str | None
    nearest: str | None
    similarity: float | None
    parting: Parting | None


@dataclass(frozen=True)
class Pair:
    """Two programs, the behaviour of the first, and their similarities by text and by behaviour."""

    one: str
    other: str
    behaviour: int
    text: float
    behavesim: float


@dataclass(frozen=True)
class Party:
    """Those who found some programs: how many, with how many behaviours, how many found by nobody else, and the best.

    `best` is the name of their best program, with its score and gap.
    """

    whose: str
    programs: int
    behaviours: int
    alone: int
    best: str
    score: float
    gap: float | None
