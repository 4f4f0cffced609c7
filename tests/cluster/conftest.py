from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.cluster import DaskCluster


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip these tests where the extra `dask` is missing, which the extra `test` includes, and say so."""
    return None if find_spec("distributed") else _Skipped.from_parent(parent, path=module_path)


class _Skipped(pytest.Module):
    def collect(self) -> list[pytest.Item]:
        pytest.skip("the package distributed is missing: pip install 'behavesim[dask]'", allow_module_level=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with a worker of two places, in a thread of this process, for tests that leave it.

    It ends with the module: the thread draws from `random`, for which Hypothesis would blame the strategies of others.
    """
    from distributed import LocalCluster  # loaded late: it may be missing

    here = {"host": "127.0.0.1", "protocol": "tcp", "processes": False}
    # without an address it would take port 8787, which a scheduler of another process may have
    here |= {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    folder = tmp_path_factory.mktemp("cluster")
    with LocalCluster(1, threads_per_worker=2, memory_limit=0, local_directory=folder, **here) as running:
        yield running.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler's process, without workers at first, which tests join and kill."""
    with DaskCluster.of(tmp_path_factory.mktemp("cluster")) as running:
        yield running
