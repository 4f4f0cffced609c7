"""A run watched in a real browser while it grows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from behavesim.application.serve import server, shelf
from tests.analysis.journals import feasible, started, write
from tests.reports.page.conftest import LONGEST_MS, chromium

pytestmark = pytest.mark.asyncio(loop_scope="module")
__all__ = ["chromium"]


async def test_all_tabs_follow_a_run_and_a_browser_holds_one_stream(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "POLL_S", 0.05)
    monkeypatch.setattr(shelf, "RENEW_S", 0.0)
    monkeypatch.setattr(shelf, "SHARE", 1e9)
    await asyncio.to_thread(write, tmp_path / "first", started(), feasible(0, 5.0))
    found = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(tmp_path, "127.0.0.1", 0, found.set_result))
    address = await found
    context = await chromium.new_context()
    context.set_default_timeout(LONGEST_MS)
    asked: list[str] = []
    said: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))

    first, second = await context.new_page(), await context.new_page()
    await first.goto(address)
    await first.get_by_role("link", name="first").click()
    await expect(first.get_by_role("link", name="All runs")).to_be_visible()
    while f"{address}events" not in asked:  # the first tab listens, and not the second
        await asyncio.sleep(0.01)
    await second.goto(f"{address}runs/first")
    await expect(second.locator("#summary")).to_contain_text("candidate 0")
    await asyncio.to_thread(write, tmp_path / "first", feasible(1, 3.0))
    for page in (first, second):
        await expect(page.locator("#summary")).to_contain_text("candidate 1")
    await first.bring_to_front()  # or it would be clicked when a tab behind another is drawn next, after two seconds
    await first.get_by_role("link", name="All runs").click()
    await expect(first.get_by_role("heading", name="Runs")).to_be_visible()
    await asyncio.to_thread(write, tmp_path / "first", feasible(2, 2.5))
    await expect(second.locator("#summary")).to_contain_text("candidate 2")

    await context.close()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert said == []
    assert all(url.startswith((address, "data:")) for url in asked)
    assert sum(url == f"{address}events" for url in asked) == 2  # the first tab's, and the second's once that is gone
