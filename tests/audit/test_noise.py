"""A noisy evaluator is told from a journal that was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from behavesim.audit.verify import REST, SCORE, TRIALS, Outcome, noise, without_volatile
from behavesim.state.events import Evaluated, Rejected


def scored(score: float, feedback: str = "", cpu_s: float = 0.0) -> Evaluated:
    return Evaluated(3, "x = 1", score, (score,), (), feedback=feedback, cpu_s=cpu_s)


FAILED = Rejected(3, "evaluation", "evaluator", "no tour")


@pytest.mark.parametrize(
    ("recorded", "again", "others", "said", "trials"),
    [
        (scored(1.0), scored(1.0, cpu_s=9.0), [], "", 0),
        (scored(1.0), scored(2.0), [scored(2.0)] * TRIALS, "", TRIALS),
        (scored(1.0), scored(2.0), [scored(3.0)], SCORE, 1),
        (scored(1.0), scored(2.0), [scored(2.0), scored(2.0), scored(1.0)], SCORE, 3),
        (scored(1.0), scored(1.0, "a"), [scored(1.0, "b")], REST, 1),
        (scored(1.0), scored(1.0, "a"), [scored(1.0, "a")] * TRIALS, "", TRIALS),
        (scored(1.0), FAILED, [scored(1.0)], SCORE, 1),
        (FAILED, scored(1.0), [FAILED], SCORE, 1),
    ],
)
async def test_outcomes_that_differ_among_themselves_are_noise(
    recorded: Outcome, again: Outcome, others: Sequence[Outcome], said: str, trials: int
) -> None:
    left = list(others)

    async def evaluated() -> Outcome:
        return left.pop(0)

    assert await noise(recorded, again, evaluated) == said
    assert len(others) - len(left) == trials


def test_times_addresses_and_the_libraries_of_a_machine_do_not_last() -> None:
    at = [Rejected(3, "evaluation", "exception", f"<f at 0x7f{n}a12345678>", "x", cpu_s=n) for n in (1, 2)]
    assert without_volatile(at[0]) == without_volatile(at[1])
    assert (
        without_volatile(scored(1.0, cpu_s=1.0))
        == without_volatile(scored(1.0, cpu_s=2.0))
        != without_volatile(scored(2.0))
    )
    timed = [replace(scored(1.0), metrics={"private.execution_time_mean": n, "circles": 5.0}) for n in (0.1, 0.2)]
    assert without_volatile(timed[0], True) == without_volatile(timed[1], True) and without_volatile(
        timed[0]
    ) != without_volatile(timed[1])
    assert without_volatile(timed[0], True) != without_volatile(replace(timed[0], metrics={"circles": 6.0}), True)
    elsewhere = replace(timed[0], metrics={**timed[0].metrics, "private.library.pandas": 1.0})
    assert without_volatile(timed[0], True) == without_volatile(elsewhere, True)
    assert without_volatile(FAILED) != without_volatile(Rejected(3, "evaluation", "evaluator", "no route"))
