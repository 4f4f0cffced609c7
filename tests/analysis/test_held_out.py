"""What was found, tried on held-out instances."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from behavesim.analysis.held_out import (
    HeldOut,
    HeldOutMean,
    HeldOutProgram,
    HeldOutTemplate,
    course_table,
    gain,
    held_out,
    held_out_table,
    read_held_out,
)
from behavesim.analysis.run import Run
from behavesim.base.errors import TaskError
from behavesim.state.events import Evaluated, Recommended
from behavesim.task import Objective, Split, Task
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory
from tests.analysis.journals import feasible, journalled, recommended, started

LOW, HIGH = Objective("minimise"), Objective("maximise")


class Held(Task):
    """A task whose best is known on held-out instances."""

    template = "template"
    objective = Objective("minimise", best_known=2.0)
    normaliser = 5.0

    def instances(self, split: str) -> Sequence[int]:
        """Two of each split."""
        return [1, 2]

    def objective_on(self, split: Split) -> Objective:
        """Another best is known there."""
        return Objective("minimise", best_known=4.0 if split == "held-out" else 2.0)

    def solve(self, function: object, instance: int) -> int:
        """Never asked."""
        raise NotImplementedError

    def score(self, instance: int, solution: object) -> float:
        """Never asked."""
        raise NotImplementedError

    def trajectory(self, instance: int, solution: object) -> Trajectory:
        """Never asked."""
        raise NotImplementedError


class Scores:
    """A judge that knows the scores beforehand, and remembers what it was asked."""

    def __init__(self, scores: Mapping[str, tuple[float, ...]]) -> None:
        self._scores = scores
        self.asked: list[str] = []

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """The verdict with those scores, or a timeout."""
        self.asked.append(source)
        scores = self._scores.get(source)
        return Failure("timeout") if scores is None else Verdict(sum(scores) / len(scores), scores, (), 0.0)


TEMPLATE = {"template": (4.0, 12.0)}


def tried(judge: Scores, *runs: Run) -> list[HeldOut]:
    return asyncio.run(held_out(runs, Held(), judge))


def test_programs_are_tried_beside_the_template(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), feasible(1, 6.0), recommended(1, c1=1.0))
    (found,) = tried(Scores(TEMPLATE | {"source 0": (5.0, 6.0), "source 1": (3.0, 9.0)}), run)
    assert found.template == HeldOutTemplate(8.0, 1.0)
    first, second = found.programs
    assert first == HeldOutProgram(0, 5.0, 5.5, pytest.approx(0.375), pytest.approx((-1 / 4 + 6 / 12) / 2), None)
    assert second == HeldOutProgram(1, 6.0, 6.0, 0.5, pytest.approx((1 / 4 + 3 / 12) / 2), None)
    assert found.best == HeldOutMean(pytest.approx(0.125), pytest.approx(0.375))
    assert found.top10 == HeldOutMean(pytest.approx((0.125 + 0.25) / 2), pytest.approx((0.375 + 0.5) / 2))
    assert found.recommended == HeldOutMean(pytest.approx(0.25), 0.5)
    assert found.recommended_gain_advantage == pytest.approx(0.125)
    assert found.recommended_gap_advantage == pytest.approx(-0.125)


def test_the_template_gains_nothing_on_itself_where_it_is_recommended(tmp_path: Path) -> None:
    template = Evaluated(-1, "template", 7.0, (7.0, 7.0), (Trajectory.prefixes([0, 1]),))
    chosen = Recommended(-1, {-1: 7.0, 0: 8.0})
    run = journalled(tmp_path / "first", started(), [template], feasible(0, 5.0), [chosen])
    (found,) = tried(Scores(TEMPLATE | {"source 0": (5.0, 6.0)}), run)
    assert found.recommended == HeldOutMean(0.0, 1.0)


def test_a_program_that_fails_there_leaves_means_unknown(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), feasible(1, 6.0), recommended(1, c1=1.0))
    (found,) = tried(Scores(TEMPLATE | {"source 0": (5.0, 6.0)}), run)
    assert found.programs[1] == HeldOutProgram(1, 6.0, None, None, None, "timeout")
    assert found.best.gap is not None
    assert found.top10 == found.recommended == HeldOutMean(None, None)
    assert (found.recommended_gain_advantage, found.recommended_gap_advantage) == (None, None)


def test_a_program_that_is_better_than_the_template_in_the_search_alone_is_named(tmp_path: Path) -> None:
    scores = {
        "source 0": (4.0, 12.0),  # the template's own: what is known by heart ends here
        "source 1": (5.0, 12.0),
        "source 2": (3.0, 12.0),
        "source 3": (4.0, 12.0),
    }
    worse_in_the_search = 11.0
    given = [feasible(0, 2.0), feasible(1, 3.0), feasible(2, 4.0), feasible(3, worse_in_the_search), feasible(4, 5.0)]
    (found,) = tried(Scores(TEMPLATE | scores), journalled(tmp_path / "first", started(), *given))
    assert found.fallen == (0, 1)
    fallen = "better than the template in the search, not on held-out instances: 0, 1"
    assert held_out_table(found, None).caption == fallen


def test_the_ten_best_and_the_recommended_program_are_tried(tmp_path: Path) -> None:
    given = [feasible(number, 5.0 + number) for number in range(12)]
    run = journalled(tmp_path / "first", started(), *given, recommended(11, c11=1.0))
    scores = {f"source {number}": (4.0, 4.0) for number in range(12)}
    judge = Scores(TEMPLATE | scores | {"source 11": (8.0, 8.0)})
    (found,) = tried(judge, run)
    assert [program.candidate for program in found.programs] == [*range(10), 11]
    assert (found.top10.gap, found.recommended.gap) == (0.0, 1.0)
    assert "source 10" not in judge.asked
    (nobody,) = tried(judge, journalled(tmp_path / "other", started(), feasible(0, 5.0)))
    assert nobody.recommended == HeldOutMean(None, None)


class Many(Held):
    """A task with ten instances of each split, enough for a test."""

    def instances(self, split: str) -> Sequence[int]:
        """Ten."""
        return range(10)


def course_of(folder: Path, held: Mapping[int, float], later: float) -> HeldOut:
    """A search whose best are 0, 4, 20 and 40; `held` has their scores on held-out instances, `later` 40's score."""
    template = Evaluated(-1, "template", 8.0, (8.0,) * 10, (Trajectory.prefixes([0, 1]),))
    scores = {0: 7.0, 4: 6.0, 20: 5.0, 40: later}
    given = [feasible(number, scores.get(number, 9.0), scores=(scores.get(number, 9.0),) * 10) for number in range(50)]
    judge = Scores({"template": (8.0,) * 10, **{f"source {n}": (held.get(n, 9.0),) * 10 for n in range(50)}})
    (found,) = asyncio.run(held_out([journalled(folder, started(), [template], *given)], Many(), judge))
    return found


def test_the_best_after_10_30_and_100_candidates_are_tried_and_an_earlier_one_can_be_better(tmp_path: Path) -> None:
    found = course_of(tmp_path / "fitted", {4: 4.0, 20: 5.0, 40: 6.0}, 4.0)
    assert [(each.asked, each.candidate, each.search_gain, each.gain) for each in found.course] == [
        *((10, 4, 0.25, 0.5), (30, 20, 0.375, 0.375), (50, 40, 0.5, 0.25)),
    ]
    assert course_table(found).caption == "significantly better than the last on held-out instances: 4, 20"
    found = course_of(tmp_path / "sound", {4: 6.0, 20: 5.0, 40: 4.0}, 4.0)
    assert course_table(found).caption == "no earlier best is significantly better than the last on held-out instances"


def test_a_best_so_far_that_fails_there_is_unknown_and_one_that_stays_the_best_is_told_once(tmp_path: Path) -> None:
    found = course_of(tmp_path / "run", {20: 5.0}, 9.0)
    assert [each.candidate for each in found.course] == [4, 20]
    run = journalled(tmp_path / "failing", started(), *(feasible(number, 9.0 - number) for number in range(12)))
    (found,) = tried(Scores(TEMPLATE | {"source 11": (4.0, 4.0)}), run)
    failed, last = found.course
    assert (failed.candidate, failed.gain, failed.p) == (9, None, None)
    assert (last.candidate, last.p) == (11, None)
    assert last.gain is not None


def test_where_the_instances_are_too_few_no_earlier_best_is_tested(tmp_path: Path) -> None:
    run = journalled(tmp_path / "few", started(), *(feasible(number, 9.0 - number) for number in range(12)))
    (found,) = tried(Scores(TEMPLATE | {"source 9": (3.0, 3.0), "source 11": (4.0, 4.0)}), run)
    assert [(each.candidate, each.p) for each in found.course] == [(9, None), (11, None)]
    assert course_table(found).caption == ""


def test_a_run_without_a_feasible_program_has_the_template_alone(tmp_path: Path) -> None:
    (found,) = tried(Scores(TEMPLATE), journalled(tmp_path / "first", started()))
    assert (found.programs, found.best, found.top10) == ((), HeldOutMean(None, None), HeldOutMean(None, None))


def test_each_program_is_tried_once_and_known_from_then_on(tmp_path: Path) -> None:
    first = journalled(tmp_path / "first", started(), feasible(0, 5.0, source="same"), feasible(1, 6.0))
    second = journalled(tmp_path / "second", started(), feasible(0, 5.0, source="same"))
    judge = Scores(TEMPLATE | {"same": (4.0, 4.0)})
    both = tried(judge, first, second)
    assert sorted(judge.asked) == ["same", "source 1", "template"]
    judge.asked.clear()
    assert tried(judge, first, second) == both
    assert judge.asked == ["source 1"]  # it failed: a busy machine may have been the cause


def test_what_earlier_reports_found_is_known_without_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "task", lambda run: Held())
    run = journalled(tmp_path / "first", started(), feasible(0, 3.0, source="a"), feasible(1, 4.0, source="b"))
    assert read_held_out(run) is None
    (found,) = tried(Scores({**TEMPLATE, "a": (2.0, 6.0), "b": (4.0, 6.0)}), run)
    assert read_held_out(run) == found
    more = journalled(tmp_path / "first", feasible(2, 2.0, source="c"))
    assert read_held_out(more) is None


def test_what_was_found_out_under_another_task_does_not_count(tmp_path: Path) -> None:
    class Changed(Held):
        """The same with other instances."""

        def instances(self, split: str) -> Sequence[int]:
            """One more."""
            return [1, 2, 3] if split == "held-out" else [1, 2]

    run = journalled(tmp_path / "first", started(), feasible(0, 5.0))
    judge = Scores(TEMPLATE | {"source 0": (4.0, 4.0)})
    tried(judge, run)
    asyncio.run(held_out([run], Changed(), judge))
    assert len(judge.asked) == 4


def test_a_file_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0))
    judge = Scores(TEMPLATE | {"source 0": (4.0, 4.0)})
    whole = tried(judge, run)
    (kept,) = (tmp_path / "first").glob("held-out*")
    kept.write_text("{")
    assert tried(judge, run) == whole
    judge.asked.clear()
    assert tried(judge, run) == whole
    assert judge.asked == []


def test_a_template_that_fails_there_is_an_error_of_the_task(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="fails on held-out instances: timeout"):
        tried(Scores({}), journalled(tmp_path / "first", started()))


@pytest.mark.parametrize(
    ("objective", "ours", "template", "expected"),
    [
        (LOW, (1.0, 3.0), (2.0, 4.0), (1 / 2 + 1 / 4) / 2),
        (HIGH, (3.0, 2.0), (2.0, 4.0), (1 / 2 - 2 / 4) / 2),
        (HIGH, (-1.0,), (-2.0,), 0.5),
        (LOW, (3.0,), (0.0,), -3.0),
    ],
)
def test_a_gain_is_relative_to_the_template_on_each_instance(
    objective: Objective, ours: tuple[float, ...], template: tuple[float, ...], expected: float
) -> None:
    assert gain(ours, template, objective) == pytest.approx(expected)


def test_with_a_mean_score_of_the_tasks_own_a_gain_is_that_of_its_result(tmp_path: Path) -> None:
    class Worst(Held):
        """The worst instance counts."""

        def mean_score(self, scores: Sequence[float]) -> float:
            """The greatest."""
            return max(scores)

    class Judge:
        """A judge by that."""

        async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
            """A program that is worse than the template on one instance, and better in the worst one."""
            scores = (1.0, 8.0) if source == "template" else (2.0, 6.0)
            return Verdict(max(scores), scores, (), 0.0)

    run = journalled(tmp_path / "first", started(), feasible(0, 3.0))
    (found,) = asyncio.run(held_out([run], Worst(), Judge()))
    assert found.best.improvement == pytest.approx(0.25)
    assert found.fallen == ()


def test_the_table_begins_with_the_template_and_names_the_recommended_program() -> None:
    programs = (
        HeldOutProgram(4, 2.5, 3.5, 0.25, 0.125, None),
        HeldOutProgram(7, 2.75, None, None, None, "timeout"),
    )
    nothing = HeldOutMean(None, None)
    table = held_out_table(HeldOut(HeldOutTemplate(8.0, 1.0), programs, nothing, nothing, nothing), 7)
    assert [column.name for column in table.columns] == [
        "program", "search_score", "score", "gap", "improvement", "reason",
    ]  # fmt: skip
    assert table.rows == (
        ("template", None, 8.0, 1.0, None, None),
        ("4", 2.5, 3.5, 0.25, 0.125, None),
        ("7 (recommended)", 2.75, None, None, None, "timeout"),
    )
