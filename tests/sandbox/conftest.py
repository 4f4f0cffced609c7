from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from behavesim.sandbox import connection
from behavesim.task import TaskReference

if sys.platform != "linux":  # they look into /proc
    collect_ignore = ["test_apart.py", "test_pool.py", "test_isolation.py", "test_siege.py"]


ANEW = (
    *("test_container", "test_isolation", "test_pool", "test_siege", "test_task_stripping", "test_tree_pool"),
    "test_tree_siege",
)
"""Tests that know zygotes by their command lines, or are of what is loaded: there they begin as they do for people."""


@pytest.fixture(autouse=True, scope="module")
def _zygotes_that_begin_anew(request: pytest.FixtureRequest) -> Iterator[None]:
    """In `ANEW` they begin as they do for people."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.stem in ANEW:
            patch.setattr(connection, "subprocess", subprocess)
        yield


@pytest.fixture
def cities(tmp_path: Path) -> TaskReference:
    """The task under a path of its own, which all processes that work on it name in their command lines."""
    return cities_in(tmp_path)


def cities_in(folder: Path) -> TaskReference:
    shutil.copy(Path(__file__).parent / "cities.py", folder / "cities.py")
    return TaskReference(str(folder / "cities.py"))
