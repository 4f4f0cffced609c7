"""All details of one candidate: its origin, its scores, and the programs that behave most like it."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import COLUMNS, Scored, cells, scored
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table
from behavesim.store.reading import read_prompt, read_reply

NEAREST = 5
"""Number of programs listed as nearest in behaviour."""


@dataclass(frozen=True)
class Parent:
    """A program that the prompt showed, with its score in the task's unit and its gap, a fraction; None if unknown."""

    candidate: int
    score: float | None
    gap: float | None


@dataclass(frozen=True)
class Neighbour(Scored):
    """A program near in behaviour, with its similarity: BehaveSim by the run's own measure, in [0, 1]."""

    similarity: float


@dataclass(frozen=True)
class CandidateDetails:
    """A candidate of a run, or its template (-1); a field is None if it is unknown or does not apply.

    `score` and `scores`, one per instance, are in the task's unit; `gap` is a fraction; `cpu_s` is in seconds. `stage`,
    `reason` and `message` say where and why it was rejected. `prompt` and `reply` are the texts of the last prompt and
    reply. `neighbours` are the programs nearest in behaviour, nearest first; empty if the candidate is not feasible.
    """

    run: str
    candidate: int
    status: str
    stage: str | None
    reason: str | None
    message: str
    score: float | None
    gap: float | None
    scores: tuple[float, ...]
    parents: tuple[Parent, ...]
    operator: str
    group: str | None
    model: str | None
    copy_of: int | None
    cpu_s: float | None
    thought: str
    source: str | None
    prompt: str | None
    reply: str | None
    neighbours: tuple[Neighbour, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of its scores, parents and neighbours, without those that have no rows."""
        numbered = (Column("candidate", COUNT), *COLUMNS)
        tables = (
            Table(
                "scores",
                "score on each instance",
                (Column("instance", COUNT), Column("score", SCORE)),
                tuple(enumerate(self.scores, 1)),
            ),
            Table("parents", "parents", numbered, tuple((p.candidate, p.score, p.gap) for p in self.parents)),
            Table(
                "neighbours",
                "nearest in behaviour",
                (*numbered, Column("similarity", DISTANCE)),
                tuple((*cells(each), each.similarity) for each in self.neighbours),
            ),
        )
        return tuple(table for table in tables if table.rows)


def candidate_details(run: Run, number: int) -> CandidateDetails:
    """Return the details of a candidate, or of the template (-1).

    Raises UsageError if there is no such candidate or the task cannot be loaded.
    """
    candidate, journal = run.candidate(number), run.folder.journal
    prompt, reply = read_prompt(journal, number), read_reply(journal, number)
    return CandidateDetails(
        run=run.folder.run,
        candidate=number,
        status=candidate.status,
        stage=candidate.stage,
        reason=candidate.reason,
        message=candidate.message,
        score=candidate.score,
        gap=run.gap(candidate.score),
        scores=candidate.scores,
        parents=tuple(_parent(run, parent) for parent in candidate.parents),
        operator=candidate.operator,
        group=candidate.group,
        model=candidate.model,
        copy_of=candidate.copy_of,
        cpu_s=candidate.cpu_s,
        thought=candidate.thought,
        source=candidate.source or None,
        prompt=None if prompt is None else prompt.text,
        reply=None if reply is None else reply.text,
        neighbours=neighbours(run, candidate),
    )


def neighbours(run: Run, candidate: Candidate, count: int = NEAREST) -> tuple[Neighbour, ...]:
    """Return at most `count` distinct programs that behave most like the candidate, nearest first; ties: best first.

    Copies of its own program are left out. It is empty if the candidate is not feasible. Raises UsageError if the task
    cannot be loaded.
    """
    others = [other for other in run.ranked() if not _is_same(other, candidate)]
    if candidate.status != "feasible" or not others:
        return ()
    own, *theirs = run.trajectories([candidate.candidate, *(other.candidate for other in others)])
    similarity = run.measure().one_vs_many(own, theirs).tolist()
    nearest = sorted(zip(similarity, others, strict=True), key=lambda pair: -pair[0])[:count]
    worth = ((scored(run, other), how_like) for how_like, other in nearest)
    return tuple(Neighbour(each.candidate, each.score, each.gap, how_like) for each, how_like in worth)


def _is_same(one: Candidate, other: Candidate) -> bool:
    return one.candidate == other.candidate or (one.program_hash != "" and one.program_hash == other.program_hash)


def _parent(run: Run, number: int) -> Parent:
    score = run.candidate(number).score
    return Parent(number, score, run.gap(score))
