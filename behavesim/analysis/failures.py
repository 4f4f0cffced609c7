"""Why candidates fail: the reasons of a run, how often each, and one case of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, FRACTION, Column, Table


@dataclass(frozen=True)
class RejectionReason:
    """One reason at one stage.

    `share` is a fraction of all candidates that something has become of; `example` is the most frequent message, and
    `candidate` the first who got it.
    """

    stage: str
    reason: str
    count: int
    share: float
    candidate: int
    example: str


def failures(run: Run) -> tuple[RejectionReason, ...]:
    """The reasons for which candidates were rejected, most frequent first."""
    cases: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in run.candidates:
        if candidate.status == "rejected":
            cases[candidate.stage or "", candidate.reason or ""].append(candidate)
    total = max(1, sum(candidate.status != "open" for candidate in run.candidates))
    found = [_reason(stage, reason, rejected, total) for (stage, reason), rejected in cases.items()]
    return tuple(sorted(found, key=lambda each: (-each.count, each.stage, each.reason)))


def _reason(stage: str, reason: str, rejected: list[Candidate], total: int) -> RejectionReason:
    messages = Counter(candidate.message for candidate in rejected)
    example = max(rejected, key=lambda candidate: messages[candidate.message])
    return RejectionReason(stage, reason, len(rejected), len(rejected) / total, example.candidate, example.message)


def failures_table(reasons: tuple[RejectionReason, ...]) -> Table:
    """The reasons, each with an example."""
    columns = (
        Column("stage"),
        Column("reason"),
        Column("count", COUNT, title="candidates"),
        Column("share", FRACTION),
        Column("example", title="most often"),
    )
    rows = ((each.stage, each.reason, each.count, each.share, each.example) for each in reasons)
    return Table("failures", "why candidates fail", columns, tuple(rows))
