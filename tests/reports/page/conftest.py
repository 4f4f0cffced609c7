"""A real browser, without a screen and without a network."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

LONGEST_MS = 100_000
"""How long what is expected of a page may take on a machine that is busy with others."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

Opened = Callable[..., Awaitable[Page]]


def chromium_path() -> str | None:
    """Where Chromium is installed; None where it is not."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """Chromium, once for the tests of a module."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    expect.set_options(timeout=LONGEST_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(chromium: Browser) -> Page:
    """The page of a module's tests: to make a new one takes three times the CPU time of loading a text."""
    page = await chromium.new_page()
    page.set_default_timeout(LONGEST_MS)
    return page


@pytest_asyncio.fixture(loop_scope="module")
async def opened(page: Page, tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a text in the page; nothing may be said on its console, raised in it, or asked of any host."""
    path = tmp_path / "page.html"
    said: list[str] = []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: request.url in (path.as_uri(), "data:,") or said.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    await page.set_viewport_size({"width": 1200, "height": 900})
    await page.emulate_media(media="screen")

    async def shown(text: str) -> Page:
        path.write_text(text)
        await page.goto(path.as_uri())
        return page

    yield shown
    await page.goto("about:blank")  # what the page has still to say is said now
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert said == []
