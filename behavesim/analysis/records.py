"""The candidates of a run as flat records, and as a data frame, for other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.summary import TOKEN_KINDS
from behavesim.base.score_source import ScoreSource
from behavesim.base.tokens import Usage
from behavesim.state.events import CandidateId, Responded
from behavesim.store.reading import read_events
from behavesim.task import Metrics

if TYPE_CHECKING:
    import pandas

TOKENS = ("prompt", "completion")
"""Kinds of tokens that have a column in a data frame, and in the view `candidates` of a journal; other kinds have
none."""


@dataclass(frozen=True)
class Record(Candidate):
    """A candidate with its gap (see `Run.gap`; None if unknown), who computed its score, and its tokens.

    `tokens` maps each of TOKEN_KINDS to the sum over all answered requests of the candidate, repairs included. A sum is
    None if there was no request, or if one of them did not report this kind.
    """

    gap: float | None = None
    score_source: ScoreSource = "trusted"
    tokens: Mapping[str, int | None] = field(default_factory=dict)


def calls_by_candidate(journal: Path) -> defaultdict[CandidateId, list[Usage]]:
    """Return the tokens of each answered request, by candidate; raises JournalError if the journal cannot be read."""
    calls: defaultdict[CandidateId, list[Usage]] = defaultdict(list)
    for _, _, event in read_events(journal, only=(Responded,)):
        if isinstance(event, Responded):
            calls[event.candidate].extend(event.reply.calls)
    return calls


def token_sums(calls: Sequence[Usage]) -> dict[str, int | None]:
    """Return the sum of the tokens of a candidate's requests, `calls`, for each of TOKEN_KINDS.

    A sum is None if there is no request, or if one of them did not report this kind.
    """
    counts = {kind: [getattr(call, kind) for call in calls] for kind in TOKEN_KINDS}
    return {kind: None if None in each or not each else sum(each) for kind, each in counts.items()}


def metric_names(metrics: Iterable[Metrics]) -> list[str]:
    """Return the names of all metrics of some programs, each once, in the order of their first appearance."""
    return list(dict.fromkeys(name for each in metrics for name in each))


def metric_column(name: str) -> str:
    """Return the name of a metric's column in files, "metrics.NAME", so that it equals no other column's name."""
    return f"metrics.{name}"


def frame(records: Sequence[Record], instances: int) -> pandas.DataFrame:
    """Return a data frame with a row for each record and a column for the score on each of so many `instances`.

    The index is the candidate's number. Raises ImportError if pandas is not installed.
    """
    import pandas

    scores = [f"score.{place}" for place in range(1, instances + 1)]
    columns = [each.name for each in fields(Candidate) if each.name not in ("metrics", "scores")]
    columns.insert(columns.index("score") + 1, "gap")
    columns += [f"{kind}_tokens" for kind in TOKENS]
    columns += [*scores, *map(metric_column, metric_names(each.metrics for each in records))]
    rows = [
        vars(each)
        | {f"{kind}_tokens": each.tokens.get(kind) for kind in TOKENS}
        | dict(zip(scores, each.scores, strict=False))
        | {metric_column(name): value for name, value in each.metrics.items()}
        for each in records
    ]
    return pandas.DataFrame(rows, columns=columns).set_index("candidate")
