"""Scores that cannot be, or hardly: a bound rejects, a leap beyond the best known score is measured twice and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from behavesim.evaluators.doubt import leap
from behavesim.evaluators.evaluation import EvaluatorJudge
from behavesim.evaluators.tracing import Result
from behavesim.task.evaluated import LEAPED, EvaluatorFile
from behavesim.task.verdict import Failure, Sent, Verdict


class Answering:
    """A sandbox whose evaluations have these scores, in turn; None is a program that raises."""

    def __init__(self, *scores: float | None) -> None:
        self.scores = list(scores)

    async def send(self, *_: object) -> Sent:
        score = self.scores.pop(0)
        return Sent(Result(score, failure="" if score is not None else "ValueError: no").encoded(), 1, 0.5)


def file_with(**values: Any) -> EvaluatorFile:
    return EvaluatorFile("openevolve", "evaluator.py", "first.py", **values)


async def judge(
    file: EvaluatorFile, *scores: float | None, instances: Sequence[int] = ()
) -> tuple[Verdict | Failure, list[str], int]:
    """The verdict, what a person was told, and how many evaluations were left."""
    told: list[str] = []
    pool = Answering(*scores)
    verdict = await EvaluatorJudge(pool, file, told.append, instances=instances).evaluate("")  # type: ignore[arg-type]
    return verdict, told, len(pool.scores)


@pytest.mark.parametrize(("direction", "good", "impossible"), [("maximise", 10.0, 10.1), ("minimise", 10.0, 9.9)])
async def test_a_score_beyond_the_bound_is_rejected_and_one_that_reaches_it_is_not(
    direction: str, good: float, impossible: float
) -> None:
    file = file_with(bound=10.0, direction=direction)
    found, _, _ = await judge(file, good)
    assert isinstance(found, Verdict) and found.score == good
    found, _, _ = await judge(file, impossible)
    assert isinstance(found, Failure) and found.reason == "beyond-bound"
    assert found.message == f"its score {impossible:g} is better than 10, the bound that no score can pass"


@pytest.mark.parametrize(
    ("best_known", "direction", "score", "fraction"),
    [
        (10.0, "maximise", 10.4, None),
        (10.0, "maximise", 11.0, 0.1),
        (10.0, "minimise", 9.6, None),
        (10.0, "minimise", 5.0, 0.5),
        (-10.0, "maximise", -9.0, 0.1),
        (0.0, "minimise", -0.1, 0.1),
        (0.0, "minimise", 0.0, None),
        (None, "maximise", 1e9, None),
    ],
)
def test_a_leap_is_more_than_a_twentieth_better_than_the_best_known(
    best_known: float | None, direction: str, score: float, fraction: float | None
) -> None:
    found = leap(score, file_with(best_known=best_known, direction=direction))
    assert found == (fraction if fraction is None else pytest.approx(fraction))


async def test_a_leap_that_is_confirmed_is_kept_marked_and_told_with_what_to_do() -> None:
    found, told, left = await judge(file_with(best_known=10.0), 12.0, 11.0)
    assert isinstance(found, Verdict) and (found.score, found.cpu_s, left) == (11.0, 1.0, 0)
    assert found.metrics == {LEAPED: pytest.approx(0.1)}
    (line,) = told
    assert line.startswith(
        "a program's score 12 is 20 % better than best_known 10, and so it is in a fresh process (11)"
    )
    assert "behavesim task init NAME --evaluator E" in line


async def test_a_leap_that_is_not_confirmed_counts_with_its_second_score() -> None:
    found, told, _ = await judge(file_with(best_known=10.0), 12.0, 9.0)
    assert isinstance(found, Verdict) and (found.score, found.metrics) == (9.0, {})
    assert told[0].endswith("evaluated again in a fresh process, its score is 9, which counts")
    found, told, _ = await judge(file_with(best_known=10.0), 12.0, None)
    assert isinstance(found, Failure) and (found.reason, found.cpu_s) == ("evaluator", 1.0)
    assert told[0].endswith("it fails (evaluator) and is rejected")


async def test_a_mean_over_numbered_instances_that_leaps_is_measured_again_as_a_whole() -> None:
    file = file_with(best_known=10.0)
    found, told, left = await judge(file, 12.0, 14.0, 12.0, 13.0, instances=range(2))
    assert isinstance(found, Verdict) and (found.score, found.scores, left) == (12.5, (12.0, 13.0), 0)
    assert found.metrics == {LEAPED: pytest.approx(0.25)} and len(told) == 1


async def test_a_score_near_the_best_known_is_measured_once() -> None:
    found, told, left = await judge(file_with(best_known=10.0), 10.2, 1.0)
    assert isinstance(found, Verdict) and (found.score, told, left) == (10.2, [], 1)
