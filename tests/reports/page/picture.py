"""The picture of the page in docs/how-to/reports.md: `python -m tests.reports.page.picture runs/RUN docs/page.png`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import async_playwright

from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.reports.page.html import html, run_page
from tests.reports.page.conftest import ARGUMENTS, chromium_path

LEFT_OUT = tuple(
    f"#{part}"
    for part in (
        *("code", "splits", "top", "operators", "portfolio", "portfolio_scores", "metrics", "behaviour_vs_text"),
        *("islands", "clusters", "dendrogram", "genealogy", "candidates", "failures", "making"),
    )
)
"""Parts of the page for which one of documentation has no room."""


async def picture(text: str, path: Path) -> None:
    """Write what a page shows as PNG, without those parts."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
        shown = await browser.new_page(viewport={"width": 1100, "height": 900}, device_scale_factor=0.75)
        await shown.set_content(text)
        await shown.add_style_tag(content=f"{', '.join(LEFT_OUT)} {{ display: none; }}")
        await shown.evaluate("behavesim.ready")
        await shown.screenshot(path=path, full_page=True)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(picture(html(run_page(report(Run.load(sys.argv[1])))), Path(sys.argv[2])))
