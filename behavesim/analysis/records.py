"""The candidates of a run as flat records for other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import TOKEN_KINDS
from behavesim.base.tokens import Usage
from behavesim.state.events import CandidateId, Responded
from behavesim.store.reading import read_events


@dataclass(frozen=True)
class Record:
    """One candidate; a field is None if it is unknown or does not apply.

    `score` and `scores`, one per instance, are in the task's unit; `gap` is a fraction. `tokens` maps each of
    TOKEN_KINDS to the sum over the candidate's requests, None if there were none or one did not report its tokens.
    """

    candidate: int
    status: str
    stage: str | None
    reason: str | None
    message: str
    score: float | None
    scores: tuple[float, ...]
    gap: float | None
    source: str | None
    parents: tuple[int, ...]
    operator: str
    model: str | None
    group: str | None
    copy_of: int | None
    tokens: Mapping[str, int | None]


def records(run: Run) -> Iterator[Record]:
    """Yield a record for every candidate asked for, in order of number, without the template.

    Raises JournalError if the run's journal cannot be read.
    """
    calls: dict[CandidateId, list[Usage]] = defaultdict(list)
    for _, _, event in read_events(run.folder.journal, only=(Responded,)):
        if isinstance(event, Responded):
            calls[event.candidate].extend(event.reply.calls)
    for candidate in run.candidates:
        yield _record(run, candidate, calls.get(candidate.candidate, ()))


def _record(run: Run, candidate: Candidate, calls: Sequence[Usage]) -> Record:
    return Record(
        candidate=candidate.candidate,
        status=candidate.status,
        stage=candidate.stage,
        reason=candidate.reason,
        message=candidate.message,
        score=candidate.score,
        scores=candidate.scores,
        gap=run.gap(candidate.score),
        source=candidate.source or None,
        parents=candidate.parents,
        operator=candidate.operator,
        model=candidate.model,
        group=candidate.group,
        copy_of=candidate.copy_of,
        tokens={kind: _sum([getattr(call, kind) for call in calls]) for kind in TOKEN_KINDS},
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
