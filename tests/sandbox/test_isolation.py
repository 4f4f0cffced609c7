"""The isolation level is what a self-test finds, in every state that a machine can be in."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from behavesim.base.errors import SandboxError, UsageError
from behavesim.sandbox import connection, namespaces
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.pool import Pool
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Solved
from tests.sandbox.conftest import cities_in
from tests.sandbox.outside import REPOSITORY, processes_naming

HONEST = "def order(points):\n    return points.argsort()\n"
LEVELS = {
    (): "process",
    ("namespaces",): "process",
    ("landlock",): "partial",
    ("seccomp",): "partial",
    ("landlock", "seccomp"): "strong",
    LAYERS: "strong+",
}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TaskReference:
    """The task of `held`, under a path that only its processes name."""
    return cities_in(tmp_path_factory.mktemp("task"))


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=LEVELS, ids=[" and ".join(each) or "none" for each in LEVELS]
)
async def held(request: pytest.FixtureRequest, task: TaskReference) -> AsyncIterator[tuple[tuple[str, ...], Pool]]:
    """Some layers, and a pool that has those."""
    layers: tuple[str, ...] = request.param
    async with Pool(task, "search", 1, allow_weak_isolation=True, layers=layers, preloaded=()) as pool:
        yield layers, pool


@pytest.mark.asyncio(loop_scope="module")
async def test_the_level_is_that_of_the_layers_that_hold(held: tuple[tuple[str, ...], Pool]) -> None:
    layers, pool = held
    assert pool.isolation == LEVELS[layers]
    assert isinstance(await pool.evaluate(HONEST), Solved)
    notes = " ".join(pool.notes).lower()
    assert all(layer in notes for layer in set(LAYERS) - set(layers) - {"user"})


AS, DATA, SIGPENDING, QUEUE = 9, 2, 11, 12
SUBREAPER, DUMPABLE = ["prctl", 36, "EINVAL"], ["prctl", 4, "EINVAL"]
LACKING: dict[str, tuple[list[list[Any]], str, str, str]] = {
    # the calls that fail, the levels of functions and of evaluators, and what the notes say
    "no Landlock": (
        [["landlock_create_ruleset", None, "ENOSYS"]],
        "partial",
        "partial",
        "Landlock does not hold .landlo",
    ),
    "Landlock forbids": (
        [["landlock_restrict_self", None, "ENOSYS"]],
        "partial",
        "partial",
        "Landlock does not hold; it",
    ),
    "no seccomp": ([["prctl", 22, "EINVAL"]], "partial", "partial", "seccomp does not hold"),
    "no namespace left": (
        [["unshare", None, "ENOSPC"]],
        *(
            "strong",
            "partial",
            r"no user namespaces here \(user.max_user_namespaces is \d+\): level strong instead of strong",
        ),
    ),
    "no way back": (
        [["setns", None, "EINVAL"]],
        "strong",
        "partial",
        r"no namespaces here \(setns: Invalid argument\)",
    ),
    "no read-only mounts": ([["mount_setattr", None, "ENOSYS"]], "strong+", "partial", ""),
    "neither subreaper nor capset nor limits of memory": (
        [SUBREAPER, ["capset", None, "ENOSYS"], ["prlimit64", AS, "EPERM"], ["prlimit64", DATA, "EPERM"]],
        "strong+",
        "strong+",
        r"go without: (?=.*the loss of capabilities \(capset).*RLIMIT_AS",
    ),
    "no pidfds": ([["pidfd_open", None, "ENOSYS"]], "strong+", "none", ""),
    "as gVisor": (
        [
            *(SUBREAPER, DUMPABLE, ["landlock_create_ruleset", None, "ENOSYS"], ["setns", None, "EINVAL"]),
            *(["mount_setattr", None, "ENOSYS"], ["prlimit64", SIGPENDING, "EPERM"], ["prlimit64", QUEUE, "EPERM"]),
        ],
        *("partial", "partial", "go without: protection from being traced"),
    ),
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are those of x86-64")
def test_a_kernel_that_lacks_a_call_gives_the_level_that_holds_and_programs_run(cities: TaskReference) -> None:
    asked = json.dumps({name: calls for name, (calls, *_) in LACKING.items()})
    command = (sys.executable, "-m", "tests.sandbox.lacking", cities.text, asked)
    said = subprocess.check_output(command, cwd=REPOSITORY, text=True)
    found = dict(json.loads(line) for line in said.splitlines())
    for name, (_, level, level_of_evaluators, note) in LACKING.items():
        functions, evaluators = found[name]["functions"], found[name]["evaluators"]
        assert (functions[0], functions[2], evaluators[0]) == (level, True, level_of_evaluators), (name, found[name])
        assert re.search(note, " ".join(functions[1])), (name, functions)
        assert evaluators[2] is True or "the kernel lacks pidfd_open" in evaluators[2], (name, evaluators)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EMFILE, r"ulimit -n, -u"),
        (errno.EAGAIN, r"ulimit -n, -u"),
        (errno.ENOMEM, "no memory for another process"),
        (errno.ENOSPC, r"no room for a temporary file in /full .*set TMPDIR"),
        (errno.EROFS, r"no room for a temporary file in /full .*set TMPDIR"),
        (errno.ENOENT, r"no room for a temporary file in /full .*set TMPDIR"),
        (errno.E2BIG, "the task's description is longer than 128 kB"),
        (errno.EIO, "the sandbox cannot be started: .*Input/output error"),
    ],
)
async def test_what_the_machine_has_too_little_of_is_named(
    cities: TaskReference, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def failing(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setenv("TMPDIR", "/full")
    monkeypatch.setattr(connection, "_start", failing)
    with pytest.raises(SandboxError, match=says) as raised:
        async with Pool(cities, "search", 1, preloaded=()):
            pass
    assert ("ulimit" in str(raised.value)) == ("ulimit" in says)


def own_wall(task: TaskReference) -> str:
    """The command of a wall that shows Python, this repository and the task."""
    shown = (sys.prefix, sys.base_prefix, REPOSITORY, Path(task.text).parent)
    return shlex.join([sys.executable, str(REPOSITORY / "tests/sandbox/own_wall.py"), *map(str, shown), "--"])


async def test_a_wall_of_the_sites_own_is_tried_and_recorded(cities: TaskReference) -> None:
    async with Pool(cities, "search", 1, layers=(), preloaded=(), wall=own_wall(cities)) as pool:
        assert pool.isolation == "walled"
        assert pool.notes[-1] == "inside a wall of the site's own, which holds"
        assert isinstance(await pool.evaluate(HONEST), Solved)


async def test_a_wall_that_does_not_hold_is_found_out(cities: TaskReference) -> None:
    with pytest.raises(
        UsageError, match=r"level 'process'.*the wall does not hold.*/behavesim-.*the network.*processes"
    ):
        async with Pool(cities, "search", 1, layers=(), preloaded=(), wall="env"):
            pass
    async with Pool(cities, "search", 1, preloaded=(), wall="env") as pool:
        assert pool.isolation.startswith("strong")
        assert "the wall does not hold" in pool.notes[-1]


WITHOUT_LINUX = """
import ctypes, resource
from behavesim.sandbox import kernel

del resource.RLIMIT_SIGPENDING, resource.RLIMIT_MSGQUEUE
kernel._libc = lambda: ctypes.CDLL
import behavesim.engine.build
"""


def test_the_sandbox_can_be_imported_where_the_system_has_no_calls_of_linux() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_LINUX], cwd=REPOSITORY, check=True)


UNCONFINED = """
import os
from behavesim.sandbox import isolation, layers
from behavesim.sandbox.limits import Limits

confinement = layers.Confinement(Limits(), os.getpid(), 0, 1 << 20)
with isolation.attempts_to_reach_outside() as attempts:
    inner = isolation.OF_FUNCTIONS.namespaces
    print(*[isolation.prevents(confinement, (attempt,)) for attempt in (*attempts, inner)])
"""


def test_without_layers_a_child_reaches_what_the_self_test_tries_to_reach() -> None:
    said = subprocess.check_output([sys.executable, "-c", UNCONFINED], cwd=REPOSITORY, text=True)
    assert said.split() == ["False"] * 4


@pytest.mark.parametrize("layers", [("landlock",), ("seccomp",)])
async def test_weak_isolation_is_refused_with_what_is_missing_unless_it_is_allowed(
    cities: TaskReference, layers: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match=r"(Landlock|seccomp) does not hold.*--allow-weak-isolation"):
        async with Pool(cities, "search", 1, layers=layers, preloaded=()):
            pass
    assert processes_naming(cities.text) == []


PROBES = {
    "landlock": "def order(points): return len(open('/etc/passwd').read()) * [0]\n",
    "seccomp": "import socket\ndef order(points): return [socket.socket().fileno()]\n",
    "namespaces": "import os\ndef order(points): return [os.getpid()]\n",
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
async def test_each_layer_forbids_on_its_own_what_passes_without_it(
    held: tuple[tuple[str, ...], Pool], layer: str
) -> None:
    layers, pool = held
    ended = await pool.evaluate(PROBES[layer])
    if layer in layers:
        assert isinstance(ended, Failure)
        assert ended.reason == "forbidden"
    else:
        assert isinstance(ended, Solved), ended


async def test_in_a_namespace_every_program_is_process_one(cities: TaskReference) -> None:
    async with Pool(cities, "search", 2, allow_weak_isolation=True, layers=("namespaces",), preloaded=()) as pool:
        for solved in await asyncio.gather(*[pool.evaluate(PROBES["namespaces"]) for _ in range(4)]):
            assert isinstance(solved, Solved)
            assert [each.item() for each in solved.solutions] == [1, 1]


SLEEP = """
import signal, time

def order(points):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    time.sleep(1000)
"""
THREADS = """
import signal, threading, time

def order(points):
    for _ in range(20):
        try:
            threading.Thread(target=time.sleep, args=(1000,)).start()
        except RuntimeError:
            pass
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    time.sleep(1000)
"""


async def seen_from_outside(pool: Pool, cities: TaskReference, source: str) -> dict[str, str]:
    """What the kernel says of a program's process once that ignores SIGUSR1."""
    idle = processes_naming(cities.text)
    running = asyncio.create_task(pool.evaluate(source))
    while not (new := set(processes_naming(cities.text)) - set(idle)):
        await asyncio.sleep(0.01)
    process = new.pop()
    while not int((said := status(process))["SigIgn"], 16) & 1 << signal.SIGUSR1 - 1:
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    return said


def status(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


@pytest.mark.parametrize("layers", [("seccomp",), LAYERS], ids=" and ".join)
async def test_a_program_has_one_thread_whoever_it_runs_as(cities: TaskReference, layers: tuple[str, ...]) -> None:
    async with Pool(cities, "search", 1, allow_weak_isolation=True, layers=layers, preloaded=()) as pool:
        assert (await seen_from_outside(pool, cities, THREADS))["Threads"] == "1"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_has_no_capabilities_even_where_it_is_root(
    held: tuple[tuple[str, ...], Pool], task: TaskReference
) -> None:
    said = await seen_from_outside(held[1], task, SLEEP)
    assert {said[f"Cap{kind}"] for kind in ("Eff", "Prm", "Inh", "Amb")} == {"0" * 16}


@pytest.mark.parametrize(
    ("limit", "says"),
    [("-n 24", "Solved.* strong"), ("-v 900000", "ulimit -v.* 2048"), ("-n 10", "ulimit -n")],
)
async def test_what_a_shell_limits_is_kept_or_named_and_no_layer_is_blamed(
    cities: TaskReference, limit: str, says: str
) -> None:
    script = (
        "import asyncio, sys\nfrom behavesim.sandbox.pool import Pool\nfrom behavesim.task import TaskReference\n"
        "async def main():\n    async with Pool(TaskReference(sys.argv[1]), 'search', 1, preloaded=()) as pool:\n"
        f"        print(await pool.evaluate({HONEST!r}), pool.isolation)\nasyncio.run(main())\n"
    )
    limited = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'ulimit {limit} && exec "$0" "$@"', sys.executable, "-c", script, cities.text),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=REPOSITORY,
    )  # fmt: skip
    said = (await limited.communicate())[0].decode()
    assert re.search(says, said.splitlines()[-1]), said
    assert "Landlock" not in said


STRAY = """
import os, time

def order(points):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    return points
"""


@pytest.mark.parametrize("layers", [(), ("namespaces",)])
async def test_what_a_program_leaves_behind_is_killed_even_without_a_filter(
    cities: TaskReference, layers: tuple[str, ...]
) -> None:
    async with Pool(cities, "search", 2, allow_weak_isolation=True, layers=layers, preloaded=()) as pool:
        idle = processes_naming(cities.text)
        for _ in range(3):
            assert isinstance(await pool.evaluate(STRAY), Solved)
        assert processes_naming(cities.text) == idle


DAEMON = """
import asyncio, sys
from behavesim.sandbox.pool import Pool
from behavesim.task import TaskReference

async def main(task, layers):
    async with Pool(TaskReference(task), "search", 3, allow_weak_isolation=True, layers=layers, preloaded=()) as pool:
        print("ready", flush=True)
        await asyncio.gather(*[pool.evaluate(source) for source in sys.argv[3:]])

asyncio.run(main(sys.argv[1], tuple(filter(None, sys.argv[2].split()))))
"""
LOOP = "def order(points):\n    while True: pass\n"


@pytest.mark.parametrize("layers", [(), LAYERS], ids=["process", "strong+"])
async def test_a_daemon_that_is_killed_leaves_nothing(cities: TaskReference, layers: tuple[str, ...]) -> None:
    sources = (SLEEP, LOOP, STRAY.replace("return points", "time.sleep(1000)"))
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DAEMON, cities.text, " ".join(layers), *sources,
        stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY,
    )  # fmt: skip
    assert daemon.stdout is not None
    assert await daemon.stdout.readline() == b"ready\n"
    while len(processes_naming(cities.text)) <= 3:
        await asyncio.sleep(0.02)
    os.kill(daemon.pid, signal.SIGKILL)
    await daemon.wait()
    while processes_naming(cities.text):
        await asyncio.sleep(0.02)


FREEING = """
import resource
import numpy as np
for calls in range(40):
    several = [np.ones(60_000) for _ in range(8)]
    if calls == 19:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    several.clear()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have other settings")
def test_arrays_that_a_program_frees_with_each_call_are_not_given_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FREEING], env=connection.bare_environment(), capture_output=True, text=True
    )
    assert int(done.stdout) < 20 * 100, done  # of 20 calls with 900 pages each


async def test_keys_in_the_daemons_environment_do_not_reach_a_program(
    cities: TaskReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key")
    monkeypatch.setenv("SOME_TOKEN", "a-token")
    source = "import os\ndef order(points):\n    raise ValueError(sorted(os.environ))\n"
    async with Pool(cities, "search", 1, allow_weak_isolation=True, preloaded=()) as pool:
        failure = await pool.evaluate(source)
    assert isinstance(failure, Failure)
    assert "'PYTHONHASHSEED'" in failure.message
    assert "KEY" not in failure.message
    assert "TOKEN" not in failure.message


async def test_a_task_can_be_given_by_a_path_from_the_working_folder(
    cities: TaskReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(cities.text).parent)
    async with Pool(TaskReference("cities.py"), "search", 1, allow_weak_isolation=True, preloaded=()) as pool:
        assert isinstance(await pool.evaluate(HONEST), Solved)


def test_what_others_delete_while_a_folder_is_shown_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, hidden = tmp_path / "shown", {tmp_path / "shown/hidden"}
    folder.mkdir()
    for name in ("kept", "gone", "hidden"):
        (folder / name).touch()
    shown: list[str] = []

    def bind(path: Path, inside: Path) -> None:
        if path.name == "gone":
            path.unlink()  # as another process would, between the list of the folder and this step
            raise FileNotFoundError
        shown.append(path.name)

    monkeypatch.setattr(namespaces, "_bind", bind)
    namespaces._show(folder, tmp_path / "root", hidden)
    assert shown == ["kept"]
    monkeypatch.setattr(namespaces, "_bind", lambda *_: Path("/no/such/file").touch())
    with pytest.raises(FileNotFoundError):
        namespaces._show(folder, tmp_path / "root", hidden)
