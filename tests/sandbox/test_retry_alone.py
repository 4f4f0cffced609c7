"""What the machine did to a program is never held against it: the program runs again, alone, until that is known."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace

import pytest

from behavesim.base.errors import SandboxError
from behavesim.sandbox import pool
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.forking import Progress
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import ProcessEnd, Ready
from behavesim.sandbox.pool import Slots, frame_of, run_until_certain
from behavesim.task.verdict import Block, Failure

LIMITS = Limits(timeout_s=12.0, memory_mb=2048)
DONE = ProcessEnd(0, 0, "", 9.1, 0)
NEAR = replace(DONE, cpu_s=13.0)
ASLEEP = ProcessEnd(0, signal.SIGKILL, "wall", 0.1, 0)
SLEPT = replace(ASLEEP, killed="asleep")
WAITED = replace(ASLEEP, killed="waited", cpu_s=9.1, calls=1310, instance=5, first_s=6.7)
OUT = ProcessEnd(0, signal.SIGKILL, "machine", 0.5, 251 << 20)
GREEDY = replace(OUT, killed="", peak_bytes=1900 << 20)
KILLED = "ended by SIGKILL, twice, the second time alone ({} MB held): out of memory, or it killed itself"
BESIDE = replace(NEAR, beside_others=True)
ENDLESS = ProcessEnd(0, signal.SIGKILL, "cpu", 18.5, 0)
STOPPED = "still not done after the 12 s of CPU time that count"


class Scripted:
    """A runner whose programs end as the script says; `alone` says of each run whether it was alone."""

    def __init__(self, *endings: ProcessEnd) -> None:
        self.alone: list[bool] = []
        self._left = list(endings)

    @property
    def ready(self) -> Ready:
        return Ready("strong", (), 1)

    async def run(self, source: str, alone: bool = False, block: Block | None = None) -> RawResult:
        self.alone.append(alone)
        return RawResult(self._left.pop(0), b"frame")

    async def __aenter__(self) -> Scripted:
        return self

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PAUSES_S", (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("endings", "reasons", "said"),
    [
        ([DONE], [], ""),
        ([ENDLESS], [], STOPPED),
        ([ASLEEP, DONE], ["clock"], ""),
        (
            [ASLEEP, ASLEEP],
            ["clock"],
            "stopped after 26 s: it slept or waited (0.1 s of CPU time)",
        ),
        ([SLEPT], [], "stopped after 26 s: it slept or waited (0.1 s of CPU time)"),
        ([WAITED, WAITED, WAITED, DONE], ["clock"] * 3, ""),
        ([NEAR, DONE], ["cpu"], ""),
        ([NEAR, NEAR], ["cpu"], "13 s of CPU time; the limit is 12 s"),
        ([NEAR, BESIDE], ["cpu"], ""),
        ([BESIDE, NEAR], ["cpu"], "13 s of CPU time; the limit is 12 s"),
        ([BESIDE, replace(ENDLESS, beside_others=True)], ["cpu"], STOPPED),
        ([OUT, OUT, NEAR], ["memory", "memory"], "13 s of CPU time; the limit is 12 s"),
        ([NEAR, OUT, DONE], ["cpu", "memory"], ""),
        ([GREEDY, DONE], ["memory"], ""),
        ([GREEDY, GREEDY], ["memory"], KILLED.format(1900)),
    ],
)
async def test_a_program_is_put_off_until_its_ending_is_its_own(
    endings: list[ProcessEnd], reasons: list[str], said: str
) -> None:
    runner, why = Scripted(*endings), list[str]()
    ran = await run_until_certain(runner, LIMITS, "", lambda reason, words: why.append(reason))
    found = frame_of(ran, LIMITS)
    assert why == reasons
    assert runner.alone == [False] + [True] * len(reasons)
    assert (found.message if isinstance(found, Failure) else "") == said


@pytest.mark.parametrize(("ending", "said"), [(WAITED, "9.1 s of CPU time; the limit"), (OUT, "held 251 of 2048 MB")])
async def test_a_machine_that_cannot_say_stops_the_run_and_blames_no_program(ending: ProcessEnd, said: str) -> None:
    with pytest.raises(SandboxError, match=f"3 tries alone did not decide .*: .*{said}.*, then resume"):
        await run_until_certain(Scripted(*[ending] * 4), LIMITS, "", lambda *_: None)


async def test_a_program_that_may_kill_itself_does_not_stop_the_run() -> None:
    ran = await run_until_certain(Scripted(OUT, OUT), LIMITS, "", lambda *_: None, may_signal=True)
    found = frame_of(ran, LIMITS)
    assert isinstance(found, Failure)
    assert found.message == KILLED.format(251)


def test_the_first_call_may_be_left_out_of_the_limit_by_a_bounded_time() -> None:
    limits = replace(LIMITS, first_call_s=10.0)
    assert [limits.limit_s(first_s) for first_s in (0.0, 6.7, 1e9)] == [12.0, 18.7, 22.0]
    took = RawResult(replace(NEAR, first_s=6.7, calls=1988), b"frame")
    assert isinstance(frame_of(took, LIMITS), Failure)
    assert frame_of(took, limits) == b"frame"
    assert limits.wall_limit_s == 46
    killed = replace(OUT, killed="", cpu_s=15.0, first_s=6.7)  # for memory, since it had CPU time left
    assert (killed.is_killed(limits), killed.is_killed(LIMITS)) == (True, False)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (replace(WAITED, calls=1988), ", at call 1988, on instance 5; the first call took 6.7 s, all else 2.4 s"),
        (replace(WAITED, first_s=0.01), ", at call 1310, on instance 5"),
        (replace(WAITED, calls=1), ", in its first call, on instance 5"),
        (replace(WAITED, calls=0), ", on instance 5"),
        (OUT, ""),
    ],
)
def test_a_reason_says_how_far_a_program_got(ending: ProcessEnd, said: str) -> None:
    assert ending.reached() == said


def test_a_reason_says_how_much_of_the_first_call_does_not_count() -> None:
    late = replace(NEAR, cpu_s=23.0, first_s=9.2, calls=1988, instance=6)
    failure = frame_of(RawResult(late, b"frame"), replace(LIMITS, first_call_s=8.0))
    assert isinstance(failure, Failure)
    assert failure.message == (
        "15 s of CPU time; the limit is 12 s, at call 1988, on instance 6; "
        "the first call took 9.2 s (of which 8 s do not count), all else 13.8 s"
    )


def test_calls_are_counted_and_the_first_one_timed() -> None:
    progress = Progress()
    progress.begin(3)
    double = progress.counted(lambda x, y=0: 2 * x + y)
    assert progress.reached(5.0) == (3, 0, 0.0)
    assert [double(1), double(2, y=1)] == [2, 5]
    assert progress.reached(5.0)[:2] == (3, 2)
    assert 0.0 <= progress.first_s(1e9) < 1.0
    nested = Progress()
    assert nested.counted(lambda: nested.first_s(1e9))() > 1e8, "as long as it lasts, all that follows is of that call"


def test_what_a_program_writes_into_its_page_is_no_more_than_a_number() -> None:
    progress = Progress()
    for place, forged in enumerate((-5, 1 << 62, 1, (1 << 53) - 1, -1)):
        progress._words[place] = forged
    assert (progress.reached(7.0), progress.idle_s) == ((0, 0, 7.0), 0.0)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux can keep a page from later children")
def test_no_later_child_can_reach_the_page_of_another() -> None:
    progress = Progress()
    progress.keep_to_one_child()
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # pytest's would print all threads
        progress.begin(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGSEGV
    assert progress.reached(5.0)[0] == 0


async def test_a_program_that_runs_alone_has_all_places_and_waits_its_turn() -> None:
    places, order, running = Slots(3), list[str](), list[str]()

    async def run(name: str, alone: bool = False) -> None:
        async with places.held(alone):
            running.append(name)
            assert len(running) <= (1 if alone else 3)
            await asyncio.sleep(0)
            assert not alone or running == [name]
            running.remove(name)
            order.append(name)

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(run(name))
        group.create_task(run("first alone", True))
        given_up = group.create_task(run("given up", True))
        group.create_task(run("second alone", True))
        group.create_task(run("e"))
        await asyncio.sleep(0)
        given_up.cancel()
    assert sorted(order[:4]) == list("abcd")
    assert order[4:] == ["first alone", "second alone", "e"]


def test_the_time_of_a_first_call_that_has_its_own_does_not_count():
    limits = Limits(timeout_s=12.0, first_call_s=8.0)
    assert limits.usage_text(15.0, first_s=6.5) == "8.5 s of CPU time; the limit is 12 s"
    assert limits.usage_text(22.0, first_s=9.5) == "14 s of CPU time; the limit is 12 s"
    assert Limits(timeout_s=12.0).usage_text(15.0, first_s=6.5) == "15 s of CPU time; the limit is 12 s"
