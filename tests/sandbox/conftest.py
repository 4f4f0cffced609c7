from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from behavesim.task import TaskReference

if sys.platform != "linux":  # they look into /proc
    collect_ignore = ["test_pool.py", "test_isolation.py", "test_siege.py"]


@pytest.fixture
def cities(tmp_path: Path) -> TaskReference:
    """The task under a path of its own, which all processes that work on it name in their command lines."""
    return cities_in(tmp_path)


def cities_in(folder: Path) -> TaskReference:
    shutil.copy(Path(__file__).parent / "cities.py", folder / "cities.py")
    return TaskReference(str(folder / "cities.py"))
