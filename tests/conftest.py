from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, settings

import behavesim as bs
from behavesim.application.experiment import execution
from behavesim.engine import outcome
from behavesim.programs import extract as extracting
from behavesim.programs.extract import extract
from behavesim.sandbox import connection
from behavesim.sandbox.pool import Pool
from tests import experiments, forks
from tests.cli.command import Command
from tests.shared import shared

KERNELS = [f"behavesim.similarity.kernels.{name}" for name in ("prefix", "scalar", "euclidean")]


def pytest_configure() -> None:
    """Keep what Python compiles, as containers often forbid: tests start hundreds of processes that all import us.

    Let no sum of ours wait for a thread, as the command does: xdist's workers share the cores already. And try the same
    examples on every machine.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    patient = [HealthCheck.too_slow]  # it goes by the clock, which a busy machine lets run
    settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=patient)
    settings.load_profile("same")


def pytest_sessionstart() -> None:
    """Let the workers of xdist compile each kernel once: the others read it from numba's cache.

    It takes longer than a test may where the machine is busy.
    """
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        first = int(worker.removeprefix("gw")) % len(KERNELS)  # each begins with another file
        for name in KERNELS[first:] + KERNELS[:first]:
            with Path(find_spec(name).origin).open() as source:
                fcntl.flock(source, fcntl.LOCK_EX)
                import_module(name)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run the tests in the loop that the command runs in: it changes what it watches in other ways than asyncio's."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that are allowed the longest time: at the end, idle workers take over only short ones."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage only among what tests make: all that is loaded and collected stays to the end."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture(autouse=True, scope="session")
def _hung_up_on_and_interrupted() -> None:
    """SIGHUP and SIGINT do here what they do everywhere, though the tests be run under nohup or in the background."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _bound_as_needed() -> Iterator[None]:
    """Symbols are bound when they are called: to bind all takes a fifth of a zygote's start, and pays after a hundred
    programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(connection.VARIABLES, "LD_BIND_NOW")
        yield


@pytest.fixture(autouse=True, scope="session")
def _forked_zygotes() -> Iterator[None]:
    """Zygotes begin with what each of them would import; most of tests/sandbox do not."""
    with pytest.MonkeyPatch.context() as patch:
        if forks.ARE_POSSIBLE:
            patch.setattr(connection, "subprocess", forks)
        yield


@pytest.fixture(autouse=True, scope="session")
def _forked_readers() -> Iterator[None]:
    """Processes with limits that read replies begin with what they would import; those of test_limits do not."""
    with pytest.MonkeyPatch.context() as patch:
        if forks.ARE_POSSIBLE:
            patch.setattr(extracting, "subprocess", forks)
        yield


@pytest.fixture(autouse=True, scope="session")
def _forked_experiments() -> Iterator[None]:
    """The runs of experiments begin with what they would import; one test of them does not."""
    with pytest.MonkeyPatch.context() as patch:
        if forks.ARE_POSSIBLE:
            patch.setattr(execution, "asyncio", experiments.ASYNCIO)
        yield


@pytest.fixture
def replies_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken from a reply is remembered: toy searches are sent the same few replies thousands of times."""
    monkeypatch.setattr(outcome, "extract", _extracted_once)


_extracted_once = lru_cache(1000)(extract)


@pytest.fixture
def behavesim(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command in an empty folder, with no key and no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Command(monkeypatch, capfd)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, only to be copied: it has found what beats the template, and recommends that."""

    def make(runs: Path) -> None:
        given: dict[str, Any] = {"budget": 12, "seed": 4, "islands": 2, "fresh_evaluations": 3}
        bs.search_sync("tsp", proposer="genetic", runs_dir=runs, name="first", **given)

    return shared(tmp_path_factory, "made", make) / "first"


@pytest.fixture
def finished(behavesim: Command, made: Path) -> Command:
    """The command beside a copy of that run, `first`."""
    shutil.copytree(made, "runs/first")
    return behavesim


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text of each program that the sandbox has run so far, in order."""
    found: list[str] = []
    send = Pool.send

    async def noted(pool: Pool, source: str, *rest: Any) -> object:
        found.append(source)
        return await send(pool, source, *rest)

    monkeypatch.setattr(Pool, "send", noted)
    return found
