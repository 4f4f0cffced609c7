"""What the daemon (the process that searches) and its zygotes say to one another, both being trusted.

The daemon sends requests of a fixed size: fork, with the candidate's own socket attached (and behind it the link to
the program, where that runs apart), and kill. A zygote sends
lines of JSON: one `Ready` (or {"error": …} where it cannot be), then one `Ending` for each candidate's process.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

from behavesim.sandbox.limits import Limits
from behavesim.task import Split

REQUEST = struct.Struct("<cQ")
"""What is requested, and the daemon's number for the candidate."""
FORK, KILL = b"f", b"k"
OUT_OF_MEMORY = 77
"""The exit status of a candidate's process that had too little memory left even to say so."""


@dataclass(frozen=True)
class Assignment:
    """What a zygote is started for (`task` is where its code stands); it travels as an argument of its command line.

    A zygote without a task has no instances: its programs answer what they are asked (see `apart`). It is told the
    `entry_point`, and which files of the task are `hidden` from them.
    """

    task: str
    split: Split
    limits: Limits
    layers: tuple[str, ...]
    preloaded: tuple[str, ...]
    first_use_s: float
    entry_point: str = ""
    hidden: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The assignment as JSON, to be an argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """The assignment of such an argument."""
        fields = json.loads(text)
        tuples = {name: tuple(fields[name]) for name in ("layers", "preloaded", "hidden")}
        return cls(**{**fields, **tuples, "limits": Limits(**fields["limits"])})


@dataclass(frozen=True)
class Ready:
    """The zygote serves: the isolation level its self-test found, what is missing or different, the split's size.

    Of the task it says whether that is `online`, the function's name, and which files no program may read.
    """

    isolation: str
    notes: tuple[str, ...]
    instances: int
    online: bool = False
    entry_point: str = ""
    hidden: tuple[str, ...] = ()

    @classmethod
    def heard(cls, message: dict[str, Any]) -> Ready:
        """The message of a line."""
        return cls(**{**message, "notes": tuple(message["notes"]), "hidden": tuple(message["hidden"])})


@dataclass(frozen=True)
class Ending:
    """How a candidate's process ended: its wait status, the limit the zygote killed it for (if it did: `cpu`, `wall`
    or `cancelled`), its CPU time in seconds and its peak of resident memory in bytes."""

    job: int
    status: int
    killed: str
    cpu_s: float
    peak_bytes: int


def line(message: Ready | Ending | dict[str, Any]) -> bytes:
    """A message of the zygote's as it is sent."""
    return json.dumps(message if isinstance(message, dict) else vars(message)).encode() + b"\n"
