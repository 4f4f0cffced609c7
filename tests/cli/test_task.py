"""A task of one's own: written to start from, and examined before any money is spent on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture
def example(behavesim: Command, tmp_path: Path) -> Path:
    """The file that `task init` writes."""
    assert behavesim("task", "init", "mine").code == 0
    return tmp_path / "mine.py"


def test_the_file_to_start_from_is_in_order_and_can_be_searched(behavesim: Command, example: Path) -> None:
    ended = behavesim("task", "check", "mine.py", "--json")
    assert ended.code == 0
    assert {finding["result"] for finding in ended.document} == {"ok"}
    run = behavesim("run", "mine.py", "--budget", 8, "--json").document
    assert run["asked"] == 8


def test_a_name_that_is_taken_or_is_none_is_refused(behavesim: Command, example: Path) -> None:
    assert behavesim("task", "init", "mine").code == 2
    assert "Python name" in behavesim("task", "init", "my-task").err


@pytest.mark.parametrize(
    ("before", "after", "finding", "said"),
    [
        ("return value\n'''", "return value / 0\n'''", "template", "ZeroDivisionError"),
        ("[seed, number]", "None", "search instances", "different instances"),
        (
            'bs.Objective("maximise")',
            'bs.Objective("minimise", best_known=100.0)',
            "direction",
            "direction or that value",
        ),
        ("normaliser = ITEMS", "normaliser = 2", "normaliser", "2"),
        ("if len(np.unique(packed)) != len(packed):", "if False:", "trusted scoring", "everything twice"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_mend(
    behavesim: Command, example: Path, before: str, after: str, finding: str, said: str
) -> None:
    text = example.read_text()
    assert before in text
    text = text.replace(before, after)
    if finding == "trusted scoring":
        text = text.replace("CAPACITY:\n            raise", "1e9:\n            raise")
    example.write_text(text)
    ended = behavesim("task", "check", "mine.py", "--json")
    assert ended.code == 1
    named = {each["name"]: each for each in ended.document}
    assert named[finding]["result"] == "mend"
    assert said in named[finding]["message"]


def test_instances_that_change_when_they_are_used_are_found_out(behavesim: Command, example: Path) -> None:
    text = example.read_text()
    text = text.replace(
        "return [np.random", "return _KEPT[split] if split in _KEPT else _KEPT.setdefault(split, [np.random"
    )
    text = text.replace("for number in range(5)]", "for number in range(5)])")
    text = text.replace("CAPACITY = 50.0", "CAPACITY = 50.0\n_KEPT = {}")
    text = text.replace(
        "        packed = np.asarray(solution)",
        "        items *= 1\n        items[:, 1] += 1\n        packed = np.asarray(solution)",
    )
    example.write_text(text)
    ended = behavesim("task", "check", "mine.py", "--json")
    found = {each["name"]: each for each in ended.document}["use"]
    assert found["result"] == "mend"
    assert "could be resumed" in found["message"]


def test_a_random_task_is_found_out(behavesim: Command, example: Path) -> None:
    text = example.read_text()
    text = text.replace("return np.array(packed)", "return np.random.default_rng(time.time_ns()).permutation(packed)")
    example.write_text("import time\n" + text)
    ended = behavesim("task", "check", "mine.py", "--json")
    assert {f["name"]: f["result"] for f in ended.document}["determinism"] == "mend"


def test_findings_are_lines_for_people(behavesim: Command, example: Path) -> None:
    ended = behavesim("task", "check", "mine.py")
    assert ended.code == 0
    assert "trusted scoring" in ended.out
    assert "MEND" not in ended.out
