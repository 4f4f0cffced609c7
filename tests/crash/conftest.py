"""A run to which nothing happens, for many tests to compare with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.crash.processes import CALM, Subject
from tests.shared import shared


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A finished run of CALM; it is only looked at."""

    def make(runs: Path) -> None:
        done = asyncio.run(Subject(runs / "calm", CALM).finish())
        assert done.code == 0, done.stderr

    return Subject(shared(tmp_path_factory, "calm", make) / "calm", CALM)
