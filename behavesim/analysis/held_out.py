"""Scores of a run's best programs on instances that its search did not use, their cache, and the tables of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import SIGNIFICANCE, holm, least_p_of_pairs, mean_of_all, signed_rank
from behavesim.analysis.table import (
    COUNT,
    FRACTION,
    PROBABILITY,
    PROGRAM,
    PROGRAMS,
    SCORE,
    TOP,
    Column,
    Table,
    cells_of,
)
from behavesim.base.errors import TaskError
from behavesim.state.events import TEMPLATE
from behavesim.state.protocols import Judge
from behavesim.state.race import relative_gains
from behavesim.state.settings import instances_hash, provenance
from behavesim.store.folder import HELD_OUT, SHIFTED, RunFolder
from behavesim.task import Objective, Task
from behavesim.task.verdict import Failure, Verdict

# Scores of programs on held-out or shifted instances, and their cache in the run's folder.


# A split that no step of a run uses.
Unseen = Literal["held-out", "shifted"]
# Name of the file in a run's folder that keeps scores on a split.
KEPT: Mapping[Unseen, str] = {"held-out": HELD_OUT, "shifted": SHIFTED}


@dataclass(frozen=True)
class HeldOutScore:
    """A program's mean score and its scores on a split; if it failed, they are None and (), and `reason` says why."""

    score: float | None
    scores: tuple[float, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, verdict: Verdict | Failure) -> HeldOutScore:
        """Return the scores of a verdict, or the reason of a failure."""
        if isinstance(verdict, Failure):
            return cls(None, reason=verdict.reason)
        return cls(verdict.score, verdict.scores)


def deciding_scores(score: float | None, scores: Sequence[float], has_own_mean: bool) -> Sequence[float]:
    """Return the scores by which a program is compared on a split: those on its instances.

    For a task with a `mean_score` of its own, such as the worst instance, its result `score` is returned in place of
    each. Otherwise a program could win that is better on most instances and worse in what the task counts.
    """
    return (score,) * len(scores) if has_own_mean and score is not None else scores


def gain(scores: Sequence[float], template: Sequence[float], objective: Objective) -> float:
    """Return the mean over instances of (program − template) / |template|, turned so that higher is better.

    It is a fraction. On an instance where the template scores 0, the plain difference counts. No third program enters,
    so that adding one never changes the order of two.
    """
    if len(scores) != len(template):
        raise ValueError(f"a gain is over the same instances, and there are {len(scores)} and {len(template)} scores")
    return sum(relative_gains(scores, template, objective)) / len(scores)


def gain_title(run: Run) -> str:
    """Return a column's title that says over which instances the gain of the run's recommended program is."""
    return "gain, search and validation" if run.state.fresh is None else "gain, fresh instances"


class KnownScores:
    """Cache of a split's scores in a file of a run's folder.

    Scores of another `origin` (the hashes of the task and its instances) are ignored, and so is a damaged file.
    """

    def __init__(self, folder: RunFolder, origin: Mapping[str, str], split: Unseen = "held-out") -> None:
        self._folder, self._file = folder, KEPT[split]
        self._origin = dict(origin)
        self._scores: dict[str, list[Any]] = {}
        try:
            found = json.loads(folder.kept(self._file) or "{}")
        except ValueError:  # damaged: the scores are computed again
            return
        if isinstance(found, dict) and found.get("origin") == self._origin:
            self._scores = found["scores"]

    def of(self, sources: Collection[str]) -> dict[str, HeldOutScore]:
        """Return the scores of those sources that are in the cache, by source."""
        names = {source: _name(source) for source in sources}
        return {
            source: HeldOutScore(self._scores[name][0], tuple(self._scores[name][1]))
            for source, name in names.items()
            if name in self._scores
        }

    # failures are not kept: a busy machine may have caused them
    def keep(self, scores: Mapping[str, HeldOutScore]) -> None:
        """Add scores, by source, and write the file if any is new and the folder is writable."""
        fresh = {_name(source): [score.score, list(score.scores)] for source, score in scores.items() if score.scores}
        if fresh.keys() - self._scores.keys():
            self._scores |= fresh
            self._folder.keep(self._file, json.dumps({"origin": self._origin, "scores": self._scores}))


def _name(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class HeldOutTemplate:
    """The template's mean score on held-out instances, and its gap: a fraction, None if unknown."""

    score: float
    gap: float | None


@dataclass(frozen=True)
class HeldOutProgram:
    """A program on held-out instances; `improvement` is its `gain` on the template, a fraction."""

    candidate: int
    search_score: float
    score: float | None
    gap: float | None
    improvement: float | None
    reason: str | None


@dataclass(frozen=True)
class HeldOutMean:
    """Means of `improvement` and `gap` over some programs; None if there are none or one of them has no value."""

    improvement: float | None
    gap: float | None


@dataclass(frozen=True)
class BestAfter:
    """The best program of the first `asked` candidates: its gain on the template in the search, and on a split.

    Gains are fractions, None if unknown. `p` is of the last such program's scores on the split against this one's
    (signed-rank test over instances, corrected by Holm); None if there is nothing to test.
    """

    asked: int
    candidate: int
    search_gain: float | None
    gain: float | None
    p: float | None = None


@dataclass(frozen=True)
class HeldOut:
    """A run's ten best distinct programs and the recommended one on a split's instances, with the template.

    `best` is the best program of the search, `top10` the mean of its ten best; their values are None if one failed.
    `fallen` are the programs better than the template in the search but not here. `course` has the best program after
    10, 30, 100, 300 … candidates, and the last best one.
    """

    template: HeldOutTemplate
    programs: tuple[HeldOutProgram, ...]
    best: HeldOutMean
    top10: HeldOutMean
    recommended: HeldOutMean
    fallen: tuple[int, ...] = ()
    split: Unseen = "held-out"
    course: tuple[BestAfter, ...] = ()

    @property
    def recommended_gain_advantage(self) -> float | None:
        """Gain of the recommended program − gain of the search's best; None if either is unknown."""
        ours, other = self.recommended.improvement, self.best.improvement
        return None if ours is None or other is None else ours - other

    @property
    def recommended_gap_advantage(self) -> float | None:
        """Gap of the search's best − gap of the recommended program; None if either is unknown."""
        ours, other = self.recommended.gap, self.best.gap
        return None if ours is None or other is None else other - ours


async def held_out(runs: Sequence[Run], task: Task, judge: Judge, split: Unseen = "held-out") -> list[HeldOut]:
    """Evaluate each run's best and recommended programs on held-out instances; return one result per run, in order.

    All runs must be on `task`, and `judge` evaluates on the instances of `split`. Scores that a run's folder keeps are
    not computed again. Raises TaskError if these instances cannot be made or the template fails on them.
    """
    chosen = [_programs_to_try(run) for run in runs]
    every = [[*programs, *_bests_after(run).values()] for run, programs in zip(runs, chosen, strict=True)]
    scores = await scores_of(runs, every, task, judge, split)
    # without the template's score there is no gain, and no program could be said to be better than it
    if scores[task.template].score is None:
        raise TaskError(
            f"the template of task {task.name!r} fails on {split} instances: {scores[task.template].reason}"
        )
    return [_result(run, programs, scores, task, split) for run, programs in zip(runs, chosen, strict=True)]


def _result(
    run: Run, programs: Sequence[Candidate], scores: Mapping[str, HeldOutScore], task: Task, split: Unseen
) -> HeldOut:
    # `scores` has those of all the programs and of the template, by source; the template must not have failed.
    base, objective = scores[task.template], task.objective_on(split)
    assert base.score is not None, "a template that fails has no result"
    template = HeldOutTemplate(base.score, objective.gap(base.score))
    own = task.has_own_mean
    rows = tuple(
        _program_result(candidate, scores[candidate.source or ""], base, objective, own) for candidate in programs
    )
    choice = None if run.recommended is None else run.recommended.candidate
    chosen = _mean([each for each in rows if each.candidate == choice])
    recommended = HeldOutMean(0.0, template.gap) if choice == TEMPLATE else chosen
    fallen = tuple(each.candidate for each in rows if _is_worse_here(each, run))
    course = _course(run, scores, base, objective, own)
    return HeldOut(template, rows, _mean(rows[:1]), _mean(rows[:TOP]), recommended, fallen, split, course)


def _course(
    run: Run, scores: Mapping[str, HeldOutScore], base: HeldOutScore, objective: Objective, has_own_mean: bool
) -> tuple[BestAfter, ...]:
    start, found, known = run.template, list[BestAfter](), list[tuple[float, ...]]()
    template = None if start is None else HeldOutScore(start.score, start.scores)
    for asked, best in _bests_after(run).items():
        ours, tried = HeldOutScore(best.score, best.scores), scores[best.source or ""]
        pairs = (ours, template), (tried, base)
        found.append(BestAfter(asked, best.candidate, *(_gain_on(*pair, objective, has_own_mean) for pair in pairs)))
        known.append(() if tried.score is None or has_own_mean else tried.scores)
    # where no outcome could be significant, "none is better" would say what was never tested
    if len(found) < 2 or least_p_of_pairs(len(known[-1]), len(known) - 1) >= SIGNIFICANCE:
        return tuple(found)
    tests = [signed_rank(relative_gains(known[-1], each, objective)) if each else None for each in known[:-1]]
    return tuple(replace(each, p=p) for each, p in zip(found, [*holm(tests), None], strict=True))


def _gain_on(
    ours: HeldOutScore, template: HeldOutScore | None, objective: Objective, has_own_mean: bool
) -> float | None:
    """Return the gain by what decides between programs; None where a score is missing."""
    if template is None or ours.score is None or len(ours.scores) != len(template.scores):
        return None
    own, base = (deciding_scores(each.score, each.scores, has_own_mean) for each in (ours, template))
    return gain(own, base, objective)


def _bests_after(run: Run) -> dict[int, Candidate]:
    """Return the best candidate of the first 10, 30, 100, 300 … candidates, and the last best one, by that number."""
    # a program that stayed the best is told once, where it had become so
    asked, bests, found = len(run.candidates), run.state.bests, dict[int, Candidate]()
    marks = [first * 10**power for power in range(1, len(str(asked)) + 1) for first in (1, 3)]
    for mark in [*(mark for mark in marks if mark < asked), asked]:
        number = next((number for number, _ in reversed(bests) if number < mark), None)
        if number is not None and number not in {each.candidate for each in found.values()}:
            found[mark] = run.candidate(number)
    return found


def _origin(task: Task, split: Unseen) -> dict[str, str]:
    return {"task": provenance(task)["task"], "instances": instances_hash(task, split)}


def read_held_out(run: Run, split: Unseen = "held-out") -> HeldOut | None:
    """Return the run's programs on a split if all their scores are kept, else None; nothing is evaluated."""
    if run.folder.kept(KEPT[split]) is None:
        return None  # without loading the task, which may be slow
    task, programs = run.task(), _programs_to_try(run)
    every = [*programs, *_bests_after(run).values()]
    sources = [task.template, *(candidate.source or "" for candidate in every)]
    scores = KnownScores(run.folder, _origin(task, split), split).of(sources)
    return None if set(sources) - scores.keys() else _result(run, programs, scores, task, split)


async def scores_of(
    runs: Sequence[Run], chosen: Sequence[Sequence[Candidate]], task: Task, judge: Judge, split: Unseen = "held-out"
) -> dict[str, HeldOutScore]:
    """Return the scores of the template and of each run's chosen programs on a split, by source.

    Scores known in a run's folder are not computed again. The others are written to the folders of the runs they are
    of.
    """
    known = [KnownScores(run.folder, _origin(task, split), split) for run in runs]
    # each folder keeps the template's scores too, so that it is complete without the other runs
    wanted = [{task.template, *(candidate.source or "" for candidate in programs)} for programs in chosen]
    sources = set[str]().union(*wanted)
    scores = {source: score for each in known for source, score in each.of(sources).items()}
    missing = sorted(sources - scores.keys())  # sorted, as the order of a set of texts differs between processes
    # all at once: the sandbox's pool decides how many run side by side
    verdicts = await asyncio.gather(*map(judge.evaluate, missing))
    scores |= {source: HeldOutScore.of(verdict) for source, verdict in zip(missing, verdicts, strict=True)}
    for each, own in zip(known, wanted, strict=True):
        each.keep({source: scores[source] for source in own})
    return scores


def held_out_table(found: HeldOut, recommended: int | None) -> Table:
    """Return a row for the template, then one per program; the `recommended` one, -1 for the template, is marked."""
    columns = (
        Column("program", PROGRAMS),
        Column("search_score", SCORE, title="search score"),
        Column("score", SCORE, title=f"{found.split} score"),
        Column("gap", FRACTION),
        Column("improvement", FRACTION, title="gain on the template"),
        Column("reason", title="failed"),
    )
    fallen = ", ".join(map(str, found.fallen))
    caption = f"better than the template in the search, not on {found.split} instances: {fallen}"

    def name(candidate: int) -> str:
        named = "template" if candidate == TEMPLATE else str(candidate)
        return f"{named} (recommended)" if candidate == recommended else named

    template = (name(TEMPLATE), None, found.template.score, found.template.gap, None, None)
    programs = ((name(each.candidate), *cells_of(each, columns[1:])) for each in found.programs)
    name_of_table, title = found.split.replace("-", "_"), f"on {found.split} instances"
    return Table(name_of_table, title, columns, (template, *programs), caption if found.fallen else "")


def course_table(found: HeldOut) -> Table:
    """Return a row for the best program after 10, 30, 100 … candidates; the caption says if one was better."""
    columns = (
        Column("asked", COUNT, title="candidates"),
        Column("candidate", PROGRAM, title="best of them"),
        Column("search_gain", FRACTION, title="gain in the search"),
        Column("gain", FRACTION, title=f"gain on {found.split} instances"),
        Column("p", PROBABILITY, title="p-value, v. the last (Holm)"),
    )
    rows = tuple(tuple(cells_of(each, columns)) for each in found.course)
    last = found.course[-1].gain if found.course else None
    lost = [
        each.candidate
        for each in found.course
        if None not in (each.p, each.gain, last) and each.p < SIGNIFICANCE and each.gain > last  # type: ignore[operator]
    ]
    fitted = f"significantly better than the last on {found.split} instances: {', '.join(map(str, lost))}"
    none = f"no earlier best is significantly better than the last on {found.split} instances"
    caption = fitted if lost else none if any(each.p is not None for each in found.course) else ""
    name = f"course_{found.split.replace('-', '_')}"
    return Table(name, f"the best so far, in the search and on {found.split} instances", columns, rows, caption)


def _programs_to_try(run: Run) -> list[Candidate]:
    """Return the ten best distinct programs, then the recommended one unless it is among them or the template."""
    top = run.ranked()[:TOP]
    recommended = run.recommended
    known = {TEMPLATE, *(candidate.candidate for candidate in top)}
    return [*top, recommended] if recommended is not None and recommended.candidate not in known else top


def _program_result(
    candidate: Candidate, score: HeldOutScore, template: HeldOutScore, objective: Objective, has_own_mean: bool
) -> HeldOutProgram:
    assert candidate.score is not None, "only feasible programs are tried"
    if score.score is None:
        return HeldOutProgram(candidate.candidate, candidate.score, None, None, None, score.reason)
    gained = _gain_on(score, template, objective, has_own_mean)
    return HeldOutProgram(candidate.candidate, candidate.score, score.score, objective.gap(score.score), gained, None)


# Such programs may, for example, look up what they return by the search's instances.
def _is_worse_here(program: HeldOutProgram, run: Run) -> bool:
    template = run.state.template
    if program.improvement is None or template is None or program.improvement > 0:
        return False
    return run.state.objective.utility(program.search_score) > template.utility


def _mean(programs: Sequence[HeldOutProgram]) -> HeldOutMean:
    gains, gaps = [each.improvement for each in programs], [each.gap for each in programs]
    return HeldOutMean(mean_of_all(gains), mean_of_all(gaps))


# The template, the best and the recommended program on the instances of each split.


# What a program is in its run: where the search starts, its best one, or the one recommended after validation.
Role = Literal["template", "best", "recommended"]


@dataclass(frozen=True)
class SplitScores:
    """One program's mean scores and gaps on the instances of each split; None if unknown.

    `gain` is that on the template by which a program is recommended: on fresh instances after a race, else over search
    and validation instances.
    """

    program: Role
    candidate: int
    search: float
    search_gap: float | None
    validation: float | None
    gain: float | None
    held_out: float | None
    held_out_gap: float | None
    shifted: float | None = None
    shifted_gap: float | None = None


def split_scores(run: Run, unseen: Mapping[Unseen, HeldOut | None]) -> tuple[SplitScores, ...]:
    """Return the scores of the template, the best and the recommended program, as far as they exist."""
    programs: dict[Role, Candidate | None] = {
        "template": run.template,
        "best": run.best,
        "recommended": run.recommended,
    }
    return tuple(_scores(run, role, program, unseen) for role, program in programs.items() if program is not None)


def _scores(run: Run, role: Role, program: Candidate, unseen: Mapping[Unseen, HeldOut | None]) -> SplitScores:
    assert program.score is not None, "the template, the best and the recommended program are feasible"
    event, number = run.state.recommended, program.candidate
    tried, moved = (_split_scores(unseen.get(split), number) for split in get_args(Unseen))
    return SplitScores(
        program=role,
        candidate=number,
        search=program.score,
        search_gap=run.gap(program.score),
        validation=None if event is None else event.validation.get(number),
        gain=run.validated_gain(program),
        held_out=None if tried is None else tried.score,
        held_out_gap=None if tried is None else tried.gap,
        shifted=None if moved is None else moved.score,
        shifted_gap=None if moved is None else moved.gap,
    )


def _split_scores(found: HeldOut | None, number: int) -> HeldOutTemplate | HeldOutProgram | None:
    if found is None or number == TEMPLATE:
        return None if found is None else found.template
    return next((each for each in found.programs if each.candidate == number), None)


def splits_table(found: tuple[SplitScores, ...]) -> Table:
    """Return a row per program and a column per split."""
    columns = (
        *(Column("program"), Column("candidate", PROGRAM)),
        *(Column("search", SCORE), Column("search_gap", FRACTION, title="gap")),
        *(Column("validation", SCORE), Column("gain", FRACTION, title="gain, by which one is recommended")),
        *(Column("held_out", SCORE, title="held-out"), Column("held_out_gap", FRACTION, title="gap")),
        *(Column("shifted", SCORE), Column("shifted_gap", FRACTION, title="gap")),
    )
    rows = tuple(
        (each.program, None if each.candidate == TEMPLATE else each.candidate, *cells_of(each, columns[2:]))
        for each in found
    )
    has_gain = any(each.gain is not None for each in found)
    caption = "gain: on the template, on fresh instances after a race, else on search and validation; empty: not tried"
    if any(each.gain is None and each.validation is not None for each in found):
        caption += ", or a score of another sign than the template's"
    return Table("splits", "scores on each set of instances", columns, rows, caption if has_gain else "", keys=2)
