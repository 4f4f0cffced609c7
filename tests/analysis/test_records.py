"""The candidates of a run as records."""

from __future__ import annotations

from pathlib import Path

from behavesim.analysis.candidates import Record
from behavesim.base.tokens import Usage
from behavesim.state.events import Added, Evaluated, NotAdded, Rejected
from behavesim.trajectory import Trajectory
from tests.analysis.journals import answered, asked, journalled, started

UNKNOWN = {"prompt": None, "cached": None, "completion": None, "reasoning": None}


def test_every_candidate_has_a_record_and_what_is_unknown_is_none(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        asked(0, (-1,), Usage(prompt=10, cached=4, completion=20)),
        [Evaluated(0, "x = 1", 3.0, (2.0, 4.0), (Trajectory.prefixes([0, 1, 2, 3]),) * 2, "", "h"), Added(0, "1")],
        asked(1, (0, -1), model="other"),
        [Rejected(1, "extraction", "no-code", "there is none"), NotAdded(1)],
        asked(2),
    )
    assert list(run.records()) == [
        Record(
            candidate=0,
            status="feasible",
            stage="evaluation",
            reason=None,
            message="",
            score=3.0,
            scores=(2.0, 4.0),
            gap=0.5,
            source="x = 1",
            parents=(-1,),
            operator="improve",
            model="m",
            group="1",
            copy_of=None,
            program_hash="h",
            cpu_s=0.0,
            tokens={"prompt": 10, "cached": 4, "completion": 20, "reasoning": None},
        ),
        Record(
            candidate=1,
            status="rejected",
            stage="extraction",
            reason="no-code",
            message="there is none",
            score=None,
            scores=(),
            gap=None,
            source=None,
            parents=(0, -1),
            operator="improve",
            model="other",
            group=None,
            copy_of=None,
            cpu_s=0.0,
            tokens=UNKNOWN,
        ),
        Record(2, "open", (), "improve", model="m", tokens=UNKNOWN),
    ]


def test_tokens_are_those_of_all_requests_and_unknown_where_one_did_not_say(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        asked(0)[:1],
        [answered(0, (Usage(prompt=10, completion=1), Usage(prompt=5)))],
    )
    (only,) = run.records()
    assert only.tokens == {**UNKNOWN, "prompt": 15}
