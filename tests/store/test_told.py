"""Metrics and feedback in a journal: kept as they were told, empty where an older version wrote none."""

from __future__ import annotations

import json

import pytest

from behavesim.engine.outcome import outcome_of_copy, outcome_of_verdict
from behavesim.programs.reading import Program
from behavesim.state.events import Evaluated, Rejected
from behavesim.store.codec import decode, encode
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory

TOLD = {"speed": 2.5, "error": "nan"}
BEHAVIOUR = (Trajectory.prefixes([1, 2]),)
VERDICTS = (Verdict(1.0, (1.0,), BEHAVIOUR, 0.5, TOLD, "at 0x7f01 said"), Failure("evaluator", "no", 0.5, TOLD, "said"))


@pytest.mark.parametrize("verdict", VERDICTS, ids=["evaluated", "rejected"])
def test_metrics_and_feedback_are_read_as_they_were_written(verdict: Verdict | Failure) -> None:
    event = outcome_of_verdict(3, Program("x = 1\n", "", "hash"), verdict)
    assert event.metrics == TOLD
    assert event.feedback in ("at 0x… said", "said")
    read = decode(*encode(event))
    assert isinstance(read, Evaluated | Rejected)
    assert (read.metrics, read.feedback) == (event.metrics, event.feedback)


@pytest.mark.parametrize("verdict", VERDICTS, ids=["evaluated", "rejected"])
def test_a_copy_keeps_them(verdict: Verdict | Failure) -> None:
    program = Program("x = 1\n", "", "hash")
    first = outcome_of_verdict(3, program, verdict)
    again = outcome_of_copy(7, program, first)
    assert (again.copy_of, again.metrics, again.feedback) == (3, first.metrics, first.feedback)


@pytest.mark.parametrize("verdict", VERDICTS, ids=["evaluated", "rejected"])
def test_a_journal_of_before_has_none(verdict: Verdict | Failure) -> None:
    kind, payload, blob = encode(outcome_of_verdict(3, Program("x = 1\n", "", "hash"), verdict))
    older = {name: value for name, value in json.loads(payload).items() if name not in ("metrics", "feedback")}
    read = decode(kind, json.dumps(older), blob)
    assert isinstance(read, Evaluated | Rejected)
    assert (read.metrics, read.feedback) == ({}, "")
