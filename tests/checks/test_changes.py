"""What `task check` says of a template and changes of it: where they part, and which difference is chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from behavesim.checks.forged_programs import on_answers
from behavesim.checks.instances import Changed, compare_changed, smallest_real_difference
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory
from tests.engine.toys import Toy

SAME = (Trajectory.prefixes([0, 1, 2]),) * 4


def verdict(*scores: float, ways: tuple[Trajectory, ...] = SAME) -> Verdict:
    return Verdict(sum(scores) / len(scores), scores, ways[: len(scores)], 0.1)


@pytest.mark.parametrize(
    ("template", "changed", "said"),
    [
        (
            (10.0, 12.0, 14.0, 16.0),
            (30.0, 22.0, 44.0, 56.0),
            "no small change of the template has another score within 50 %",
        ),
        ((10.0, 12.0, 14.0, 16.0), (10.5, 11.5, 14.5, 15.5), "below 0.919 may be chance on 4 instances (7.07 % of"),
        ((10.0, 12.0), (11.0, 13.0), "unknown: no small change"),
        ((10.0, 12.0), (10.0, 12.0 + 1e-13), "unknown: no small change"),
        ((10.0,), (11.0,), "unknown: with one instance"),
    ],
)
def test_a_difference_that_may_be_chance_is_named_where_it_is_known(
    template: tuple[float, ...], changed: tuple[float, ...], said: str
) -> None:
    assert said in smallest_real_difference(Toy(), verdict(*template), [Changed("", verdict(*changed))]).message


def test_chance_is_unknown_where_the_score_is_no_mean() -> None:
    class Worst(Toy):
        def mean_score(self, scores: Sequence[float]) -> float:
            return max(scores)

    said = smallest_real_difference(Worst(), verdict(10.0, 12.0), [Changed("", verdict(10.5, 11.5))]).message
    assert said.startswith("unknown: the score is no mean over instances")


def test_scores_that_differ_without_other_behaviour_are_worth_knowing(tmp_path: Path) -> None:
    found = compare_changed(Toy(), verdict(1.0), [Changed(Toy.template, verdict(2.0))])
    assert (found.result, found.message[:7]) == ("warning", "nowhere")
    assert found.message.endswith("let `trajectory` tell more of how a solution came about")
    (tmp_path / "first.py").write_text(Toy.template)
    command = EvaluatorTask(EvaluatorFile("command", "judge {program}", str(tmp_path / "first.py")), "judged")
    assert (
        "let the evaluator call a function"
        in compare_changed(command, verdict(1.0), [Changed("", verdict(2.0))]).message
    )
    found = compare_changed(Toy(), verdict(1.0), [Changed(Toy.template, verdict(1.0))])
    assert (found.result, found.message) == (
        "ok",
        "unknown: 1 change of the template ran, and none behaves differently",
    )


async def test_forged_answers_that_would_take_long_are_named_and_not_tried() -> None:
    async def refused(*_: object) -> Failure:
        return Failure("invalid-solution", "expected a number")

    judge: Any = SimpleNamespace(evaluate=refused)
    slow = replace(verdict(1.0), cpu_s=10.0)
    *found, last = [each async for each in on_answers(Toy(), judge, slow)]
    assert [each.message for each in found] == ["refused (invalid-solution): expected a number"] * 3
    assert last.name == "not tried" and "changed arguments: the template takes 10 s" in last.message
