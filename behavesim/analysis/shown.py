"""All that a run knows of one candidate: where it came from, what it is worth, and whom it behaves like."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import COLUMNS, Scored, cells, scored
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table
from behavesim.store.reading import read_prompt, read_reply

NEAREST = 5


@dataclass(frozen=True)
class Parent:
    """A program that the prompt showed, with its score in the task's unit and its gap, None where unknown."""

    candidate: int
    score: float | None
    gap: float | None


@dataclass(frozen=True)
class Neighbour(Scored):
    """A program that behaves much alike, and how much: BehaveSim by the run's own measure, in [0, 1]."""

    similarity: float


@dataclass(frozen=True)
class CandidateDetails:
    """A candidate of a run, or its template (-1); what is unknown, or is not there, is None.

    `scores` has the score of each instance, `gap` is a fraction. `stage`, `reason` and `message` say where and why a
    rejected one came to nothing. `prompt` and `reply` are the last ones; `neighbours` the nearest first, for a feasible
    one.
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
        """What is counted and measured of it: its score on each instance, its parents, its neighbours."""
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
    """A candidate of a run, or its template (-1); raises UsageError where there is none of that number."""
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
    """The distinct programs of the run that behave most like a feasible one, nearest and then best first.

    Copies of its own program are none of them; nothing where it is not feasible.
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
