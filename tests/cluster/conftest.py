from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.cluster.processes import DaskCluster

if find_spec("distributed") is None:  # the extra `dask`, which the extra `test` includes
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler with two workers, each of one place, for tests that leave it as it is."""
    with DaskCluster.of(tmp_path_factory.mktemp("cluster"), "one", "two") as running:
        yield running
