"""Neither workers and connections, nor which of them is faster, nor where a run runs changes what it finds."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.crash.deaths import SMALL
from tests.crash.processes import FEW_CITIES, Subject, carried_out
from tests.engine.toys import finished

pytestmark = pytest.mark.usefixtures("replies_read_once")


@pytest.mark.parametrize("method", ["funsearch+behavesim", "eoh"])
@pytest.mark.parametrize("window", [1, 32])
async def test_workers_connections_and_delays_change_nothing(method: str, window: int) -> None:
    shapes = [(1, 32), (4, 1)]
    settings = [{**SMALL, "method": method, "window": window, "workers": w, "connections": c} for w, c in shapes]
    runs = [await finished(each, random.Random(number)) for number, each in enumerate(settings)]
    assert len({run.state.digest() for run in runs}) == 1


HERE = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
THERE = {"PYTHONHASHSEED": "77", "LC_ALL": "C.UTF-8", "TZ": "America/St_Johns", "OMP_NUM_THREADS": "4"}


async def test_hash_seed_locale_time_zone_and_threads_change_nothing(tmp_path: Path) -> None:
    digests = set()
    for name, env, workers in (("here", HERE, "1"), ("there", THERE, "2")):
        settings = ("--set", "n_init=8", "--set", "restart_every=12", "--set", "recommend=false")
        arguments = (FEW_CITIES, "--budget", "16", "--workers", workers, *settings)
        subject = Subject(tmp_path / name, arguments, env, anew=True)
        ended = await subject.finish()
        assert ended.code == 0, ended.stderr
        digests.add(subject.digest)
    assert len(digests) == 1
    verified = await carried_out("verify", str(tmp_path / "here"), "--json", env=THERE)
    assert verified.code == 0, verified.stdout
    document = json.loads(verified.stdout)
    assert (document["run"], document["sound"], document["differences"], document["damage"]) == ("here", True, [], [])
    assert document["decisions"] > 2 * 16
    assert "verifying here" in verified.stderr
