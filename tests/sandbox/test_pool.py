"""Programs run in the pool: what comes back, what a limit does, and what is left of them (nothing)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from behavesim.base.errors import SandboxError
from behavesim.sandbox import connection
from behavesim.sandbox.connection import _start
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Solved
from tests.sandbox import cities as module_of_cities
from tests.sandbox.conftest import cities_in
from tests.sandbox.outside import processes_naming

pytestmark = pytest.mark.asyncio(loop_scope="module")

HONEST = "import numpy as np\ndef order(points):\n    return np.argsort(points)\n"
SLEEP = "import time\ndef order(points):\n    time.sleep(1000)\n"
PAUSE = "import time\ndef order(points):\n    time.sleep(0.2)\n    return points\n"
SLOW_TO_GO = """
import time


class SlowToGo(np.ndarray):
    def __del__(self):
        time.sleep(0.2)


class SlowCities(Cities):
    def instances(self, split):
        return [np.copy(each).view(SlowToGo) for each in super().instances(split)]


task = SlowCities()
"""
SCIPY = tuple(map(int, version("scipy").split(".")[:2]))
LIMITS = Limits(timeout_s=10.0, memory_mb=256)
"""Time enough on a machine that is busy with others."""
COMPILING = Limits(timeout_s=30.0, memory_mb=1024)
"""For programs that numba compiles."""
HASTY = Limits(timeout_s=0.3, memory_mb=256)
"""For programs that never end."""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TaskReference:
    """The task of the shared pool, under a path that only its processes name."""
    return cities_in(tmp_path_factory.mktemp("task"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(task: TaskReference) -> AsyncIterator[Pool]:
    async with Pool(task, "search", 2, LIMITS, allow_weak_isolation=True, preloaded=(), scientific=()) as pool:
        yield pool


async def test_a_program_returns_a_solution_for_each_instance(pool: Pool, task: TaskReference) -> None:
    solved = await pool.evaluate(HONEST)
    assert isinstance(solved, Solved)
    for instance, solution in zip(task.load().instances("search"), solved.solutions, strict=True):
        assert np.array_equal(solution, np.argsort(instance))
    assert 0 < solved.cpu_s < LIMITS.timeout_s


@pytest.mark.parametrize(
    ("reason", "message", "source"),
    [
        ("memory", "memory", "import numpy as np\ndef order(points): return np.ones(10**9)\n"),
        ("crash", "killed by SIGSEGV", "import ctypes\nctypes.string_at(0)\n"),
        (
            *("crash", "SIGSEGV, near its limit of 256 MB of memory"),
            "import ctypes, numpy as np\nheld = np.ones(25 * 2**20)\nctypes.string_at(0)\n",
        ),
        ("exit", "sys.exit(3)", "import sys\nsys.exit(3)\n"),
        ("exit", "os._exit(4)", "import os\nos._exit(4)\n"),
        ("output", "8388608", "import numpy as np\ndef order(points): return np.ones(10**6)\n"),
        ("invalid-solution", "object", "def order(points): return [None]\n"),
        ("exception", "NameError: name 'x' is not defined (line 2)", "def order(points):\n    return x\n"),
        pytest.param(
            *(
                "exception",
                "NameError: name 'Tuple' is not",
                "def order(points: Tuple[int, ...]):\n    return points\n",
            ),
            marks=pytest.mark.skipif(sys.version_info >= (3, 14), reason="annotations are evaluated on demand"),
        ),
        ("exception", "SyntaxError: expected ':' (line 1)", "def order(points)\n"),
        ("exception", "defines no function 'order'", "def other(points): pass\n"),
    ],
)
async def test_each_failure_has_its_reason_and_a_message(pool: Pool, reason: str, message: str, source: str) -> None:
    failure = await pool.evaluate(source)
    assert isinstance(failure, Failure)
    assert failure.reason == reason
    assert message in failure.message
    assert failure.cpu_s > 0


async def test_a_program_that_never_ends_is_told_which_time_was_up(cities: TaskReference) -> None:
    async with Pool(cities, "search", 1, HASTY, allow_weak_isolation=True, preloaded=()) as pool:
        failure = await pool.evaluate("def order(points):\n    while True: pass\n")
    assert isinstance(failure, Failure)
    assert failure.reason == "timeout"
    assert "0.3 s of CPU" in failure.message
    assert failure.cpu_s > 0


BUSY = """
import time

def order(points):
    while time.process_time() < 0.2: pass
    return points
"""


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells how long a process waits for a core")
async def test_a_program_that_sleeps_is_not_run_again_while_all_others_wait(cities: TaskReference) -> None:
    postponed: list[str] = []
    async with Pool(cities, "search", 2, HASTY, allow_weak_isolation=True, preloaded=()) as pool:
        sleeping = asyncio.create_task(pool.evaluate(SLEEP, lambda reason, words: postponed.append(reason)))
        while not sleeping.done():
            assert isinstance(await pool.evaluate(HONEST), Solved)
        failure = await sleeping
    assert isinstance(failure, Failure) and failure.reason == "timeout"
    assert "2.6 s" in failure.message and failure.cpu_s > 0
    assert postponed == []


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells how long a process waits for a core")
async def test_a_program_that_others_keep_from_its_core_is_not_out_of_time(cities: TaskReference) -> None:
    cores = os.sched_getaffinity(0)
    core = min(cores)
    os.sched_setaffinity(0, {core})  # the sandbox inherits it, and at every level it must tell waiting from sleeping
    async with Pool(cities, "search", 1, HASTY, allow_weak_isolation=True, preloaded=()) as pool:
        os.sched_setaffinity(0, cores)
        with ExitStack() as stack:
            for _ in range(16):
                other = stack.enter_context(
                    subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
                )
                stack.callback(other.kill)
                os.sched_setaffinity(other.pid, {core})
            begun = time.monotonic()
            solved = await pool.evaluate(BUSY)
    assert time.monotonic() - begun > HASTY.wall_limit_s, "it was not kept waiting"
    assert isinstance(solved, Solved), solved


@pytest.mark.parametrize(
    "body",
    [
        "import threading\n    threading.Thread(target=print).start()",
        "from concurrent.futures import ThreadPoolExecutor\n    list(ThreadPoolExecutor(4).map(abs, points))",
        pytest.param(
            "import numpy as np, scipy.fft\n    return scipy.fft.fft(np.ones((64, 64)), workers=4)",
            marks=pytest.mark.skipif(SCIPY >= (1, 18), reason="scipy blames a std::vector"),
        ),
    ],
)
async def test_a_program_that_wants_threads_is_told_that_it_has_one(pool: Pool, body: str) -> None:
    failure = await pool.evaluate(f"def order(points):\n    {body}\n")
    if pool.isolation == "process":
        pytest.skip("no filter of calls")
    assert isinstance(failure, Failure)
    assert failure.reason == "forbidden"
    assert failure.message.endswith("; a program has one thread")


async def test_a_loop_that_numba_would_share_among_threads_is_run_by_one(cities: TaskReference) -> None:
    source = """
import numpy as np
from numba import njit, prange

@njit(parallel=True)
def total(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
    return s

def order(points):
    return [total(np.ones(10))]
"""
    async with Pool(cities, "search", 1, allow_weak_isolation=True, preloaded=()) as pool:
        solved = await pool.evaluate(source)
    assert isinstance(solved, Solved), solved
    assert [each.tolist() for each in solved.solutions] == [[10.0], [10.0]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def open_pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pool]:
    """A pool without a layer, in which programs may send signals."""
    task = cities_in(tmp_path_factory.mktemp("task"))
    async with Pool(task, "search", 1, LIMITS, allow_weak_isolation=True, layers=(), preloaded=()) as pool:
        yield pool


@pytest.mark.parametrize(
    ("number", "reason", "message"),
    [
        (9, "memory", "or it killed itself"),
        (15, "crash", "SIGTERM"),
        (40, "crash", "signal 40"),
        (64, "crash", "SIGRTMAX"),
    ],
)
async def test_a_program_killed_by_any_signal_is_rejected(
    open_pool: Pool, number: int, reason: str, message: str
) -> None:
    failure = await open_pool.evaluate(f"import os\ndef order(points):\n    os.kill(os.getpid(), {number})\n")
    assert isinstance(failure, Failure)
    assert (failure.reason, message in failure.message) == (reason, True)


async def test_the_line_of_an_exception_is_the_innermost_of_the_program(pool: Pool) -> None:
    source = """import numpy as np
def inner(a):
    return np.linalg.inv(a)
def order(points):
    return inner(np.zeros((2, 2)))
"""
    failure = await pool.evaluate(source)
    assert failure == Failure("exception", "LinAlgError: Singular matrix (line 3)", failure.cpu_s)


async def test_programs_that_seed_nothing_give_equal_results_in_every_zygote(cities: TaskReference) -> None:
    source = """
import random
import numpy as np
from numba import njit

@njit
def compiled():
    return random.random() + np.random.random()

def order(points):
    names = {"a", "b", "c", "d"}
    return [random.random(), random.Random().random(), np.random.rand(), np.random.default_rng().random(),
            np.random.RandomState().rand(), compiled(), "abcd".index(next(iter(names)))]
"""
    results = []
    for _ in range(2):
        async with Pool(cities, "search", 2, COMPILING, allow_weak_isolation=True, preloaded=()) as pool:
            results += [await pool.evaluate(source) for _ in range(2)]
    assert all(isinstance(each, Solved) for each in results)
    assert len({np.asarray(each.solutions).tobytes() for each in results}) == 1


async def test_programs_are_not_forked_with_what_finding_a_task_takes() -> None:
    async with Pool(TaskReference("tsp"), "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        failure = await pool.evaluate("import sys\nraise OSError('importlib.metadata' in sys.modules)\n")
    assert isinstance(failure, Failure)
    assert "OSError: False" in failure.message


async def test_only_programs_that_name_scipy_are_forked_with_it(cities: TaskReference) -> None:
    given = {"allow_weak_isolation": True, "preloaded": (), "scientific": ("scipy.special",)}
    async with Pool(cities, "search", 1, LIMITS, **given) as pool:
        for line, loaded in (("import scipy.special", True), ("import sys", False)):
            look = "import sys\nloaded = 'sci' + 'py.special' in sys.modules"
            solved = await pool.evaluate(f"{look}\n{line}\ndef order(points):\n    return [loaded]")
            assert isinstance(solved, Solved)
            assert bool(solved.solutions[0]) is loaded


async def test_what_a_task_computes_at_first_use_is_there_before_the_forks(tmp_path: Path) -> None:
    task = tmp_path / "tables.py"
    text = Path(module_of_cities.__file__).read_text(encoding="utf-8")
    text = text.replace("class Cities", "TABLES = []\n\n\nclass Cities")
    task.write_text(text.replace("        return np.asarray(function(instance))", "        " + "\n        ".join((
        "tables = len(TABLES)", "TABLES.append(function(instance))", "return np.array([tables])"
    ))))  # fmt: skip
    async with Pool(TaskReference(str(task)), "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        solved = await pool.evaluate(HONEST)
    assert isinstance(solved, Solved)
    assert [solution.tolist() for solution in solved.solutions] == [[1], [2]]


async def test_programs_meet_every_instance_whole_though_solve_uses_it_up(tmp_path: Path) -> None:
    task = tmp_path / "consuming.py"
    text = Path(module_of_cities.__file__).read_text(encoding="utf-8")
    text = text.replace(".rand(10) for", ".rand(10).tolist() for")
    task.write_text(text.replace("(function(instance))", "([instance.pop() for _ in range(len(instance))])"))
    async with Pool(TaskReference(str(task)), "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        for _ in range(2):
            solved = await pool.evaluate(HONEST)
            assert isinstance(solved, Solved)
            assert [solution.shape for solution in solved.solutions] == [(10,), (10,)]  # type: ignore[union-attr]


async def test_a_solution_of_megabytes_comes_back_whole(pool: Pool) -> None:
    solved = await pool.evaluate("import numpy as np\ndef order(points): return np.arange(500_000)\n")
    assert isinstance(solved, Solved)
    assert all(np.array_equal(each, np.arange(500_000)) for each in solved.solutions)


async def test_a_split_has_its_own_instances(cities: TaskReference) -> None:
    async with Pool(cities, "validation", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        solved = await pool.evaluate("def order(points): return points\n")
    assert isinstance(solved, Solved)
    assert np.array_equal(np.array(solved.solutions), cities.load().instances("validation"))


async def test_no_more_programs_run_at_once_than_there_are_workers(pool: Pool, task: TaskReference) -> None:
    idle = len(processes_naming(task.text))
    running = [asyncio.create_task(pool.evaluate(SLEEP)) for _ in range(6)]
    while len(processes_naming(task.text)) - idle < 2:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    assert len(processes_naming(task.text)) - idle == 2
    for each in running:
        each.cancel()
    await asyncio.wait(running)


async def test_cancelling_kills_the_program_before_it_returns(pool: Pool, task: TaskReference) -> None:
    idle = len(processes_naming(task.text))
    running = asyncio.create_task(pool.evaluate(SLEEP))
    while len(processes_naming(task.text)) == idle:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(processes_naming(task.text)) == idle
    assert isinstance(await pool.evaluate(HONEST), Solved)


async def test_closing_the_pool_leaves_no_process_and_no_file(cities: TaskReference) -> None:
    files = open_files()
    async with Pool(cities, "search", 2, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        running = asyncio.create_task(pool.evaluate(SLEEP))
        await pool.evaluate(HONEST)
        running.cancel()
        await asyncio.wait([running])
    assert processes_naming(cities.text) == []
    assert open_files() == files


async def test_closing_the_pool_waits_for_a_zygote_that_takes_its_time_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(connection, "_start", lambda *given: started.append(_start(*given)) or started[-1])
    slow = tmp_path / "slow.py"
    slow.write_text(Path(module_of_cities.__file__).read_text() + SLOW_TO_GO)
    async with Pool(TaskReference(str(slow)), "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()):
        pass
    assert [each.returncode for each in started] == [0]  # and not that of one who was killed


async def test_programs_in_flight_when_the_pool_closes_end_with_it(cities: TaskReference) -> None:
    async with Pool(cities, "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        running = asyncio.create_task(pool.evaluate(SLEEP))
        await asyncio.sleep(0.1)
    with pytest.raises(SandboxError, match="closed"):
        await running
    assert processes_naming(cities.text) == []


async def test_ctrl_c_in_the_terminal_is_not_the_zygotes(pool: Pool, task: TaskReference) -> None:
    for pid in processes_naming(task.text):
        assert os.getpgid(pid) != os.getpgid(0)
        os.kill(pid, signal.SIGINT)
    assert isinstance(await pool.evaluate(HONEST), Solved)


async def test_a_zygote_that_dies_is_replaced_and_its_programs_run_again(pool: Pool, task: TaskReference) -> None:
    before = processes_naming(task.text)
    running = [asyncio.create_task(pool.evaluate(PAUSE)) for _ in range(2)]
    await asyncio.sleep(0.1)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert all(isinstance(each, Solved) for each in await asyncio.gather(*running))
    await gone(before, task)
    assert isinstance(await pool.evaluate(HONEST), Solved)


async def gone(processes: list[int], task: TaskReference) -> None:
    """Wait until none of the processes is left: what is killed may end a moment later."""
    while set(processes) & set(processes_naming(task.text)):
        await asyncio.sleep(0.01)


async def test_a_zygote_that_goes_silent_is_replaced(cities: TaskReference, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("behavesim.sandbox.connection.GRACE_S", 0.1)
    patience_s = iter([0.1])
    monkeypatch.setattr(Limits, "wall_kill_s", property(lambda self: next(patience_s, 60.0)))
    async with Pool(cities, "search", 1, LIMITS, allow_weak_isolation=True, preloaded=()) as pool:
        before = processes_naming(cities.text)
        for pid in before:
            os.kill(pid, signal.SIGSTOP)
        assert isinstance(await pool.evaluate(HONEST), Solved)
        await gone(before, cities)


async def test_a_zygote_that_dies_twice_under_a_program_stops_the_run_and_blames_nobody(cities: TaskReference) -> None:
    async with Pool(cities, "search", 1, LIMITS, allow_weak_isolation=True, layers=(), preloaded=()) as pool:
        with pytest.raises(SandboxError, match="zygote died"):
            await pool.evaluate("import os\nos.kill(os.getppid(), 9)\ndef order(points): return points\n")
        assert isinstance(await pool.evaluate(HONEST), Solved)


async def test_a_task_that_cannot_be_loaded_is_named_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('of my own')\n")
    with pytest.raises(SandboxError, match="of my own"):
        async with Pool(TaskReference(str(tmp_path / "broken.py")), "search", 1):
            pass


async def test_a_task_that_starts_threads_is_refused(cities: TaskReference) -> None:
    path = Path(cities.text)
    path.write_text(
        path.read_text()
        + "\nimport threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
    )
    with pytest.raises(SandboxError, match="threads"):
        async with Pool(cities, "search", 1, allow_weak_isolation=True, preloaded=()):
            pass


async def test_a_pool_must_be_entered(cities: TaskReference) -> None:
    with pytest.raises(SandboxError, match="must be entered"):
        _ = Pool(cities, "search", 1, preloaded=()).isolation


async def test_a_hundred_and_sixty_mixed_programs_leak_nothing_and_are_all_judged_alike(
    pool: Pool, task: TaskReference
) -> None:
    mixture = {
        "solved": HONEST,
        "exception": "def order(points): return undefined\n",
        "exit": "import os\nos._exit(1)\n",
        "crash": "import ctypes\nctypes.string_at(0)\n",
        "invalid-solution": "def order(points): return [object()]\n",
        "output": "import numpy as np\ndef order(points): return np.zeros(10**6)\n",
        "memory": "import numpy as np\ndef order(points): return np.zeros(10**10)\n",
        "forbidden": "def order(points): return open('/etc/passwd')\n" if pool.isolation != "process" else "1/0",
    }
    await pool.evaluate(HONEST)
    files, processes = open_files(), processes_naming(task.text)
    kinds = [list(mixture)[number % len(mixture)] for number in range(160)]
    results = await asyncio.gather(*[pool.evaluate(mixture[kind]) for kind in kinds])
    reasons = [each.reason if isinstance(each, Failure) else "solved" for each in results]
    assert reasons == kinds if pool.isolation != "process" else "timeout" not in reasons
    assert open_files() == files
    assert processes_naming(task.text) == processes


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
