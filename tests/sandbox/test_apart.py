"""Where a task is online or stateless, no answer depends on what a program was not asked."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from behavesim.sandbox.forking import Progress
from behavesim.sandbox.frames import (
    ANSWER,
    FrameError,
    TooLarge,
    answer_size,
    decode_answer,
    encode_answer,
)
from behavesim.sandbox.judge import SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import receive_source
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.program import RemoteFunction, Unanswered, encode_question, serve_calls
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Verdict
from tests.sandbox.fakes import judge_with

LIMIT = 1 << 20
LOOKING = """
import gc, sys
import numpy as np

def fits(each, shown):
    return isinstance(each, np.ndarray) and each.shape == (20,) and (each[: len(shown)] == shown).all()

def within(each):
    yield each
    if isinstance(each, dict):
        yield from each.values()
    elif isinstance(each, (list, tuple, set)):
        yield from each
    else:
        yield from getattr(each, "__dict__", {}).values()

def frames():
    frame = sys._getframe()
    while frame is not None:
        yield from (found for each in frame.f_locals.values() for found in within(each))
        frame = frame.f_back

def reached():
    found, ways, frame = {}, [], sys._getframe(1)
    while frame is not None:
        ways.append(dict(frame.f_locals))  # a view of the frame alone from Python 3.13 on
        frame = frame.f_back
    while ways and len(found) < 2000:
        each = ways.pop(0)
        if id(each) not in found:
            found[id(each)] = each
            ways += gc.get_referents(each)
    return found.values()

def guess(shown):
    places = {places}
    known = next((each for each in places if fits(each, shown)), None)
    return 0 if known is None else known[len(shown)]
"""
PLACES = {
    "the frames of its callers": "frames()",
    "all that the frames of its callers lead to": "reached()",
    "the array that its argument is a view of": "[shown.base]",
}
CHEATS = {name: LOOKING.replace("{places}", places) for name, places in PLACES.items()}


def guesses(folder: Path, kind: str) -> TaskReference:
    """The task in a folder; `kind` is what it is beside."""
    text = (Path(__file__).parent / "guesses.py").read_text()
    file = folder / "guesses.py"
    file.write_text(text.replace("    objective", f"    {kind} = True\n    objective") if kind else text)
    return TaskReference(str(file))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["", "online", "apart", "stateless"])
async def judge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[str, SandboxJudge]]:
    """What the task is, and a judge of it."""
    reference = guesses(tmp_path_factory.mktemp("task"), request.param)
    async with judge_with(reference, Pool(reference, "search", 1, Limits(), True, preloaded=())) as judging:
        yield request.param, judging


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CHEATS)
async def test_a_program_that_looks_for_what_comes_gains_by_it_only_where_that_is_allowed(
    judge: tuple[str, SandboxJudge], name: str
) -> None:
    kind, judging = judge
    verdict = await judging.evaluate(CHEATS[name])
    assert isinstance(verdict, Verdict), verdict
    assert verdict.score == (20.0 if kind == "" else 0.0)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_follows_from_what_was_shown_is_judged_alike(judge: tuple[str, SandboxJudge]) -> None:
    kind, judging = judge
    counting = "asked = []\ndef guess(shown):\n    asked.append(1)\n    return len(asked)\n"
    for source in (judging._task.template, counting):
        verdict = await judging.evaluate(source)
        kept = source == counting and kind == "stateless"
        assert isinstance(verdict, Failure if kept else Verdict), verdict
    if isinstance(verdict, Verdict):  # what it counted over both instances was kept
        assert [list(each.data.ravel())[:2] for each in verdict.trajectories] == [[1, 2], [21, 22]]  # type: ignore[union-attr]


FAILING = {
    "exception": ("raise KeyError(7)", "KeyError: 7 (line 2)"),
    "exit": ("import os; os._exit(0)", "ended its process itself"),
    "crash": ("import os; os.abort()", "killed by SIG"),
    "timeout": ("while True: pass", "CPU time"),
    "memory": ("bytearray(1 << 31)", "memory"),
    "invalid-solution": ("return 'seven'", "must be an array of numbers"),
    "output": ("import numpy; return numpy.zeros(1 << 20)", "the limit is"),
}


@pytest.mark.parametrize("reason", FAILING)
async def test_a_program_apart_fails_with_its_own_reason(tmp_path: Path, reason: str) -> None:
    body, said = FAILING[reason]
    limits = Limits(timeout_s=0.3, memory_mb=512, output_mb=1)
    reference = guesses(tmp_path, "online")
    async with Pool(reference, "search", 1, limits, allow_weak_isolation=True, preloaded=()) as pool:
        failure = await pool.evaluate(f"def guess(shown):\n    {body}\n")
        assert isinstance(failure, Failure), failure
        assert (failure.reason, said in failure.message) == (reason, True), failure
        assert not isinstance(await pool.evaluate("def guess(shown):\n    return 1\n"), Failure)


ON_ITS_SOCKET = {
    "garbage": "os.write(fd, bytes(range(256)) * 9)",
    "a claim of four gigabytes": "os.write(fd, b'\\xff' * 6)",
    "half an answer, and no more": "os.write(fd, struct.pack('<IBB', 8, 3, 0)); os._exit(0)",
    "a hundred answers ahead": "os.write(fd, struct.pack('<IBBq', 8, 7, 0, 5) * 100)",
    "the end of it": "os.close(fd)",
    "a pickle": "os.write(fd, struct.pack('<IBB', 40, 255, 0) + pickle.dumps(Bomb()).ljust(40, b'.'))",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def online(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pool]:
    reference = guesses(tmp_path_factory.mktemp("task"), "online")
    limits = Limits(timeout_s=0.3, memory_mb=512, output_mb=1)
    async with Pool(reference, "search", 1, limits, allow_weak_isolation=True, preloaded=()) as pool:
        yield pool


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ON_ITS_SOCKET)
async def test_whatever_a_program_apart_does_to_its_socket_it_alone_fails(online: Pool, name: str) -> None:
    failure = await online.evaluate(
        "import os, pickle, struct\nclass Bomb:\n    def __reduce__(self): return os.abort, ()\n"
        f"def guess(shown):\n    for fd in range(3, 64):\n        try: {ON_ITS_SOCKET[name]}\n"
        "        except OSError: pass\n    return 1\n"
    )
    assert isinstance(failure, Failure), failure
    assert failure.reason in ("output", "exit", "timeout", "exception"), failure
    solved = await online.evaluate("def guess(shown):\n    return 1\n")
    assert not isinstance(solved, Failure)


@pytest.mark.parametrize("kind", ["online", "stateless"])
async def test_a_task_whose_function_is_called_with_a_class_of_its_file_is_told_what_to_do(
    tmp_path: Path, kind: str
) -> None:
    reference = guesses(tmp_path, kind)
    text = Path(reference.text).read_text()
    text = text.replace("class Guesses", "class Shown(list):\n    pass\n\n\nclass Guesses")
    Path(reference.text).write_text(text.replace("function(instance[:step])", "function(Shown(instance[:step]))"))
    async with judge_with(reference, Pool(reference, "search", 1, Limits(), True, preloaded=())) as judging:
        failure = await judging.evaluate(reference.load().template)
    assert isinstance(failure, Failure), failure
    assert "call it with numbers, arrays and plain containers of them" in failure.message


async def test_cancelling_ends_both_processes_of_a_program_apart(tmp_path: Path) -> None:
    reference = guesses(tmp_path, "online")
    async with Pool(reference, "search", 1, Limits(), allow_weak_isolation=True, preloaded=()) as pool:
        assert not isinstance(await pool.evaluate(reference.load().template), Failure)  # all is started
        files = open_files()
        running = asyncio.create_task(pool.evaluate("import time\ndef guess(shown):\n    time.sleep(60)\n"))
        await asyncio.sleep(0.1)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert open_files() == files
        assert not isinstance(await pool.evaluate(reference.load().template), Failure)  # its place is free


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def link() -> Iterator[tuple[int, int]]:
    ends = socket.socketpair()
    yield ends[0].fileno(), ends[1].fileno()
    for end in ends:
        end.close()


def test_answers_come_back_as_what_they_were(link: tuple[int, int]) -> None:
    here, there = link

    def serve() -> None:
        serve_calls("echo", LIMIT, receive_source(there), Progress(), there)
        socket.socket(fileno=os.dup(there)).shutdown(socket.SHUT_RDWR)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    remote = RemoteFunction(here, "def echo(answer, times=1):\n    return answer * times\n", LIMIT)
    for each in (3, 2.5, True):
        assert type(remote(each)) is (int if each is True else type(each))
        assert remote(each) == each
    grid = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert remote(grid, times=2).tolist() == (2 * grid).tolist()
    assert remote(grid).dtype == np.int16
    with pytest.raises(Unanswered, match="must be an array of numbers"):
        remote("word")
    with pytest.raises(Unanswered, match="TypeError: unsupported operand"):
        remote(None, None)
    assert remote(7) == 7  # what a call raises is the answer to that call alone
    socket.socket(fileno=os.dup(here)).shutdown(socket.SHUT_WR)
    serving.join()  # or it would end the link of a later test, whose descriptors have the same numbers


def test_a_process_whose_asker_was_stopped_ends_in_order() -> None:
    here, there = socket.socketpair()
    question, _ = encode_question((1,))
    here.sendall(question)
    here.close()
    serve_calls("echo", LIMIT, "def echo(answer):\n    return answer\n", Progress(), there.fileno())
    there.close()


def test_a_process_that_answers_twice_or_no_more_is_refused(link: tuple[int, int]) -> None:
    here, there = link
    remote = RemoteFunction(here, "", LIMIT)
    os.write(there, 2 * encode_answer(1, LIMIT))
    with pytest.raises(Unanswered, match="more than one answer"):
        remote()
    os.write(there, encode_answer(1, LIMIT)[:-1])
    socket.socket(fileno=os.dup(there)).shutdown(socket.SHUT_WR)
    with pytest.raises(Unanswered, match="ended its process"):
        remote()


@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_an_answer_or_refused(data: bytes) -> None:
    with_size = len(data).to_bytes(4, "little") + data
    for frame in (data, with_size, with_size[:4] + data[:1] + b"\x01" + data):
        if len(frame) < ANSWER.size:
            continue  # nothing is read of it
        try:
            found = decode_answer(frame[: answer_size(frame, LIMIT)])
        except FrameError:
            continue
        assert isinstance(found, Failure | np.ndarray)


ANSWERS = [0, -1.5, True, np.float32(2), [1, 2, 3], np.zeros((0, 3)), np.arange(8)[::2], np.array(["1"], dtype="S1")]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_read_back_or_refused(answer: Any) -> None:
    try:
        sent = encode_answer(answer, LIMIT)
    except FrameError:
        assert np.asarray(answer).dtype.kind == "S"
        return
    found = decode_answer(sent)
    assert isinstance(found, np.ndarray)
    assert (found.tolist(), found.shape) == (np.asarray(answer).tolist(), np.shape(answer))


def test_an_answer_that_is_too_long_is_refused_on_both_sides() -> None:
    with pytest.raises(TooLarge):
        encode_answer(np.zeros(LIMIT), LIMIT)
    with pytest.raises(FrameError, match="too long"):
        answer_size(encode_answer(np.zeros(LIMIT), 9 * LIMIT), LIMIT)


def test_a_question_that_no_pickle_can_hold_is_an_error_of_the_task() -> None:
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        encode_question((lambda: 0,))
