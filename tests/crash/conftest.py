"""A run to which nothing happens, for many tests to compare with."""

from __future__ import annotations

import asyncio

import pytest

from tests.crash.processes import CALM, Subject


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A finished run of CALM; it is only looked at."""
    subject = Subject(tmp_path_factory.mktemp("runs") / "calm", CALM)
    done = asyncio.run(subject.finish())
    assert done.code == 0, done.stderr
    return subject
