"""What an evaluation sends is bounded, and what comes of it is told: score, metrics, feedback and stage."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from behavesim.evaluators.evaluation import STOPPED, EvaluatorJudge, verdict_of
from behavesim.evaluators.scores import choose_score, silent_failure, stated_error
from behavesim.evaluators.tracing import MOST_STEPS, Result, numbers
from behavesim.task.score import MOST_FEEDBACK, MOST_METRICS, WORDS
from behavesim.task.verdict import Failure, Sent, Verdict


def test_a_verdict_has_the_metrics_and_the_feedback_of_the_evaluation() -> None:
    verdict = verdict_of(Result(2.0, {"a": 1.0, "b": "nan"}, "said", steps=(1, 2)), 0.5)
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.metrics, verdict.feedback) == (2.0, {"a": 1.0, "b": "nan"}, "said")


def test_a_program_that_stopped_at_a_stage_keeps_the_score_of_that_stage() -> None:
    verdict = verdict_of(Result(0.25, {"a": 1.0}, "said", stage=1), 0.5)
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.metrics, verdict.feedback) == (0.25, {STOPPED: 1.0, "a": 1.0}, "said")


@pytest.mark.parametrize("failure", ["stage 1 of 2 raised ValueError: no", "the evaluator gave no finite score"])
def test_a_program_that_gets_no_score_at_a_stage_fails_as_without_stages(failure: str) -> None:
    verdict = verdict_of(Result(None, {"a": 1.0}, "said", failure, stage=1), 0.5)
    assert verdict == Failure("evaluator", failure, 0.5, {"a": 1.0}, "said")


def test_a_program_that_the_evaluator_refuses_fails_with_what_is_known() -> None:
    verdict = verdict_of(Result(None, {"a": 1.0}, "why", "it is invalid"), 0.5)
    assert verdict == Failure("evaluator", "it is invalid", 0.5, {"a": 1.0}, "why")


def test_what_was_encoded_is_decoded_within_the_limits() -> None:
    known = Result(1.0, {str(n): float(n) for n in range(1000)}, "x" * 100_000)
    found = Result.decoded(known.encoded())
    assert len(found.metrics) == MOST_METRICS
    assert len(found.feedback) == MOST_FEEDBACK


@pytest.mark.parametrize("said", ["NaN", "Infinity", '"nan"'])
def test_a_metric_of_a_forged_result_is_a_finite_number_or_a_word(said: str) -> None:
    sent = f'{{"score": 1.0, "metrics": {{"a": {said}, "{"n" * 1000}": 1}}, "feedback": "{"y" * 20_000}"}}'
    found = Result.decoded(sent.encode())
    assert found.metrics["a"] in WORDS
    assert max(map(len, found.metrics)) <= 100
    assert len(found.feedback) == MOST_FEEDBACK
    json.dumps(dict(found.metrics), allow_nan=False)


@pytest.mark.parametrize("said", ['"=1+1"', '"\\u001b[2J"', f'"{"x" * 10_000}"', "[]", '{"a": 1}', '"\\ud800"'])
def test_a_metric_of_a_forged_result_that_is_no_number_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=r"metrics|number|JSON"):
        Result.decoded(f'{{"score": 1.0, "metrics": {{"a": {said}}}}}'.encode())


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ('{"score": NaN}', "the score is not finite"),
        ('{"score": -Infinity}', "the score is not finite"),
        (f'{{"score": 1.0, "steps": {[0] * (MOST_STEPS + 1)}}}', "the result is larger than it may be"),
        ("no JSON", "Invalid JSON"),
        ('{"score": 1.0}{"score": 1.0}', "trailing characters"),  # an evaluator that forks sends two
    ],
)
async def test_a_forged_result_that_cannot_be_one_fails_the_program_with_the_reason(sent: str, said: str) -> None:
    class Forging:
        async def send(self, *_: object) -> Sent:
            return Sent(sent.encode(), 1, 0.5)

    with pytest.raises(ValueError, match=said):
        Result.decoded(sent.encode())
    failure = await EvaluatorJudge(Forging()).evaluate("")  # type: ignore[arg-type]
    assert isinstance(failure, Failure) and (failure.reason, failure.cpu_s) == ("output", 0.5)
    assert failure.message.startswith("the evaluation sent no result that can be read: ") and said in failure.message
    assert "\n" not in failure.message


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (True, 1.0), (np.float32(0.5), 0.5), (np.array(2), 2.0), (math.nan, "nan"), (10**400, "inf")],
)
def test_numbers_of_every_kind_are_metrics(value: Any, number: float | str) -> None:
    assert numbers({"a": value, "text": "x", "list": [1]}) == {"a": number}


def test_a_metric_that_is_not_finite_never_makes_a_score() -> None:
    assert choose_score({"combined_score": "nan", "a": 1.0}) == (None, "the evaluator gave no finite score")
    assert choose_score({"a": "inf"}, averages=True) == (None, "the evaluator gave no finite score")


@pytest.mark.parametrize(
    ("known", "score"),
    [
        ({"a": 1.0, "score": 2.0}, 2.0),
        ({"a": 1.0, "score": 2.0, "combined_score": 3.0}, 3.0),
        ({"cost": 4.0}, 4.0),
        ({"cost": 4.0, "eval_time": 9.0, "seed": 7.0, "num_runs": 3.0, "duration_ms": 5.0, "item_count": 6.0}, 4.0),
    ],
)
def test_the_score_is_the_number_of_that_name_or_the_only_one_beside_times_seeds_and_counts(
    known: dict[str, float | str], score: float
) -> None:
    assert choose_score(known) == choose_score(known, averages=True) == (score, "")


def test_several_numbers_are_averaged_only_by_a_convention_that_does_so_and_never_with_times() -> None:
    known = {"a": 1.0, "b": 2.0, "eval_time": 9.0}
    assert choose_score(known, averages=True) == (1.5, "")
    said = "no number is called score or combined_score; it gave a, b, eval_time; choose one with --metric NAME"
    assert choose_score(known) == (None, said)
    assert choose_score({"eval_time": 9.0}, averages=True)[0] is None, "the slowest program would win"
    assert choose_score(known, "b") == choose_score({**known, "score": 7.0}, "b") == (2.0, "")
    assert choose_score(known, "c") == (None, "it gave no number called c; it gave a, b, eval_time")


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ({"combined_score": 0.7, "error": " it timed out "}, "it timed out"),
        ({"combined_score": 0.0, "validity": 0.0}, "the evaluator says validity 0.0"),
        ({"valid": False}, "the evaluator says valid False"),
        ({"correct": np.bool_(False)}, "the evaluator says correct False"),
        ({"correct": 0, "error": 0.5, "validity": 1.0}, ""),
        ({"error": "", "is_valid": True, "valid": None, "validity": "0"}, ""),
    ],
)
def test_an_evaluator_states_an_error_by_a_text_or_by_false(returned: dict[str, Any], words: str) -> None:
    assert stated_error(returned) == words


def test_a_stated_error_is_a_reason_of_its_own_whatever_the_score() -> None:
    verdict = verdict_of(Result(None, {"combined_score": 0.0}, "its text", "it timed out", is_stated=True), 0.5)
    assert verdict == Failure("evaluator-error", "it timed out", 0.5, {"combined_score": 0.0}, "its text")


def test_a_first_program_with_nothing_but_zeros_is_doubted_and_the_evaluators_last_words_are_told() -> None:
    zeros = {"score": 0.0, "mse": "inf", "time_s": 2.0, "private.calls": 3.0}
    said = "one line\n" + "Rscript is missing " * 30
    assert silent_failure(0.0, zeros, "") == "the first program got 0 for everything, as if it had failed"
    assert 'its last words: "Rscript is missing' in silent_failure(0.0, zeros, said)
    assert len(silent_failure(0.0, zeros, said)) < 400
    assert silent_failure(0.0, {**zeros, "solved": 1.0}, said) == silent_failure(-1.0, zeros, said) == ""
