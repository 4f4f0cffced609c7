"""Messages between the daemon (the process that searches) and its zygotes; both are trusted.

The daemon sends requests of a fixed size: fork and kill. A fork carries the candidate's socket, and also the link to
the program if that runs apart. A zygote sends lines of JSON: one `Ready`, or {"error": …} if it cannot start; then one
`Ending` for each candidate's process.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

from behavesim.sandbox.limits import Limits
from behavesim.task import Split

REQUEST = struct.Struct("<cQ")
"""A request: FORK or KILL, and the daemon's number for the candidate."""
FORK, KILL = b"f", b"k"
OUT_OF_MEMORY = 77
"""The exit status of a candidate's process that had too little memory left to send its failure."""


@dataclass(frozen=True)
class Assignment:
    """What a zygote needs to start; it is sent as an argument of the command line.

    `task` is where its code lies (`TaskReference.place`), `preloaded` are modules to import, `first_use_s` is the limit
    on the template's rehearsal (s of CPU time). A zygote with an empty `task` has no instances: its programs answer
    calls (see `apart`). Only such a zygote needs `entry_point`, and `hidden`, the files that programs must not read.
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
        """Return the assignment as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """Return the assignment from its JSON."""
        fields = json.loads(text)
        tuples = {name: tuple(fields[name]) for name in ("layers", "preloaded", "hidden")}
        return cls(**{**fields, **tuples, "limits": Limits(**fields["limits"])})


@dataclass(frozen=True)
class Ready:
    """A zygote's first message: it serves.

    `isolation` is the level that its self-test found, `notes` what keeps that from the best, a line each, `instances`
    the split's size. From the task come `online`, `entry_point`, and `hidden`, the files that programs must not read.
    """

    isolation: str
    notes: tuple[str, ...]
    instances: int
    online: bool = False
    entry_point: str = ""
    hidden: tuple[str, ...] = ()

    @classmethod
    def heard(cls, message: dict[str, Any]) -> Ready:
        """Return the message from a line's JSON object."""
        return cls(**{**message, "notes": tuple(message["notes"]), "hidden": tuple(message["hidden"])})


@dataclass(frozen=True)
class Ending:
    """How the process of candidate `job` (the daemon's number) ended.

    `status` is its wait status, `peak_bytes` its peak of resident memory. `killed` is why the zygote killed it: "cpu",
    "wall" or "cancelled", or "" if it did not.
    """

    job: int
    status: int
    killed: str
    cpu_s: float
    peak_bytes: int


def line(message: Ready | Ending | dict[str, Any]) -> bytes:
    """Return a zygote's message as a line of JSON."""
    return json.dumps(message if isinstance(message, dict) else vars(message)).encode() + b"\n"
