"""Clocks and deadlines that stand still while nobody can look."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from behavesim.base.clock import STEP_S, Clock, world_s
from behavesim.base.heartbeat import Heartbeat


class World:
    """A time outside that goes on as told, and the CPU time that the process took meanwhile."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.busy_s = 50.0

    def __call__(self) -> float:
        return self.now

    def busy(self) -> float:
        return self.busy_s

    def work(self, seconds: float, threads: int = 1) -> None:
        """Let time go by in which the process computes, so that nobody reads the clock."""
        self.now += seconds
        self.busy_s += seconds * threads


def test_work_that_holds_the_loop_counts_in_full_and_what_is_slept_beside_it_does_not() -> None:
    world = World()
    clock = Clock(world, world.busy)
    for _ in range(10):
        world.work(8.3)
        clock()
    assert clock() == pytest.approx(83.0)
    world.work(10.0, threads=4)
    assert clock() == pytest.approx(93.0), "more CPU time than time"
    world.work(7.0)
    world.now += 3600.0
    assert clock() == pytest.approx(100.0)


def test_what_passes_between_two_looks_counts_and_a_long_absence_as_one_step() -> None:
    world = World()
    clock = Clock(world, world.busy)
    for _ in range(10):
        world.now += 0.5
        clock()
    assert clock() == 5.0
    world.now += 3600.0
    assert clock() == 5.0 + STEP_S
    assert clock() == 5.0 + STEP_S


def test_the_cpu_time_is_read_ten_times_a_second_however_often_the_clock_is() -> None:
    world, read = World(), 0

    def busy() -> float:
        nonlocal read
        read += 1
        return world.busy_s

    clock = Clock(world, busy)
    for _ in range(1000):
        world.now += 0.003
        clock()
    assert clock() == pytest.approx(3.0)
    assert read <= 31
    world.work(8.3)
    assert clock() == pytest.approx(11.3)


def test_the_world_goes_on_and_is_never_set_back() -> None:
    assert world_s() <= world_s()


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="elsewhere the monotonic clock has to do")
def test_the_world_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    awake_s, asleep_s = 100.0, 3600.0
    monkeypatch.setattr(time, "monotonic", lambda: awake_s)
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: awake_s + asleep_s}.__getitem__)
    assert world_s() == awake_s + asleep_s


@pytest.fixture
def beats() -> tuple[World, Heartbeat]:
    world = World()
    return world, Heartbeat(world, beat_s=0.001, busy=world.busy)


async def passing(world: World, seconds: float) -> None:
    """Time goes by while the loop turns."""
    for _ in range(round(seconds / 0.5)):
        world.now += 0.5
        await asyncio.sleep(0.01)


async def test_a_deadline_passes_when_its_time_has_been_lived(beats: tuple[World, Heartbeat]) -> None:
    world, clock = beats
    waiting = asyncio.create_task(clock.sleep(5.0))
    await passing(world, 4.5)
    assert not waiting.done()
    await passing(world, 2.0)
    await asyncio.wait_for(waiting, 60)


async def test_a_deadline_passes_though_the_loop_was_held_all_the_time(beats: tuple[World, Heartbeat]) -> None:
    world, clock = beats
    waiting = asyncio.create_task(clock.sleep(10.0))
    for _ in range(2):
        await asyncio.sleep(0)
        world.work(6.0)
    await asyncio.wait_for(waiting, 60)
    assert clock() == 12.0


async def test_a_deadline_does_not_pass_while_the_process_is_away(beats: tuple[World, Heartbeat]) -> None:
    world, clock = beats
    waiting = asyncio.create_task(clock.sleep(5.0))
    await passing(world, 1.0)
    world.now += 3600.0
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await passing(world, 5.0)
    await asyncio.wait_for(waiting, 60)


async def test_what_arrived_in_ones_absence_is_read_before_its_deadline_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    world, turning = World(), World()
    clock = Heartbeat(world, busy=world.busy)
    ours, theirs = os.pipe()
    arrived, loop = asyncio.Event(), asyncio.get_running_loop()
    turning.now = loop.time()
    monkeypatch.setattr(loop, "time", turning)
    loop.add_reader(ours, arrived.set)
    try:
        async with clock.timeout(0.5):
            await asyncio.sleep(0)
            os.write(theirs, b"!")
            world.now += 3600.0  # more than the deadline was away, by one step
            turning.now += 3600.0  # so that the clock is read in the turn in which this arrives
            await arrived.wait()
            for _ in range(20):  # a reply takes some turns of the loop until somebody has it
                await asyncio.sleep(0)
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        os.close(theirs)


async def test_a_block_that_ends_in_time_leaves_no_beat_behind(beats: tuple[World, Heartbeat]) -> None:
    _, clock = beats
    async with clock.timeout(1.0):
        pass
    with pytest.raises(KeyError):
        async with clock.timeout(1.0):
            raise KeyError
    assert clock._beating is None


async def test_cancelling_is_not_taken_for_a_timeout(beats: tuple[World, Heartbeat]) -> None:
    _, clock = beats
    waiting = asyncio.create_task(clock.sleep(float("inf")))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


STOPPED = """
import asyncio, os, signal
from behavesim.base import clock as clocks
from behavesim.base.heartbeat import Heartbeat
async def main():
    clocks.STEP_S = 0.05
    clock, sent = Heartbeat(beat_s=0.02), asyncio.Event()
    asyncio.get_running_loop().add_reader(0, sent.set)
    before = clock(), clock.world()
    async with clock.timeout(0.5):
        os.kill(os.getpid(), signal.SIGSTOP)
        await sent.wait()
    print(clock() - before[0], clock.world() - before[1], flush=True)
asyncio.run(main())
"""


def test_a_process_that_was_stopped_finds_what_was_sent_and_no_deadline_passed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        process.stdin.write("sent meanwhile\n")
        process.stdin.flush()
        time.sleep(0.6)
        os.kill(process.pid, signal.SIGCONT)
        lived, outside = map(float, process.stdout.readline().split())
        assert process.wait() == 0
    assert lived < 0.5 < outside
