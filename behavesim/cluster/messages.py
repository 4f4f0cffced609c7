"""What the daemon (the process that searches) and a worker say to each other: plain values in MessagePack.

The daemon opens with an `Order`. The worker answers {"facts": …}. Where the daemon accepts them, it sends the task's
files: {"file": [path, piece]} for each piece, then {"file": null}. The worker answers {"ready": [isolation, notes,
places]} or {"refused": text}. Then the daemon sends {"run": [[job, source, question, alone], …]} and {"cancel": [job,
…]}, and the worker {"ran": [[job, ending, frame, program's ending], …]} and {"failed": [[job, text], …]}. All the time
the worker sends {"beat": 1}, so that its silence means something. The daemon believes nothing that a worker sends: see
`results_of`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Literal

from behavesim.cluster.wire import Garbage
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.messages import Ending, Instructions
from behavesim.task import Split

HANDLER = "behavesim"
"""The operation under which a Dask worker serves us."""
BEAT_S = 2.0
"""Seconds between two signs of life of a worker."""
ENOUGH = 1 << 22
"""Bytes of results after which a worker begins another message."""
KILLED = ("", "cpu", "wall", "asleep", "waited", "machine", "memory", "processes", "files")
"""The values of `Ending.killed` that a worker may report: all but "cancelled"."""
_LONGEST_S = 1e9
"""Bound on CPU seconds that a worker may report: 30 years."""


@dataclass(frozen=True)
class Order(Instructions):
    """What a worker needs to know before it runs programs.

    `profile` is "functions", or "evaluator" for evaluator and program together. `task` is where the task's code lies,
    MODULE:NAME or the name of its file among the shipped ones. For an evaluator it is its EvaluatorFile as JSON, with
    paths relative to the shipped files. `parcel` is the hash of the shipped files. `proof` has hashes of the task's
    file and instances, which the worker must find, too; it is empty for an evaluator.
    """

    profile: Literal["functions", "evaluator"]
    task: str
    split: Split
    allow_weak_isolation: bool
    parcel: str
    proof: str


def as_values(job: int, ran: Ran) -> list[Any]:
    """Return what came of a program as plain values: [job, ending, frame, the program's own ending or None]."""
    # without each ending's number of the job, which the daemon knows
    ending, *apart = (list(astuple(each)[1:]) for each in (ran.ending, ran.program) if each)
    return [job, ending, ran.frame, apart[0] if apart else None]


def results_of(values: Any, most: int) -> list[tuple[int, Ran]]:
    """Return the number of each job and what came of it, from the list that a worker sent as "ran".

    Nothing in it is believed. Raises Garbage for anything that is no list of what `as_values` returns, and for a frame
    of more than `most` bytes.
    """
    if not isinstance(values, list):
        raise Garbage(f"a list of results was expected, not {values!r:.100}")
    return [_result(each, most) for each in values]


def _result(values: Any, most: int) -> tuple[int, Ran]:
    """Return the job's number and what came of it, from one entry of the list of results; raises Garbage for others."""
    match values:
        case [int(job), list(ending), bytes() | None as frame, list() | None as program]:
            if frame is not None and len(frame) > most:
                raise Garbage(f"a frame of {len(frame)} bytes came; at most {most} were expected")
            apart = None if program is None else _ending(job, program)
            return job, Ran(_ending(job, ending), frame, apart)
    raise Garbage(f"a result came that is none: {values!r:.100}")


def _ending(job: int, values: list[Any]) -> Ending:
    """Return how a process ended; raises Garbage unless types and ranges are those that a zygote can report."""
    match values:
        case [int(status), str(killed), float(cpu_s), int(peak), int(instance), int(calls), float(first_s), bool(busy)]:
            known = 0 <= status < 1 << 16 and killed in KILLED and min(peak, instance, calls) >= 0
            # 0x7F marks a process that was stopped and has not ended
            if known and (status & 0x7F) != 0x7F and 0 <= first_s <= cpu_s < _LONGEST_S:  # no NaN passes
                return Ending(job, status, killed, cpu_s, peak, instance, calls, first_s, busy)
    raise Garbage(f"a process is said to have ended as none can: {values!r:.100}")


def failures_of(values: Any) -> list[tuple[int, str]]:
    """Return (job's number, error's text up to 2000 characters) of each failure; raises Garbage for anything else."""
    if isinstance(values, list) and all(isinstance(each, list) and [*map(type, each)] == [int, str] for each in values):
        return [(job, text[:2000]) for job, text in values]
    raise Garbage(f"a list of failures was expected, not {values!r:.100}")
