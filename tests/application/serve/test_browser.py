"""A run watched in a real browser while it grows."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from behavesim.application.serve import served_runs, server
from tests.analysis.journals import feasible, started, stopped, write
from tests.reports.page.conftest import LONGEST_MS, chromium

pytestmark = pytest.mark.asyncio(loop_scope="module")
__all__ = ["chromium"]


async def test_a_page_shows_the_end_of_a_run_that_came_while_it_fetched_an_earlier_version(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "POLL_S", 0.05)
    monkeypatch.setattr(served_runs, "RENEW_S", 0.0)
    monkeypatch.setattr(served_runs, "SHARE", 1e9)
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
    has_ended = False

    async def end_meanwhile(route: Route) -> None:
        nonlocal has_ended
        answer = await route.fetch()
        # The run ends before the page has the answer with candidate 1; another version may be fetched before it.
        if answer.status == 200 and not has_ended and len((await answer.json())["data"]["candidates"]["score"]) == 2:
            has_ended = True
            await asyncio.to_thread(write, tmp_path / "first", stopped("budget"))
            await asyncio.sleep(0.2)  # several polls
        await route.fulfill(response=answer)

    page = await context.new_page()
    await page.goto(address)
    await page.get_by_role("link", name="first").click()
    await expect(page.get_by_role("link", name="All runs")).to_be_visible()
    await page.route("**/document/**", end_meanwhile)
    await asyncio.to_thread(write, tmp_path / "first", feasible(1, 3.0))
    await expect(page.locator("#summary")).to_contain_text("candidate 1")
    await expect(page.locator("#head")).to_contain_text("finished")
    await page.unroute_all(behavior="wait")
    assert said == []

    shutil.rmtree(tmp_path / "first")
    await expect(page.locator("#head")).to_contain_text("the run is gone")
    await asyncio.to_thread(write, tmp_path / "first", started(), feasible(0, 5.0), stopped("interrupted"))
    await expect(page.locator("#head")).to_contain_text("interrupted")

    await context.close()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert has_ended and all("Failed to load resource" in line for line in said)
    assert all(url.startswith((address, "data:")) for url in asked)
