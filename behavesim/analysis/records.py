"""The candidates of a run as flat records for other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import TOKEN_KINDS
from behavesim.base.score_source import ScoreSource
from behavesim.base.tokens import Usage
from behavesim.state.events import CandidateId, Responded
from behavesim.store.reading import read_events


@dataclass(frozen=True)
class Record(Candidate):
    """A candidate with its gap (a fraction, None if unknown), who computed its score, and its tokens.

    `tokens` maps each of TOKEN_KINDS to the sum over all answered requests of the candidate, repairs included. A sum is
    None if there was no request, or if one of them did not report this kind.
    """

    gap: float | None = None
    score_source: ScoreSource = "trusted"
    tokens: Mapping[str, int | None] = field(default_factory=dict)


def records(run: Run) -> Iterator[Record]:
    """Yield a record for every candidate asked for, open and rejected ones included, in order of number.

    The template is left out. Raises JournalError, at the first record, if the run's journal cannot be read.
    """
    calls: dict[CandidateId, list[Usage]] = defaultdict(list)
    for _, _, event in read_events(run.folder.journal, only=(Responded,)):
        if isinstance(event, Responded):
            calls[event.candidate].extend(event.reply.calls)
    for each in run.candidates:
        tokens = {kind: _sum([getattr(call, kind) for call in calls[each.candidate]]) for kind in TOKEN_KINDS}
        yield Record(**vars(each), gap=run.gap(each.score), score_source=run.score_source, tokens=tokens)


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum of the counts; None if one is None or there are none."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
