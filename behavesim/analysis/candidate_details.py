"""All details of one candidate, and the reasons for which candidates of a run were rejected."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    FRACTION,
    PROGRAM,
    SCORE,
    SCORE_AND_GAP,
    Column,
    Scored,
    Table,
    cells_of,
)
from behavesim.base.text import ScoreSource
from behavesim.engine.tuning import best_trial, evidence_in_words, numbers_of
from behavesim.state.events import Asked, Responded, Tuning
from behavesim.store.reading import read_last

# Largest number of programs listed as nearest in behaviour: as many as a person compares at a glance.
NEAREST = 5


@dataclass(frozen=True)
class Parent:
    """A program that the prompt showed, with its score in the task's unit and its gap."""

    candidate: int
    score: float | None
    gap: float | None


@dataclass(frozen=True)
class Neighbour(Scored):
    """A program near in behaviour, with its BehaveSim to the candidate, in [0, 1]."""

    similarity: float


@dataclass(frozen=True)
class TunedNumber:
    """A number that the machine tuned: its line in the program as it was, from 1, and its values.

    `after` is that of the best trial; None if no trial scored better.
    """

    line: int
    before: float
    after: float | None


# The columns of a table of such numbers.
TUNED = (Column("line", COUNT), Column("before", SCORE), Column("after", SCORE))


@dataclass(frozen=True)
class CandidateDetails:
    """A candidate of the run named `run`, with its parents and its nearest programs in behaviour, the nearest first.

    `prompt` and `reply` are the texts of the last ones; None for the template. `left_out` says what was left out of the
    prompt to fit the setting `prompt_tokens`. The candidate used `of.counted_s` of the `limit_s` CPU seconds for all
    search instances. `neighbours` is empty if the candidate is not feasible. `numbers` are those that the machine
    tuned, even if no trial was better; empty if it did not. `notes` are those on the run that name the candidate.
    """

    run: str
    of: Candidate
    gap: float | None
    parents: tuple[Parent, ...]
    prompt: str | None
    reply: str | None
    neighbours: tuple[Neighbour, ...]
    score_source: ScoreSource
    left_out: tuple[str, ...] = ()
    limit_s: float | None = None
    numbers: tuple[TunedNumber, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: str = ""
    """On what the tuned program was compared with its parent; "" if it was not."""

    def document(self) -> dict[str, Any]:
        """Return one flat mapping for JSON."""
        details = asdict(self)
        return {**details.pop("of"), **details}

    def tables(self) -> tuple[Table, ...]:
        """Return tables of the candidate's score on each instance, metrics, parents and neighbours; no empty ones."""
        numbered = (Column("candidate", COUNT), *SCORE_AND_GAP)
        instances = (Column("instance", COUNT), Column("score", SCORE))
        parents = tuple((each.candidate, each.score, each.gap) for each in self.parents)
        near = tuple((*each.cells, each.similarity) for each in self.neighbours)
        tables = (
            Table("scores", "score on each instance", instances, tuple(enumerate(self.of.scores, 1))),
            Table("metrics", "metrics", (Column("metric"), Column("value", SCORE)), tuple(self.of.metrics.items())),
            Table(
                "numbers",
                "numbers of the parent, and of the best trial" + (self.evidence and f"; compared on {self.evidence}"),
                TUNED,
                tuple((each.line, each.before, each.after) for each in self.numbers),
            ),
            Table("parents", "parents", numbered, parents),
            Table("neighbours", "nearest in behaviour", (*numbered, Column("similarity", DISTANCE)), near),
        )
        return tuple(table for table in tables if table.rows)


def candidate_details(run: Run, number: int) -> CandidateDetails:
    """Return the details of the candidate of this number (-1: the template); raises UsageError if there is none."""
    candidate, journal = run.candidate(number), run.folder.journal
    asked, response = read_last(journal, number, Asked), read_last(journal, number, Responded)
    return CandidateDetails(
        run=run.folder.run,
        of=candidate,
        gap=run.gap(candidate.score),
        parents=tuple(
            Parent(each.candidate, each.score, run.gap(each.score)) for each in map(run.candidate, candidate.parents)
        ),
        prompt=None if asked is None else asked.prompt.text,
        reply=None if response is None else response.reply.text,
        neighbours=_neighbours(run, candidate),
        score_source=run.score_source,
        left_out=() if asked is None else asked.prompt.left_out,
        limit_s=run.settings.timeout_s,
        numbers=() if response is None or response.tuning is None else _numbers(run, candidate, response.tuning),
        evidence="" if response is None or response.tuning is None else evidence_in_words(response.tuning),
        notes=tuple(each for each in run.folder.notes if re.search(rf"\bcandidate {number}\b", each, re.IGNORECASE)),
    )


def _numbers(run: Run, candidate: Candidate, tuning: Tuning) -> tuple[TunedNumber, ...]:
    parent = run.candidate(candidate.parents[0]).source
    numbers = numbers_of(run.task(), parent or "")
    best = tuning.values[best_trial(tuning.gains)]
    return tuple(TunedNumber(each.line, each.value, after) for each, after in zip(numbers, best, strict=False))


def _neighbours(run: Run, candidate: Candidate) -> tuple[Neighbour, ...]:
    # Programs with its own normal form are left out. It is empty if the candidate is not feasible.
    own_hash = candidate.program_hash or None
    others = [each for each in run.ranked() if each != candidate and each.program_hash != own_hash]
    if candidate.status != "feasible" or not others:
        return ()
    own, *theirs = run.trajectories([candidate.candidate, *(other.candidate for other in others)])
    similarity = run.measure().one_vs_many(own, theirs).tolist()
    # The programs are ranked, and sorting keeps the order of equal ones.
    nearest = sorted(zip(similarity, others, strict=True), key=lambda pair: -pair[0])[:NEAREST]
    return tuple(Neighbour(*run.scored(other).cells, how_like) for how_like, other in nearest)


@dataclass(frozen=True)
class Ancestor(Scored):
    """A program in a line of ancestors: its kind of request, its island, and all programs that its prompt showed."""

    operator: str
    group: str | None
    parents: tuple[int, ...]


def lineage(run: Run, candidate: Candidate | None) -> tuple[Ancestor, ...]:
    """Return a feasible candidate's line of ancestors, the oldest first and the candidate last; empty for None.

    The ancestor of a program is its parent with the best score; the line ends at a program without a feasible parent.
    """
    way: list[Ancestor] = []
    while candidate is not None:
        origin = candidate.operator, candidate.group, candidate.parents
        way.append(Ancestor(*run.scored(candidate).cells, *origin))
        parents = [run.candidate(parent) for parent in candidate.parents]
        candidate = max((each for each in parents if each.score is not None), key=run.utility, default=None)
    return tuple(reversed(way))


# Why candidates of a run were rejected: each reason, its frequency and an example.


@dataclass(frozen=True)
class RejectionReason:
    """One reason for rejection at one stage: how many candidates it has, and which fraction of all with an outcome.

    `example` is the most frequent message of these candidates, `candidate` the first one with it.
    """

    stage: str
    reason: str
    count: int
    share: float
    candidate: int
    example: str


def failures(run: Run) -> tuple[RejectionReason, ...]:
    """Return each pair of stage and reason of a rejection, the most frequent first, ties in alphabetical order."""
    cases: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in run.candidates:
        if candidate.status == "rejected" and candidate.stage != "tune":  # no program failed
            cases[candidate.stage or "", candidate.reason or ""].append(candidate)
    # open candidates are left out of the share: it must not grow while replies are under way
    total = max(1, sum(candidate.status != "open" for candidate in run.candidates))
    found = [_reason(stage, reason, rejected, total) for (stage, reason), rejected in cases.items()]
    return tuple(sorted(found, key=lambda each: (-each.count, each.stage, each.reason)))


def _reason(stage: str, reason: str, rejected: list[Candidate], total: int) -> RejectionReason:
    messages = Counter(candidate.message for candidate in rejected)
    # `max` returns the first of equal ones, so the example does not depend on the order of a set.
    example = max(rejected, key=lambda candidate: messages[candidate.message])
    return RejectionReason(stage, reason, len(rejected), len(rejected) / total, example.candidate, example.message)


def failures_table(reasons: tuple[RejectionReason, ...]) -> Table:
    """Return a row per reason."""
    columns = (
        Column("stage"),
        Column("reason"),
        Column("count", COUNT, title="candidates"),
        Column("share", FRACTION),
        Column("candidate", PROGRAM, title="such as"),
        Column("example", title="most often"),
    )
    return Table("failures", "why candidates fail", columns, tuple(cells_of(each, columns) for each in reasons))
