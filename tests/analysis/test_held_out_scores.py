"""Held-out scores that earlier reports found out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from behavesim.analysis.held_out import HeldOutScore, KnownScores
from behavesim.store.folder import RunFolder
from behavesim.task.verdict import Failure, Verdict

ORIGIN = {"task": "1", "instances": "2"}
GOOD, BETTER = HeldOutScore(1.5, (1.0, 2.0)), HeldOutScore(1.0, (1.0, 1.0))


def test_a_verdict_is_a_score_and_a_failure_a_reason() -> None:
    assert HeldOutScore.of(Verdict(1.5, (1.0, 2.0), (), 0.1)) == GOOD
    assert HeldOutScore.of(Failure("timeout", "too long")) == HeldOutScore(None, (), "timeout")


def test_scores_that_are_kept_are_known_the_next_time(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    known = KnownScores(folder, ORIGIN)
    assert known.of(["a", "b"]) == {}
    known.keep({"a": GOOD})
    known.keep({"b": BETTER})
    assert known.of(["a"]) == {"a": GOOD}
    assert KnownScores(folder, ORIGIN).of(["a", "b", "c"]) == {"a": GOOD, "b": BETTER}
    assert KnownScores(folder, ORIGIN | {"task": "changed"}).of(["a", "b"]) == {}


def test_failures_are_not_kept_and_nothing_new_is_not_written(tmp_path: Path) -> None:
    known = KnownScores(RunFolder(tmp_path), ORIGIN)
    known.keep({"a": HeldOutScore(None, (), "timeout")})
    assert list(tmp_path.iterdir()) == []
    known.keep({"a": GOOD})
    (file,) = tmp_path.iterdir()
    file.unlink()
    known.keep({"a": GOOD})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "{}", "[]", "3", json.dumps({"origin": {}, "scores": {"a": [1, [1]]}})])
def test_a_file_that_says_nothing_of_use_counts_for_nothing(tmp_path: Path, text: str) -> None:
    known = KnownScores(RunFolder(tmp_path), ORIGIN)
    known.keep({"a": GOOD})
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    assert KnownScores(RunFolder(tmp_path), ORIGIN).of(["a"]) == {}
