"""A cluster of one's own on this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from behavesim.base.config import Settings
from behavesim.base.errors import SandboxError, UsageError
from behavesim.cluster import schedulers
from behavesim.cluster.schedulers import scheduler_of
from behavesim.engine.build import judge_of, start_shared_cluster
from behavesim.task import TaskReference
from behavesim.task.verdict import Verdict
from tests.crash.processes import FEW_CITIES


async def test_a_local_cluster_has_no_key_is_shared_and_ends_with_its_last_user(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = Settings(task=FEW_CITIES, workers="dask:1", allow_weak_isolation=True)
    task = TaskReference(FEW_CITIES).load()
    async with start_shared_cluster("dask:1") as variables:
        address = variables["DASK_BEHAVESIM__LOCAL_CLUSTER"]
        assert address.startswith("tls://127.0.0.1:")
        for split in ("search", "validation"):
            async with judge_of(settings, task, split) as judge:  # type: ignore[arg-type]
                assert isinstance(await judge.evaluate(task.template), Verdict)
        numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
        processes = [pid for pid in numbers if _is_of_our_cluster(pid)]
        assert len(processes) >= 2
        assert not any(b"sk-secret" in Path(f"/proc/{pid}/environ").read_bytes() for pid in processes)
    while [pid for pid in processes if _about(pid)[0]]:  # on a busy machine the last may end a moment later
        await asyncio.sleep(0.05)
    assert "1 worker, 1 place" in capfd.readouterr().err


def _is_of_our_cluster(pid: int) -> bool:
    """Whether this process has started it: other tests may have clusters of their own at the same time."""
    given, parent = _about(pid)
    ours = parent == os.getpid() and b"behavesim.cluster.schedulers" in given
    return ours or (b"multiprocessing" in given and _is_of_our_cluster(parent))


def _about(pid: int) -> tuple[bytes, int]:
    """The command line of a process, empty once it has ended, and its parent's number."""
    try:
        given = Path(f"/proc/{pid}/cmdline").read_bytes()
        return given, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return b"", 0


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "no local cluster starts; `python -m behavesim.cluster.schedulers 1` says why"),
        ("exec sleep 600", "no local cluster starts within 0.2 s"),
    ],
)
async def test_a_local_cluster_that_does_not_start_is_given_up_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    (tmp_path / "python").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\n{script}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(schedulers, "START_S", 0.2)
    monkeypatch.setattr(schedulers, "END_S", 0.1)
    with pytest.raises(SandboxError, match=said):
        async with schedulers.start_local_cluster("dask:1"):
            pass
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_tls_needs_certificates() -> None:
    with pytest.raises(UsageError, match="tls:// needs certificates in Dask's configuration"):
        async with scheduler_of("tls://127.0.0.1:1"):
            pass


def test_without_dask_a_cluster_is_refused_and_nothing_else() -> None:
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = sys.modules['msgpack'] = None\n"
        "from behavesim_cli.app import main\n"
        "sys.argv = ['behavesim', 'run', 'tsp', '--workers', 'dask', '--proposer', 'genetic']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "a cluster needs the package" in done.stderr and "pip install 'behavesim[dask]'" in done.stderr


@pytest.mark.parametrize("workers", [1, 64, "dask", "dask:8", "dask://10.0.0.1:8786", "tls://node-7.cluster:80"])
def test_workers_are_a_number_or_a_cluster(workers: int | str) -> None:
    assert Settings(task="tsp", workers=workers).workers == workers


@pytest.mark.parametrize(
    "workers", [0, -1, True, 1.5, "", "das", "dask:0", "dask:x", "dask://host", "http://h:1", "ray"]
)
def test_other_workers_are_refused(workers: object) -> None:
    with pytest.raises(ValueError, match=r"should be a number of at least 1, dask, dask:N, dask://HOST:PORT or tls"):
        Settings(task="tsp", workers=workers)  # type: ignore[arg-type]
