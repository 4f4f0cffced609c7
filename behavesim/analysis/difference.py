"""How two programs of a run differ, in their text and in their behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table, cells_of
from behavesim.base.errors import UsageError
from behavesim.base.score_source import ScoreSource
from behavesim.prompts.parting import first_difference, step_in_words
from behavesim.state.events import TEMPLATE
from behavesim.task import InWords


@dataclass(frozen=True)
class DiffedProgram:
    """One of the two programs: its number, -1 for the template, its status, and its score and gap, None if unknown."""

    candidate: int
    status: str
    score: float | None
    gap: float | None


@dataclass(frozen=True)
class InstanceDifference:
    """How two programs differ on one instance; instances and steps are counted from 1.

    `step` is the first step at which the programs differ; `a_did` and `b_did` say in words what each did there. The
    three are None if the programs do the same throughout. Scores are in the task's unit; similarity is BehaveSim in
    [0, 1].
    """

    instance: int
    a_score: float
    b_score: float
    similarity: float
    step: int | None
    a_did: str | None
    b_did: str | None


@dataclass(frozen=True)
class ProgramDifference:
    """Two programs of a run: `diff` is the unified diff from the text of `a` to that of `b`, "" if they are equal.

    Line ends at the end of a text do not count. `similarity` is BehaveSim by the run's own measure, in [0, 1]. If one
    of the two is not feasible, it is None and `instances` is empty. `score_source` says who computed the scores.
    """

    run: str
    score_source: ScoreSource
    a: DiffedProgram
    b: DiffedProgram
    diff: str
    similarity: float | None
    instances: tuple[InstanceDifference, ...]

    def table(self) -> Table:
        """Return a table with a row per instance."""
        columns = (
            Column("instance", COUNT),
            Column("a_score", SCORE, title="score of a"),
            Column("b_score", SCORE, title="score of b"),
            Column("similarity", DISTANCE, is_whole=True),
            Column("step", COUNT, title="step"),
            Column("a_did", title="what a does"),
            Column("b_did", title="what b does"),
        )
        rows = tuple(cells_of(each, columns) for each in self.instances)
        is_same = bool(self.instances) and all(i.step is None for i in self.instances)
        caption = "They do exactly the same on all instances." if is_same else ""
        return Table(
            "instances", "the first step at which they differ, and what each does there", columns, rows, caption
        )


def program_difference(run: Run, a: int, b: int) -> ProgramDifference:
    """Return how candidates `a` and `b` of a run differ; -1 is the template.

    Raises UsageError if a candidate does not exist or has no program, or if the task cannot be loaded or fails to put a
    step in words. Raises PartError if its code raises otherwise. Raises JournalError if the journal cannot be read,
    TrajectoryError if the measure fails.
    """
    one, other = run.candidate(a), run.candidate(b)
    diff = _diff(one, other)
    are_feasible = one.status == other.status == "feasible"
    similarity, instances = _behaviour(run, one, other) if are_feasible else (None, ())
    sides = _side(run, one), _side(run, other)
    return ProgramDifference(run.folder.run, run.score_source, *sides, diff, similarity, instances)


def _behaviour(run: Run, one: Candidate, other: Candidate) -> tuple[float, tuple[InstanceDifference, ...]]:
    """Return the similarity of two feasible candidates over all instances, and how they differ on each."""
    behaviours = run.trajectories([one.candidate, other.candidate])
    measure, words = run.measure(), InWords(run.task())
    found = []
    for index, (left, right) in enumerate(zip(*behaviours, strict=True)):
        scores, similarity = (one.scores[index], other.scores[index]), measure.similarity(left, right)
        if (step := first_difference(left, right)) is None:
            found.append(InstanceDifference(index + 1, *scores, similarity, None, None, None))
        else:
            a_did, b_did = (step_in_words(each, index, step, words) for each in (left, right))
            found.append(InstanceDifference(index + 1, *scores, similarity, step + 1, a_did, b_did))
    return measure.between(*behaviours), tuple(found)


def _named(number: int) -> str:
    return "template" if number == TEMPLATE else f"candidate {number}"


def _diff(one: Candidate, other: Candidate) -> str:
    """Return the unified diff of two programs, "" if they are equal; raises UsageError if a candidate has none."""
    left, right = (_source(each).rstrip("\n").split("\n") for each in (one, other))
    return "\n".join(unified_diff(left, right, _named(one.candidate), _named(other.candidate), lineterm=""))


def _source(candidate: Candidate) -> str:
    """Return a candidate's program; raises UsageError if it has none."""
    if not candidate.source:
        why = "it is open" if candidate.reason is None else f"{candidate.stage}: {candidate.reason}"
        raise UsageError(f"candidate {candidate.candidate} has no program to compare ({why})")
    return candidate.source


def _side(run: Run, candidate: Candidate) -> DiffedProgram:
    return DiffedProgram(candidate.candidate, candidate.status, candidate.score, run.gap(candidate.score))
