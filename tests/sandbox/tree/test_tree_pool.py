"""Evaluations in the second profile: what they may do, what the limits end, and what is left of them (nothing)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import venv
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from behavesim.base.errors import SandboxError, TaskError
from behavesim.sandbox import keeper, namespaces, processes
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.verdict import Failure, Sent
from tests.sandbox.outside import NOBODY, processes_naming

pytestmark = pytest.mark.asyncio(loop_scope="module")
HERE = Path(__file__).parent
LIMITS = Limits(timeout_s=4.0, memory_mb=512, output_mb=1)
HASTY = replace(LIMITS, timeout_s=0.3)
"""For programs that never end."""


def tree_pool(
    loader: str = "load", readable: tuple[Path, ...] = (), hidden: tuple[Path, ...] = (), limits: Limits = LIMITS
) -> TreePool:
    place = f"tests.sandbox.tree.executes:{loader}"
    return TreePool(place, "hello", 2, limits, [HERE, *readable], hidden, allow_weak_isolation=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[TreePool]:
    async with tree_pool() as entered:
        yield entered


async def out(pool: TreePool, source: str) -> Any:
    sent = await pool.send(source)
    assert isinstance(sent, Sent), sent
    return json.loads(sent.data)


async def failure(pool: TreePool, source: str) -> Failure:
    sent = await pool.send(source)
    assert isinstance(sent, Failure), sent
    return sent


async def test_the_loader_gets_what_is_given(pool):
    assert await out(pool, "out = given") == "hello"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from concurrent.futures import ProcessPoolExecutor as P\nwith P(3) as p: out = list(p.map(abs, [-1]))", [1]),
        ("from concurrent.futures import ThreadPoolExecutor as P\nwith P(3) as p: out = list(p.map(abs, [-1]))", [1]),
        (
            "import subprocess\nout = subprocess.run('echo hi | cat', shell=True, capture_output=True).stdout.decode()",
            "hi\n",
        ),
        ("import subprocess, sys\nout = subprocess.run([sys.executable, '-c', 'exit(7)']).returncode", 7),
        ("import multiprocessing as m\nwith m.Manager() as g:\n d = g.dict(); d[1] = 2; out = d[1]", 2),
        ("import multiprocessing as m\nq = m.Queue()\nm.Process(target=q.put, args=(5,)).start(); out = q.get()", 5),
        ("import tempfile\nwith tempfile.TemporaryFile() as f: out = f.write(b'abc')", 3),
        ("import asyncio\nasync def f(): return 4\nout = asyncio.run(f())", 4),
    ],
    ids=["processes", "threads", "shell", "python", "manager", "queue", "files", "asyncio"],
)
async def test_an_evaluation_may_start_what_it_needs(pool, source, expected):
    assert await out(pool, source) == expected


async def test_what_one_evaluation_writes_the_next_does_not_see(pool):
    assert await out(pool, "open('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w'); out = 1") == 1
    assert await out(pool, "import os\nout = 'left' in os.listdir('/tmp') + os.listdir('/dev/shm')") is False


@pytest.mark.parametrize(
    "source",
    [
        "open('/usr/x', 'w')",
        "open('/x', 'w')",
        f"open({str(HERE / 'x')!r}, 'w')",
        "import socket; socket.socket(socket.AF_INET)",
        "import socket; socket.create_connection(('127.0.0.1', 22))",
        f"open({str(HERE.parents[2] / 'pyproject.toml')!r})",
        "import os; os.kill(os.getppid(), 0) if os.getppid() else open('/none')",
        "import ctypes, os\nif ctypes.CDLL(None).unshare(0x10000000): raise OSError",
        "import ctypes\nif ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, b''): raise OSError",
        "open('/proc/self/comm', 'w')",
    ],
)
async def test_what_is_forbidden_raises(pool, source):
    if pool.isolation != "strong+":
        pytest.skip(f"the machine isolates at level {pool.isolation} only")
    assert "raised" in await out(pool, source)


async def test_hidden_files_do_not_exist_even_if_they_are_made_later(tmp_path):
    (tmp_path / "data.txt").write_text("seen")
    runs = tmp_path / "runs"
    async with tree_pool(readable=(tmp_path,), hidden=(runs,)) as pool:
        runs.mkdir()
        (runs / "run.db").write_text("secret")
        assert await out(pool, f"out = open({str(tmp_path / 'data.txt')!r}).read()") == "seen"
        if pool.isolation == "strong+":
            assert "raised" in await out(pool, f"open({str(runs / 'run.db')!r})")


KEYS = (".env", ".netrc", "pip.conf", "credentials")
READABLE = """
import sys
from pathlib import Path
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox import layers, namespaces

folder = Path(sys.argv[1])
namespaces.SYSTEM, namespaces.SHARED = (*namespaces.SYSTEM, str(folder / "opt")), (str(folder / "opt"),)
confined = layers.prepare_tree(LAYERS, Limits(), (folder / "evaluator",), (), 1)
if confined.own_pids is None:
    sys.exit("no namespaces: " + confined.failed["namespaces"])
print(*sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()), sep=chr(10))
"""


async def test_no_file_of_keys_can_be_read_in_any_folder_that_is_shown(tmp_path):
    tmp_path.chmod(0o755)
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    folders = ("venv", "opt", "opt/app", "opt/app/conf", "evaluator", "evaluator/a/b/c/d/e")
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name in (*KEYS, "plain.txt"):
            (tmp_path / folder / name).write_text("secret")
    closed = tmp_path / "opt/closed"
    closed.mkdir()
    for name in (*KEYS, "plain.txt"):
        (closed / name).write_text("secret")
    if os.geteuid() == 0:  # root finds the keys in it, and may not enter it once it has entered namespaces
        os.chown(closed, NOBODY - 1, NOBODY - 1)
        closed.chmod(0o700)
    else:  # the names in it can be read, and nothing else
        closed.chmod(0o400)
    found = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", READABLE, str(tmp_path)],
        env={"PYTHONPATH": str(HERE.parents[2])}, text=True, capture_output=True,
    )  # fmt: skip
    if found.stderr.startswith("no namespaces") and str(tmp_path) not in found.stderr:
        pytest.skip(f"this machine has {found.stderr}")
    seen = set(found.stdout.split())
    assert "venv/pyvenv.cfg" in seen, found.stderr
    assert {each for each in seen if each.endswith(KEYS)} == set()
    assert {each for each in seen if each.endswith("plain.txt")} == {f"{each}/plain.txt" for each in folders[1:]}


async def test_a_folder_that_is_too_large_to_be_looked_through_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(namespaces, "MOST_ENTRIES", 3)
    for name in "abcde":
        (tmp_path / name).touch()
    with pytest.raises(SandboxError, match="folder of its own"):
        list(namespaces.secrets(tmp_path))


TERMINAL = Path("/dev/tty")
"""A character device that every machine has, in place of a GPU's."""


async def test_a_device_is_there_if_it_is_named_and_only_then(pool):
    source = (
        f"import os, stat\nout = stat.S_ISCHR(os.stat({str(TERMINAL)!r}).st_mode) and os.access('/dev/tty', os.R_OK)"
    )
    given = ("tests.sandbox.tree.executes:load", "hello", 1, LIMITS, [HERE])
    async with TreePool(*given, allow_weak_isolation=True, devices=(str(TERMINAL),)) as with_device:
        assert await out(with_device, source) is True
        assert await out(with_device, "import os\ntry: os.open('/dev/tty', 0)\nexcept OSError as e: out = e.errno") == 6
    if pool.isolation == "strong+":
        assert "No such file" in (await out(pool, source))["raised"]


async def test_an_evaluation_that_may_have_waited_for_a_device_is_run_again():
    retried: list[str] = []
    again = asyncio.Event()

    def postponed(reason: str, words: str) -> None:
        retried.append(reason)
        again.set()

    given = ("tests.sandbox.tree.executes:load", "hello", 1, HASTY, [HERE])
    async with TreePool(*given, allow_weak_isolation=True, devices=(str(TERMINAL),)) as with_device:
        waiting = asyncio.create_task(with_device.send("import time\ntime.sleep(1000)", postponed))
        async with asyncio.timeout(120):
            await again.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
    assert retried == ["clock"]


@pytest.mark.parametrize("path", ["/dev/mem", "/dev/none", "/etc/passwd", "/dev/loop0"])
async def test_what_is_no_device_for_evaluations_is_refused(path):
    given = ("tests.sandbox.tree.executes:load", "hello", 1, LIMITS, [HERE])
    with pytest.raises(SandboxError, match=r"(is no device that|cannot be used).*devices"):
        async with TreePool(*given, allow_weak_isolation=True, devices=(path,)):
            pass


async def test_empty_files_and_links_are_limited_too(pool):
    if pool.isolation != "strong+":
        pytest.skip(f"the machine isolates at level {pool.isolation} only")
    source = (
        "import os\nmade = []\nfor folder in ('/tmp', '/dev/shm'):\n n = 0\n try:\n"
        "  for n in range(80_000): os.symlink('x', f'{folder}/{n}') if n % 2 else os.mknod(f'{folder}/{n}')\n"
        " except OSError as error: made.append((n, error.strerror))\nout = made"
    )
    stopped = await out(pool, source)
    assert len(stopped) == 2
    for number, why in stopped:
        assert 60_000 < number < 1 << 16 and why == "No space left on device"


async def test_an_evaluator_may_write_temporary_files_while_it_loads_and_no_evaluation_sees_them():
    async with tree_pool("load_writing") as pool:
        assert await out(pool, "import os\nout = (given, 'left' in os.listdir('/tmp'))") == ["written", False]


async def test_no_key_is_in_the_environment(pool, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    assert "sk-planted" not in json.dumps(await out(pool, "import os\nout = dict(os.environ)"))


async def test_the_time_limit_holds_for_all_processes_together(pool):
    async with tree_pool(limits=HASTY) as hasty:
        found = await failure(hasty, "import os\nos.fork()\nwhile True: pass")
    assert found.reason == "timeout"
    sent = await pool.send(
        "import os, time\nif os.fork():\n os.wait()\nelse:\n while time.process_time() < 0.3: pass\n os._exit(0)"
    )
    assert sent.cpu_s > 0.25


SLEEPERS = (
    "import time\ntime.sleep(1000)",
    "import os, threading\nthreading.Thread(target=threading.Event().wait).start()\nos.system('sleep 1000')",
)
"""One sleeps, the other waits with all its processes and threads for what never comes."""


async def test_an_evaluation_that_sleeps_is_not_run_again_while_all_others_wait():
    retried: list[str] = []
    async with tree_pool(limits=HASTY) as hasty:
        asleep = [hasty.send(source, lambda reason, words: retried.append(reason)) for source in SLEEPERS]
        found = await asyncio.gather(*asleep)
    for sent in found:
        assert isinstance(sent, Failure) and sent.reason == "timeout" and "it slept or waited" in sent.message
    assert retried == []


@pytest.mark.parametrize(
    ("source", "awake"),
    [("import threading\ndef work():\n while True: pass\nthreading.Thread(target=work).start()", 1), ("input()", 0)],
    ids=["a thread works while the main thread waits", "all wait"],
)
async def test_the_threads_of_a_tree_that_work_are_counted(source: str, awake: int) -> None:
    def looked() -> int:
        return processes.threads_awake(processes.with_descendants(child.pid, processes.all_processes()))

    given = [sys.executable, "-c", f"print(flush=True)\n{source}"]
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdout.readline()
        assert any(looked() == awake for _ in range(5000)), "starting takes it a while"
        child.kill()


@pytest.mark.parametrize(
    ("wanted_s", "cpu_s", "slept"),
    [(0.0, 0.0, True), (1.0, 1.0, True), (2.0, 0.1, False), (0.0, 9.0, False)],
    ids=["asleep", "worked a little", "kept from a core", "worked between two looks"],
)
async def test_what_wanted_a_core_and_had_none_did_not_sleep(wanted_s: float, cpu_s: float, slept: bool) -> None:
    evaluation = keeper._Evaluation(0.0, 10.0, wanted_s=wanted_s)
    evaluation.cpu.most_s = cpu_s
    assert evaluation.slept(10.0, 10.0) is slept


async def test_the_memory_limit_holds_for_all_processes_together(pool):
    source = "import os, time\nos.fork(); os.fork(); os.fork()\nx = bytearray(100 << 20)\ntime.sleep(100)"
    assert (await failure(pool, source)).reason == "memory"


async def test_a_fork_bomb_ends_and_leaves_the_sandbox_working(pool):
    # small processes, and not many more than are allowed: the machine has others to serve
    bomb = "import os\nfor _ in range(600): os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\nos.wait()"
    assert (await failure(pool, bomb)).reason == "forbidden"
    assert await out(pool, "out = 1") == 1


async def test_a_hundred_processes_are_gone_with_the_evaluation(pool):
    source = (
        "import os, time, ctypes\nfor i in range(100):\n if os.fork() == 0:\n  os.setsid(); time.sleep(1000)\nout = 1"
    )
    assert await out(pool, source) == 1
    assert await out(pool, "import os\nout = len([p for p in os.listdir('/proc') if p.isdigit()])") <= 1


async def test_too_much_output_is_refused(pool):
    assert (await failure(pool, "out = 'x' * (2 << 20)")).reason == "output"


async def test_a_killed_evaluation_and_a_left_one_are_told(pool):
    assert (await failure(pool, "import os\nos._exit(3)")).reason == "exit"
    assert (await failure(pool, "import ctypes\nctypes.string_at(0)")).reason == "crash"


async def test_cancelling_kills_the_tree(pool):
    seconds = f"424242.{os.getpid()}"
    task = asyncio.create_task(pool.evaluate(f"import subprocess\nsubprocess.run(['sleep', '{seconds}'])"))
    while not processes_naming(seconds):
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    assert not processes_naming(seconds)


async def test_an_evaluator_that_starts_threads_when_loaded_is_refused():
    with pytest.raises(TaskError, match="threads"):
        async with tree_pool("load_threads"):
            pass


async def test_another_zygote_takes_the_place_of_a_dead_one(pool):
    zygote = await pool.runner._zygotes[True, False].connection()
    os.kill(zygote._process.pid, 9)
    assert await out(pool, "out = 1") == 1


@pytest.mark.parametrize(
    "message",
    [
        '{"job": 0}',
        '{"job": 0, "status": 65536, "killed": "", "cpu_s": 0, "peak_bytes": 0}',
        '{"job": 0, "status": 0, "killed": "", "cpu_s": 0, "peak_bytes": Infinity}',
    ],
    ids=["a process without its descriptor", "a status that is none", "endless memory"],
)
async def test_a_message_that_an_evaluator_forges_is_its_own_fault(message):
    forging = (
        "import __main__ as keeper\n"
        f"keeper.Nursery._fork = lambda self, *_: self._control.sendall({message!r}.encode() + b'\\n')"
    )
    place = "tests.sandbox.tree.executes:load_hostile"
    async with TreePool(place, forging, 2, LIMITS, [HERE], allow_weak_isolation=True) as pool:
        with pytest.raises(SandboxError, match="does it write to file descriptors"):
            await pool.send("out = 1")
