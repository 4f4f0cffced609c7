"""Why candidates of a run were rejected: each reason, its frequency and an example."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, FRACTION, Column, Table, cells_of


@dataclass(frozen=True)
class RejectionReason:
    """One reason for rejection at one stage.

    `count` is the number of candidates; `share` is its fraction of all candidates that are feasible or rejected.
    `example` is the most frequent message of these candidates, `candidate` the number of the first candidate with it.
    """

    stage: str
    reason: str
    count: int
    share: float
    candidate: int
    example: str


def failures(run: Run) -> tuple[RejectionReason, ...]:
    """Return each pair of stage and reason for which candidates were rejected, the most frequent first.

    Equally frequent ones are in alphabetical order.
    """
    cases: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in run.candidates:
        if candidate.status == "rejected":
            cases[candidate.stage or "", candidate.reason or ""].append(candidate)
    total = max(1, sum(candidate.status != "open" for candidate in run.candidates))
    found = [_reason(stage, reason, rejected, total) for (stage, reason), rejected in cases.items()]
    return tuple(sorted(found, key=lambda each: (-each.count, each.stage, each.reason)))


def _reason(stage: str, reason: str, rejected: list[Candidate], total: int) -> RejectionReason:
    """Return the reason of these `rejected` candidates; `total` is the number of feasible and rejected ones in all."""
    messages = Counter(candidate.message for candidate in rejected)
    # `max` returns the first of equal ones, so the example does not depend on the order of a set.
    example = max(rejected, key=lambda candidate: messages[candidate.message])
    return RejectionReason(stage, reason, len(rejected), len(rejected) / total, example.candidate, example.message)


def failures_table(reasons: tuple[RejectionReason, ...]) -> Table:
    """Return a table with a row per reason, in the given order."""
    columns = (
        Column("stage"),
        Column("reason"),
        Column("count", COUNT, title="candidates"),
        Column("share", FRACTION),
        Column("example", title="most often"),
    )
    return Table("failures", "why candidates fail", columns, tuple(cells_of(each, columns) for each in reasons))
