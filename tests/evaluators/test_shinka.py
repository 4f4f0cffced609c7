"""ShinkaEvolve's convention: scripts that write two files, with a stand-in for what they import."""

from __future__ import annotations

import json

import pytest

from behavesim.evaluators.conventions.shinka_core import run_shinka_eval
from tests.evaluators.judging import HERE, file_of, results

WRITES = """
import argparse, json, pathlib, sys
parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
given = parser.parse_args()
exec(pathlib.Path(given.program_path).read_text())
"""
FILES = """
def write(name, text):
    pathlib.Path(given.results_dir, name).write_text(text if isinstance(text, str) else json.dumps(text))
"""
UNSORTED = "def sort(values):\n    return list(values), 0\n"
MERGED = """
def sort(values):
    if len(values) < 2:
        return list(values), 0
    (left, a), (right, b) = sort(values[::2]), sort(values[1::2])
    out, comparisons = [], a + b
    while left and right:
        comparisons += 1
        out.append((left if left[0] <= right[0] else right).pop(0))
    return out + left + right, comparisons
"""


def comparisons(source: str) -> list[int]:
    names: dict = {}
    exec(source, names)
    return [names["sort"]([(7 * place * place + run) % 31 for place in range(12)])[1] for run in range(3)]


@pytest.mark.parametrize("script", ["evaluate.py", "evaluate_apart.py"])
def test_sorting_is_scored_as_counted_by_hand(script):
    first = (HERE / "sorting/initial.py").read_text()
    found = results(file_of("shinka", f"sorting/{script}"), first, MERGED, UNSORTED, "def other(): pass", "1 / 0")
    counted = comparisons(MERGED)
    assert comparisons(first) == [66] * 3
    assert [each.score for each in found] == [34.0, pytest.approx(100 - sum(counted) / 3), None, None, None]
    assert found[1].metrics["comparisons"] == sum(counted) and found[1].metrics["private.most"] == max(counted)
    assert found[1].metrics["private.num_valid_runs"] == 3 and "Fewer comparisons are better." in found[1].feedback
    assert "secret" not in found[1].feedback
    assert found[2].failure == "Validation failed: the values are not sorted"
    assert found[2].metrics["private.num_invalid_runs"] == 3
    assert "Experiment function 'sort' not found" in found[3].failure
    assert found[4].failure == "division by zero" and found[4].metrics["combined_score"] == 0
    traced = ["answers"] * 2 if script == "evaluate.py" else ["metrics"] * 2
    assert [each.traced for each in found[:2]] == traced


def written(tmp_path, *programs: str):
    """Results of a script without a guard, whose programs write the files themselves."""
    (tmp_path / "judge.py").write_text(WRITES.replace("exec(", FILES + "exec("))
    return results(file_of("shinka", str(tmp_path / "judge.py")), *programs)


def test_a_script_is_read_by_its_two_files(tmp_path):
    good = 'write("correct.json", {"correct": True}); '
    found = written(
        tmp_path,
        good + 'write("metrics.json", {"combined_score": 2, "text_feedback": ["a", "b"], "public": {"kind": "new"}})',
        good + 'write("metrics.json", {"combined_score": 3}); raise ValueError("behind its results")',
        good + 'write("metrics.json", {"public": {"speed": 9}})',
        good + 'write("metrics.json", {"combined_score": float("nan")})',
        'write("metrics.json", {"combined_score": 5})',
        'write("correct.json", {"correct": False, "error": "wrong"}); write("metrics.json", {"combined_score": 5})',
        good + 'write("metrics.json", "{")',
        "sys.exit(4)",
        "pass",
        'raise ValueError("before")',
    )
    assert [each.score for each in found] == [2.0, 3.0, *[None] * 8]
    assert found[0].feedback == "a\nb\nkind: new"
    failures = [each.failure for each in found]
    assert failures[2:4] == ["metrics.json has no finite combined_score"] * 2
    assert failures[4:6] == ["the evaluator wrote no correct.json", "wrong"]
    assert "metrics.json that is no JSON" in failures[6]
    assert failures[7] == "the evaluator wrote neither metrics.json nor correct.json and left with status 4"
    assert failures[8] == "the evaluator wrote neither metrics.json nor correct.json"
    assert failures[9] == "ValueError: before"


def program(tmp_path, body: str) -> str:
    (tmp_path / "program.py").write_text(f"def f(seed):\n    {body}\n")
    return str(tmp_path / "program.py")


def test_the_stand_in_writes_what_it_returns(tmp_path):
    path = program(tmp_path, "return seed * 2")
    metrics, correct, error = run_shinka_eval(path, str(tmp_path / "out"), "f", 3)
    assert (metrics["num_successful_runs"], correct, error) == (3, True, None)
    assert json.loads((tmp_path / "out/metrics.json").read_text()) == metrics
    assert json.loads((tmp_path / "out/correct.json").read_text()) == {"correct": True, "error": None}
    seen: list[int] = []
    run_shinka_eval(path, str(tmp_path / "out"), "f", 3, aggregate_metrics_fn=lambda found: seen.extend(found) or {})
    assert seen == [2, 4, 6]  # the seeds are 1, 2, 3


def test_the_stand_in_refuses_scores_that_are_not_finite_and_keeps_the_first_error(tmp_path):
    path, out = program(tmp_path, "return seed"), str(tmp_path / "out")
    score = {"combined_score": float("nan")}
    assert run_shinka_eval(path, out, "f", 1, None, lambda _: dict(score))[1:] == (False, "combined_score is NaN")
    odd = lambda result: (result != 2, f"{result} is even")  # noqa: E731
    metrics, correct, error = run_shinka_eval(path, out, "f", 3, None, lambda _: dict(score), odd)
    assert (correct, error) == (False, "Validation failed: 2 is even")
    assert (metrics["num_valid_runs"], metrics["num_invalid_runs"]) == (2, 1)
    assert metrics["all_validation_errors"] == ["2 is even"]
    metrics, correct, error = run_shinka_eval(
        path, out, "f", 1, None, lambda _: 1 / 0, None, None, {"combined_score": -1}
    )
    assert (metrics["combined_score"], correct, error) == (-1, False, "division by zero")
    with pytest.raises(ValueError, match="1 or more"):
        run_shinka_eval(path, out, "f", 1, run_workers=0)
