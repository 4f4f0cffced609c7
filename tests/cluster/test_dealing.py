"""Programs are dealt out to workers by how busy they are, and what a task needs is sent along."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from behavesim.base.errors import TaskError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster import task_files
from behavesim.cluster.dispatcher import MOST_AHEAD, Dispatcher, Link
from behavesim.cluster.protocol import Garbage, Line, Order, _unpacked, as_values, failures_of, results_of
from behavesim.cluster.task_files import (
    TaskFiles,
    Unpacking,
    differing_facts,
    files_of_evaluator,
    files_of_task,
    platform_facts,
)
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import ProcessEnd
from behavesim.sandbox.pool import frame_of
from behavesim.task import TaskReference
from tests.evaluators.judging import file_of


def worker(dispatcher: Dispatcher, name: str, places: int = 1) -> Link:
    """A worker that gets programs and does nothing."""
    return Link(name, cast(Line, None), Heartbeat(), cast(Any, None), dispatcher.finish, "strong+", [], places)


def ran(cpu_s: float) -> RawResult:
    return RawResult(ProcessEnd(0, 0, "", cpu_s, 0), b"")


async def test_programs_go_to_the_worker_with_the_fewest_for_its_places() -> None:
    dispatcher = Dispatcher(lambda name, why: None)
    small, large = worker(dispatcher, "small"), worker(dispatcher, "large", 3)
    dispatcher.add_worker(small)
    dispatcher.add_worker(large)
    for _ in range(8):
        dispatcher.submit("program")
    assert (len(small.held), len(large.held)) == (2, 6)


async def test_the_faster_programs_are_the_more_wait_at_a_worker_and_of_slow_ones_none() -> None:
    dispatcher = Dispatcher(lambda name, why: None)
    one = worker(dispatcher, "one")
    dispatcher.add_worker(one)
    for _ in range(100):
        dispatcher.submit("program")

    def held_after(cpu_s: float) -> int:
        for _ in range(40):
            dispatcher.submit("program")
            job = next(iter(one.held.values()))
            del one.held[job.number]
            dispatcher.finish(one, job, ran(cpu_s))
        return len(one.held)

    assert held_after(0.001) == 1 + MOST_AHEAD
    assert held_after(0.02) < 1 + MOST_AHEAD
    assert held_after(5.0) == 1


async def test_only_programs_that_ran_on_a_lost_worker_are_suspects() -> None:
    dispatcher = Dispatcher(lambda name, why: None)
    jobs = [dispatcher.submit("program") for _ in range(3)]
    one = worker(dispatcher, "one", 1)
    dispatcher.add_worker(one)
    assert list(one.held.values()) == jobs[:2]
    dispatcher.remove_worker(one, "it was lost")
    assert [job.lost for job in jobs] == [1, 0, 0]
    again = worker(dispatcher, "two", 2)
    dispatcher.add_worker(again)
    assert list(again.held.values()) == jobs


async def test_a_program_that_nobody_waits_for_any_more_goes_to_no_other_worker() -> None:
    dispatcher = Dispatcher(lambda name, why: None)
    job = dispatcher.submit("program")
    one, two = worker(dispatcher, "one"), worker(dispatcher, "two")
    dispatcher.add_worker(one)
    assert list(one.held.values()) == [job]
    job.done.cancel()
    dispatcher.remove_worker(one, "it was lost")
    dispatcher.add_worker(two)
    assert not two.held


async def test_a_result_clears_a_worker_of_what_was_held_against_it() -> None:
    left_out: list[str] = []
    dispatcher = Dispatcher(lambda name, why: left_out.append(name))
    for turn in range(6):
        one = worker(dispatcher, "one")
        dispatcher.add_worker(one)
        job = dispatcher.submit("program")
        if turn % 2:
            del one.held[job.number]
            dispatcher.finish(one, job, ran(0.01))
        dispatcher.remove_worker(one, "it was lost")
        dispatcher.cancel(job)
    assert not left_out


def test_a_task_takes_along_what_it_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name in (
        "data/one.npz",
        "data/deep/two.npz",
        "data/.hidden",
        "data/pip.conf",
        "cities.csv",
        "other.csv",
        ".env",
    ):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(task_files, "PIECE", 10)
    task = tmp_path / "task.py"
    task.write_text("data_files = ('cities.csv', 'data')")
    found = files_of_task(task, ("cities.csv", "data"))
    assert sorted(found.files) == ["cities.csv", "data/deep/two.npz", "data/one.npz", "task.py"]
    unpacking = Unpacking(tmp_path / "there")
    for name, piece in found.pieces():
        unpacking.write(name, piece)
    assert unpacking.hash == found.hash
    assert (tmp_path / "there" / "data" / "deep" / "two.npz").read_text() == "data/deep/two.npz"
    assert files_of_task(tmp_path / "there" / "task.py", ("cities.csv", "data")).hash == found.hash
    assert TaskFiles({**found.files, "cities.csv": b"other"}).hash != found.hash


@given(st.lists(st.integers(0, 5000) | st.sampled_from(["runs", "secrets", "a/b"])))
@example([254, 255, 256, 257, 498, 499, 500, 4095, 4096, 4097, "runs", "secrets"])
def test_nothing_that_a_tasks_text_says_is_sent_and_no_length_of_it_matters(texts: list[int | str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        for name in ("runs", "secrets"):
            (Path(place) / name).mkdir()
            (Path(place) / name / "file").touch()
        task = Path(place) / "task.py"
        task.write_text(f"TEXTS = {[each if isinstance(each, str) else 'x' * each for each in texts]!r}")
        assert files_of_task(task, ()).files.keys() == {"task.py"}


@given(st.text(max_size=600) | st.integers(200, 5000).map("x".__mul__))
@example("../x")
@example("data/../../x")
@example("/etc/passwd")
@example(".env")
@example("data/pip.conf")
@example("no/such\0")
def test_a_data_file_that_cannot_be_sent_is_named_whatever_its_text(text: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        task = Path(place) / "task.py"
        task.touch()
        with pytest.raises(TaskError, match=r"the task's data_files name"):
            files_of_task(task, (text,))


def test_the_examples_can_be_sent() -> None:
    examples = Path(__file__).parents[2] / "docs" / "examples"
    for task in examples.glob("*.py"):
        found = files_of_task(task, TaskReference(str(task)).load().data_files)
        assert found.files.keys() == {task.name}


def test_what_is_too_much_to_be_sent_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_files, "LARGEST", 50)
    (tmp_path / "task.py").touch()
    (tmp_path / "large").write_bytes(bytes(60))
    with pytest.raises(TaskError, match="too much for workers of a cluster"):
        files_of_task(tmp_path / "task.py", ("large",))


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "../x", "a/../../x"])
def test_no_file_is_unpacked_outside_of_its_folder(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be named"):
        Unpacking(tmp_path).write(path, b"")


def test_an_evaluator_takes_its_folder_along_but_for_hidden_files_and_runs() -> None:
    file = file_of("openevolve", "circles/evaluator.py")
    assert {"evaluator.py", "initial.py"} <= files_of_evaluator(file, ()).files.keys()
    assert not files_of_evaluator(file, [file.folder]).files


def test_results_and_orders_come_as_they_were_sent() -> None:
    ending = ProcessEnd(7, 256, "cpu", 0.5, 1 << 20)
    for sent in (
        RawResult(ending, b"frame"),
        RawResult(ending, None, (ProcessEnd(7, 9, "", 1.0, 0, 2, 5, 0.5), ending)).beside_others(),
    ):
        assert results_of([as_values(7, sent)], 5) == [(7, sent)]
    order = Order("functions", "x:y", "held-out", False, "hash", "proof", limits=Limits(1.0, 100, 3))
    assert Order.from_json(order.to_json()) == order


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5) | st.integers(0, 9), inner, max_size=3)
    ),
)
"""Whatever MessagePack can say."""
ENDINGS = st.lists(st.integers(-2, 1 << 17) | st.sampled_from(["", "cpu", "x"]) | st.floats(), min_size=3, max_size=5)


@given(
    st.one_of(
        PLAIN, st.lists(st.tuples(st.integers(), ENDINGS, st.none() | st.binary(), st.none() | ENDINGS).map(list))
    )
)
def test_whatever_a_worker_says_of_programs_is_read_or_refused(said: Any) -> None:
    for read in (failures_of, lambda said: results_of(said, 5)):
        try:
            found = read(said)
        except Garbage:
            continue
        for _, ran in found:
            if isinstance(ran, RawResult):  # then it can be judged
                frame_of(ran, Limits())
                assert ran.frame is None or len(ran.frame) <= 5


@given(
    st.binary(max_size=60) | PLAIN.map(msgpack.packb).flatmap(lambda data: st.just(data[:-1]) | st.just(data + b"\xc1"))
)
def test_whatever_bytes_come_are_plain_values_or_refused(data: bytes) -> None:
    with suppress(Garbage):
        msgpack.packb(_unpacked(data))


def test_a_machine_does_not_differ_from_itself() -> None:
    here = platform_facts()
    assert differing_facts(here, here) == []
    assert differing_facts(here, {**here, "numba": "0.1"}) == [f"numba 0.1 there, {here['numba']} here"]
    assert differing_facts({**here, "cpu": "SSE"}, {**here, "cpu": "SSE AVX"}) == [
        "instruction sets of the processors, only there: AVX"
    ]
    assert differing_facts(here, {})
