"""A server of some runs, with a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from behavesim.application.serve import server
from tests.analysis.journals import feasible, rejected, started, stopped, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs, one of them of an experiment, and a file beside them that is nobody's business."""
    runs = tmp_path / "runs"
    write(runs / "first", started(), feasible(0, 5.0), rejected(1, "timeout", "</script><b>too long"))
    write(runs / "grid/second", started(method="niche"), feasible(0, 6.0), stopped("budget"))
    (tmp_path / "secret.txt").write_text("a secret")
    return runs


@pytest_asyncio.fixture
async def address(folder: Path) -> AsyncIterator[str]:
    """Where the runs are served, without the last stroke."""
    found = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(folder, "127.0.0.1", 0, found.set_result))
    yield (await found).rstrip("/")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[ClientSession]:
    """A client that keeps as many connections as it is asked for."""
    from aiohttp import TCPConnector

    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        yield session
