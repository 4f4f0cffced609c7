"""A process that is asked to end cancels its work, once, and keeps ignoring what it was told to ignore."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from behavesim.application.session import in_a_loop_of_its_own, run_until_asked_to_end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_work_is_cancelled_once_however_often_its_process_is_asked(number: signal.Signals) -> None:
    cancelled = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("first")
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)  # what is asked again arrives here
            cancelled.append("and it ended in order")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_until_asked_to_end(work())
    assert cancelled == ["first", "and it ended in order"]


def test_work_in_a_loop_beside_is_cancelled_by_an_interrupt_and_ends_in_order() -> None:
    ended = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.append("in order")

    with pytest.raises(KeyboardInterrupt):
        in_a_loop_of_its_own(work())
    assert ended == ["in order"]


HELD_UP = """
import asyncio, time
from behavesim.application.session import run_until_asked_to_end

async def work():
    try:
        print("begun", flush=True)
        await asyncio.to_thread(time.sleep, 1000)
    finally:
        print("cancelled", flush=True)

run_until_asked_to_end(work(), lambda: print("again", flush=True))
"""


def test_a_process_that_is_held_up_by_a_thread_ends_when_it_is_asked_a_third_time() -> None:
    with subprocess.Popen([sys.executable, "-c", HELD_UP], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for said in ("begun\n", "cancelled\n", "again\n"):
            assert process.stdout.readline() == said
            process.send_signal(signal.SIGTERM)
        assert process.wait() == 130


def test_a_process_whose_event_loop_is_held_up_ends_when_it_is_asked_a_third_time() -> None:
    blocked = HELD_UP.replace("await asyncio.to_thread(time.sleep, 1000)", "time.sleep(1000)")
    with subprocess.Popen([sys.executable, "-c", blocked], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        while process.poll() is None:  # signals that arrive together are heard as one
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        assert process.returncode == 130


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    async def work() -> str:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)
        return "done"

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run_until_asked_to_end(work()) == "done"
    finally:
        signal.signal(signal.SIGHUP, before)
