"""The candidates of a run, built from its events: as values, as flat records and as a data frame."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from behavesim.base.errors import UsageError
from behavesim.base.text import ScoreSource
from behavesim.base.tokens import Usage
from behavesim.state.events import (
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    Evaluated,
    Event,
    GroupName,
    Raced,
    RaceEnded,
    Rejected,
    Responded,
)
from behavesim.store.reading import read_events
from behavesim.task import Metrics
from behavesim.task.evaluated import without_surroundings

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Candidate:
    """One candidate of a run, -1 for the template; a field is None, or empty, while its value is unknown.

    `parents` are the candidates that its prompt showed. `group` names the island that it was added to, even if a
    regrouping moved it later. `stage` is where it was rejected, and `reason` (one word) and `message` say why. `score`
    is the task's mean of `scores`, one per instance of the search. `thought` is the model's sentence before the code.
    `program_hash` is that of the source's normal form. `copy_of` is the earlier candidate with the same text whose
    result it shares. After a race, `raced` are the scores on further instances of the search, and `score` is estimated
    from all of them. `standard_error` is that of the difference to the template. Of `cpu_s`, the CPU time of its
    evaluation, `counted_s` count towards the limit.
    """

    candidate: CandidateId
    status: Literal["feasible", "rejected", "open"]
    parents: tuple[CandidateId, ...]
    operator: str
    group: GroupName | None = None
    stage: str | None = None
    reason: str | None = None
    message: str = ""
    score: float | None = None
    scores: tuple[float, ...] = ()
    source: str | None = None
    thought: str = ""
    model: str | None = None
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float | None = None
    counted_s: float | None = None
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
    raced: tuple[float, ...] = ()
    standard_error: float | None = None

    @property
    def all_scores(self) -> tuple[float, ...]:
        """The score on each instance that it was judged on."""
        return self.scores + self.raced


# Fields that a Candidate takes, under the same names, from its Evaluated or Rejected event.
DESCRIBED = ("thought", "program_hash", "copy_of", "cpu_s", "metrics", "feedback")


class Candidates:
    """All candidates that a run asked for, and its template, as the events given to `apply` describe them."""

    def __init__(self) -> None:
        self._known: dict[CandidateId, dict[str, Any]] = {}
        # Values are made when they are asked for: to replace a frozen one at each event would double the time to load.
        self._made: dict[CandidateId, Candidate] = {}

    def apply(self, event: Event) -> None:
        """Update the candidate that an event is about; events must come in the journal's order."""
        # frozen values are made later, by `get` and `all`: most fields change with each event
        match event:
            case Asked(candidate):
                self._known[candidate] = {}  # one that is asked for again, to be repaired, starts anew
                self._update(candidate, status="open", parents=event.parents, operator=event.prompt.operator)
            case Responded(candidate, reply):
                self._update(candidate, model=reply.model)
            case Evaluated(candidate, _, score, scores):
                worth = {"stage": "evaluation", "score": score, "scores": scores, "counted_s": event.counted_s}
                self._update(candidate, status="feasible", **worth, **_program(event))
            case Rejected(candidate, stage, reason, message):
                failed = {"status": "rejected", "stage": stage, "reason": reason, "message": message}
                self._update(candidate, **failed, **_program(event))
            case Raced(candidate, _, scores) if scores:
                raced = self._known.get(candidate, {}).get("raced", ())
                self._update(candidate, raced=(*raced, *scores))
            case Raced(candidate, reason=reason, message=message):
                self._update(candidate, status="rejected", reason=reason, message=message)
                self._update(candidate, score=None, scores=(), raced=(), counted_s=None)
            case RaceEnded(candidate, score, error):
                self._update(candidate, score=score, standard_error=error)
            case Added(candidate, group):
                self._update(candidate, group=group)

    def all(self) -> list[Candidate]:
        """Return the candidates that were asked for, in the order of asking, without the template."""
        return [self._candidate(number) for number in self._known if number != TEMPLATE]

    def get(self, number: CandidateId) -> Candidate | None:
        """Return a candidate by its number, or the template for -1; None if no event has named it yet."""
        return self._candidate(number) if number in self._known else None

    def _update(self, candidate: CandidateId, **changes: Any) -> None:
        # The template alone is evaluated without being asked for.
        self._known.setdefault(candidate, {"parents": (), "operator": "template"}).update(changes)
        self._made.pop(candidate, None)

    def _candidate(self, number: CandidateId) -> Candidate:
        if number not in self._made:
            self._made[number] = Candidate(number, **self._known[number])
        return self._made[number]


def _program(event: Evaluated | Rejected) -> dict[str, Any]:
    found = {name: getattr(event, name) for name in DESCRIBED}
    return {"source": event.source or None, **found, "metrics": without_surroundings(event.metrics)}


class HasCandidate(Protocol):
    """A value that belongs to a candidate, such as a row of a report."""

    @property
    def candidate(self) -> CandidateId:
        """The candidate's number, -1 for the template."""
        ...


# How callers name a candidate: by its number, or by a value that has one.
CandidateLike = CandidateId | HasCandidate


def number_of(named: CandidateLike) -> CandidateId:
    """Return the number of a candidate named by its number, or by a value that has one; else raise UsageError."""
    number = getattr(named, "candidate", named)
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise UsageError(f"a candidate's number, or a candidate, was expected, not {named!r:.80}")
    return int(number)


# Candidates as flat records and as a data frame, for other tools.


# Kinds of tokens; prompt tokens include the cached ones, completion tokens those of reasoning.
TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")
# Kinds of tokens that have a column in a data frame, and in the view `candidates` of a journal; other kinds have none.
TOKENS = ("prompt", "completion")


@dataclass(frozen=True)
class Record(Candidate):
    """A candidate with its gap, who computed its score, and the tokens of all its requests by kind (`token_sums`)."""

    gap: float | None = None
    score_source: ScoreSource = "trusted"
    tokens: Mapping[str, int | None] = field(default_factory=dict)


def calls_by_candidate(journal: Path) -> defaultdict[CandidateId, list[Usage]]:
    """Return the tokens of each answered request, by candidate."""
    calls: defaultdict[CandidateId, list[Usage]] = defaultdict(list)
    for _, _, event in read_events(journal, only=(Responded,)):
        if isinstance(event, Responded):
            calls[event.candidate].extend(event.reply.calls)
    return calls


def token_sums(calls: Sequence[Usage]) -> dict[str, int | None]:
    """Return the sum of these requests' tokens by kind; None without a request, or if one did not report the kind."""
    counts = {kind: [getattr(call, kind) for call in calls] for kind in TOKEN_KINDS}
    return {kind: None if None in each or not each else sum(each) for kind, each in counts.items()}


def metric_names(metrics: Iterable[Metrics]) -> list[str]:
    """Return the names of all metrics of some programs, each once, in the order of their first appearance."""
    return list(dict.fromkeys(name for each in metrics for name in each))


def metric_column(name: str) -> str:
    """Return the name of a metric's column in files, "metrics.NAME", so that it equals no other column's name."""
    return f"metrics.{name}"


def frame(records: Sequence[Record], instances: int) -> pandas.DataFrame:
    """Return a data frame with a row per record and a column for the score on each of so many `instances`."""
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
