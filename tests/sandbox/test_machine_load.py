"""Other work on the machine, which makes a program's CPU time longer, is seen and noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.sandbox import pool
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.messages import ProcessEnd
from behavesim.sandbox.pool import MachineLoad, Slots
from behavesim.task.verdict import Block

BEFORE = "cpu  1000 0 500 90000 70 0 30 20 400 0\ncpu0 1 0\ncpu1 1 0\nintr 5 5\n"
TEN_SECONDS_LATER = "cpu  1900 50 700 91000 99 0 80 100 400 0\ncpu0 2 0\ncpu1 2 0\nintr 5 5\n"
WORKED_S = 12.8
"""Users 9, with a low priority 0.5, in the kernel 2, for interrupts 0.5, for other virtual machines 0.8."""


@pytest.fixture
def ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 110.0])
    monkeypatch.setattr(pool, "monotonic", lambda: next(times))


@pytest.mark.usefixtures("ten_seconds")
@pytest.mark.parametrize(("own_s", "are_busy"), [(WORKED_S, False), (WORKED_S - 1.9, False), (WORKED_S - 2.1, True)])
def test_others_are_busy_from_a_tenth_of_all_cores_on(own_s: float, are_busy: bool, tmp_path: Path) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text(BEFORE)
    watched = MachineLoad(statistics)
    statistics.write_text(TEN_SECONDS_LATER)
    assert watched.were_busy(own_s) is are_busy


@pytest.mark.parametrize("text", [None, "", "cpu", "cpu a b c d e f g h", "\xff"])
def test_where_the_system_does_not_say_how_busy_it_is_others_are_not_known_to_be(
    text: str | None, tmp_path: Path
) -> None:
    statistics = tmp_path / "stat"
    if text is not None:
        statistics.write_text(text, encoding="latin-1")
    watched = MachineLoad(statistics)
    assert not watched.were_busy(0.0)
    statistics.write_text(TEN_SECONDS_LATER)  # which says nothing without a figure from before
    assert not watched.were_busy(0.0)


@pytest.mark.parametrize(("alone", "are_busy"), [(True, False), (True, True), (False, True)])
async def test_how_busy_others_were_is_noted_of_both_processes_of_a_program_alone(
    alone: bool, are_busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, own_s = ProcessEnd(0, 0, "", 2.0, 0), list[float]()

    class Stub(pool.ZygoteRunner):
        def __init__(self) -> None:
            self._places = Slots(1)

        async def _run(self, source: str, block: Block | None) -> RawResult:
            return RawResult(ending, b"", (ending,))

    monkeypatch.setattr(pool.MachineLoad, "were_busy", lambda self, seconds: bool(own_s.append(seconds)) or are_busy)
    ran = await Stub().run("", alone=alone)
    assert own_s == [4.0] * alone
    noted = alone and are_busy
    assert [each and each.beside_others for each in (ran.end, *ran.program_ends)] == [noted, noted]
