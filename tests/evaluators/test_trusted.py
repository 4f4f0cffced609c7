"""Evaluators that judge answers without the program: the same scores, and nothing forged comes through."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from behavesim.evaluators import rescore_class
from behavesim.evaluators.rescore_file import (
    Command,
    behaviour_of,
    judge_by_command,
    judge_by_script,
    judge_program,
    send_program,
)
from behavesim.task import InvalidSolution
from tests.evaluators.judging import HERE

CIRCLES = HERE / "circles/evaluator.py"
CENTRES = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75], [0.5, 0.5]])
PACKED = CENTRES, np.full(5, 0.1)


def asked(weights: list[float], replies: list[object]) -> dict[str, np.ndarray]:
    """What a function that gives these replies sends."""
    left = iter(replies)
    return rescore_class.collect_replies(KNAPSACK, "", lambda *arguments: next(left))


KNAPSACK = rescore_class.evaluation_of("judged/knapsack.py:Knapsack", HERE)


def test_answers_are_judged_as_the_program_would_be() -> None:
    found = judge_program(CIRCLES, "pack", send_program(PACKED), 1)
    assert float(found) == 0.25 and found.metrics["sum_of_radii"] == 0.5
    assert float(judge_program(CIRCLES, "pack", send_program((CENTRES.tolist(), [0.1] * 5)), 1)) == 0.25
    with pytest.raises(InvalidSolution, match="an answer to each call: 1, not 2"):
        judge_program(CIRCLES, "pack", send_program(PACKED, PACKED), 1)
    with pytest.raises(InvalidSolution, match="made of numbers"):
        judge_program(CIRCLES, "pack", send_program("text"), 1)


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((0, 3)),
        np.array([[True], [False]]),
        0.1,
        [[1, 2], [3, 4]],
        (1, [2.5], np.array(7, np.uint8)),
        (np.array([math.nan, -math.inf]),),
    ],
)
def test_an_answer_reaches_the_evaluator_as_the_program_gave_it(tmp_path: Path, answer: object) -> None:
    (tmp_path / "says.py").write_text(
        "import runpy\n"
        "def evaluate(path):\n"
        "    function = runpy.run_path(path)['f']\n"
        "    assert repr(function(1)) == repr(function(2))\n"
        f"    return {{'combined_score': float(repr(function(1)) == {repr(answer)!r})}}\n"
    )
    assert float(judge_program(tmp_path / "says.py", "f", send_program(answer), 1)) == 1.0


def test_large_answers_are_read_as_data_and_not_compiled(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        "import runpy\n"
        "def evaluate(path):\n"
        "    text = open(path).read()\n"
        "    assert len(text) < 2000, 'as source these took 23 s of CPU time and 5.6 GB'\n"
        "    return {'combined_score': float(len(runpy.run_path(path)['f']()))}\n"
    )
    large = np.zeros(7_900_000, np.int8)
    for answer in (large, large.tolist()):
        assert float(judge_program(tmp_path / "sums.py", "f", send_program(answer), 1)) == len(large)


def test_a_script_judges_the_answers_to_all_runs(tmp_path: Path) -> None:
    answers = [([1, 2], count) for count in (3, 4, 5)]
    script = (HERE / "sorting/evaluate.py").read_text().replace("values != sorted(values)", "values != [1, 2]")
    (tmp_path / "evaluate.py").write_text(script)
    found = judge_by_script(tmp_path / "evaluate.py", "sort", send_program(*answers), 3)
    assert float(found) == 96.0 and found.metrics["comparisons"] == 12.0
    assert not any("time" in name for name in found.metrics)
    with pytest.raises(InvalidSolution, match="the values are not sorted"):
        judge_by_script(tmp_path / "evaluate.py", "sort", send_program(*[([2, 1], 3)] * 3), 3)


def test_a_command_judges_answers_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("import runpy, sys\nprint(runpy.run_path(sys.argv[1])['f'](1))\n")
    command = Command(f"{sys.executable} judge.py {{program}}", tmp_path)
    assert float(judge_by_command(command, "f", send_program(3.5), 1)) == 3.5
    with pytest.raises(InvalidSolution, match="left with status 1"):
        judge_by_command(command, "g", send_program(3.5), 1)
    with pytest.raises(InvalidSolution, match="no finite score"):
        judge_by_command(command, "f", send_program(math.inf), 1)


def test_the_nearer_two_answers_are_the_more_steps_they_share() -> None:
    first, near, far = (behaviour_of(send_program((CENTRES, np.full(5, radius)))).data for radius in (0.1, 0.11, 0.9))
    assert len(first) == len(near) == len(far)
    assert (first == near).sum() > (first == far).sum()


@pytest.mark.parametrize("replies", [[0, 0, 0], [np.int64(3)], [True, np.array(1), 0]])
def test_replies_are_judged_as_the_function_would_be(replies: list[object]) -> None:
    left = iter(replies)
    expected = KNAPSACK.evaluate_program("", lambda *arguments: next(left))
    assert float(rescore_class.judge_replies(KNAPSACK, "", asked([], replies))) == expected


def test_replies_that_do_not_fit_are_refused() -> None:
    whole = asked([], [0, 0, 0])
    for forged, said in (
        (b"[0, 0]", "more often than it did"),
        (b"[3, 0]", "as often as it did"),
        (b"[-1]", "found the program invalid"),
        (b"[", "cannot be read: JSONDecodeError"),
        (b"{}", "more often"),
        (b"3", "cannot be read: TypeError"),
        (b"[" * 100_000, "cannot be read: RecursionError"),
        (b'[{"type": "<i1", "array": [300], "shape": [1]}]', "cannot be read: OverflowError"),
        (b'[{"type": "O", "array": [], "shape": []}]', "cannot be read: ValueError"),
    ):
        with pytest.raises(InvalidSolution, match=said):
            rescore_class.judge_replies(KNAPSACK, "", {"replies": np.frombuffer(forged, np.uint8)})
    with pytest.raises(InvalidSolution, match="cannot be read: KeyError"):
        rescore_class.judge_replies(KNAPSACK, "", {})
    assert rescore_class.behaviour_of(whole).data.tolist() == [0, 0, 0]


def test_replies_come_back_as_they_were() -> None:
    replies = [None, (1, [2.5, "a"]), np.float32(0.1), np.arange(6.0).reshape(2, 3), {"a": np.array([True])}, math.inf]
    replies += [b"\0\xff", 1j, np.array([1 + 2j, 3]), [1, [2.5, None]]]

    class Asks:
        def evaluate_program(self, text, function):
            for expected in replies:
                found = function()
                assert (
                    np.array_equal(found, expected) if isinstance(expected, complex) else repr(found) == repr(expected)
                )
                assert isinstance(found, type(expected))
            return 1.0

    left = iter(replies)
    solution = rescore_class.collect_replies(Asks(), "", lambda: next(left))
    assert float(rescore_class.judge_replies(Asks(), "", solution)) == 1.0


def test_replies_that_cannot_be_sent_are_refused_in_words() -> None:
    class Asks:
        def evaluate_program(self, text, function):
            return function()

    with pytest.raises(TypeError, match="returned set"):
        rescore_class.collect_replies(Asks(), "", lambda: {1})
    with pytest.raises(OverflowError, match="too large to be judged again"):
        rescore_class.collect_replies(Asks(), "", lambda: np.random.default_rng(0).random(300_000))
