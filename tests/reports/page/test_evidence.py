"""What a reader needs to believe a page: code, unseen instances, the way it was made, and text that can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from behavesim.analysis.held_out import HeldOut, HeldOutMean, HeldOutProgram, HeldOutTemplate
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.reports.page.html import html, run_page
from behavesim.state.events import Event
from tests.analysis.journals import asked, feasible, journalled, recommended, rejected, started
from tests.reports.page.conftest import Opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOW_CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => colour.slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3) return colour;
    }
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const isOnCell = element.closest("[data-chart^=heat] .mark-text"); // whose ground is no element's background
    if (!texts.currentNode.textContent.trim() || !element.checkVisibility() || isOnCell) continue;
    const style = getComputedStyle(element);
    const ink = light(numbers(element instanceof SVGElement ? style.fill : style.color));
    const paper = light(ground(element));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) found.push(`${texts.currentNode.textContent}: ${contrast}`);
  }
  return found;
}"""
"""Texts on the page with less contrast than 4.5, which readers with low vision need (WCAG 2.1, AA)."""


def child(number: int, score: float, *parents: int) -> list[Event]:
    """A feasible candidate whose prompt showed these parents."""
    return [*asked(number, parents), *feasible(number, score, [0, 1 + number % 3, 4, 5])[2:]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs by their names; the last but one of the five candidates of the first is the best."""
    parts = {
        "five": [
            *(feasible(0, 5.0), child(1, 4.0, 0), rejected(2, "timeout"), child(3, 3.0, 0, 1), child(4, 6.0, 3)),
            recommended(1, c1=2.0, c3=2.5),
        ],
        "one": [feasible(0, 5.0)],
        "none": [rejected(number, "timeout", "it took 50 s") for number in range(3)],
    }
    folder = tmp_path_factory.mktemp("runs")
    return {name: journalled(folder / name, started(budget=5, islands=2), *events) for name, events in parts.items()}


@pytest.fixture(scope="module")
def text(runs: dict[str, Run]) -> str:
    programs = (
        HeldOutProgram(3, 3.0, 6.0, 0.5, 0.4, None),
        HeldOutProgram(1, 4.0, 5.0, 0.25, 0.5, None),
        HeldOutProgram(0, 5.0, None, None, None, "timeout"),
    )
    means = HeldOutMean(0.4, 0.5), HeldOutMean(None, None), HeldOutMean(0.5, 0.25)
    tried = HeldOut(HeldOutTemplate(10.0, 1.5), programs, *means)
    return html(run_page(replace(report(runs["five"]), held_out=tried)))


async def test_every_text_can_be_read_in_the_light_and_in_the_dark(text: str, opened: Opened) -> None:
    page = await opened(text)
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(LOW_CONTRAST) == []


async def test_why_nothing_is_feasible_comes_first(runs: dict[str, Run], opened: Opened) -> None:
    page = await opened(html(run_page(report(runs["none"]))))
    await expect(page.locator("main > section").first).to_have_id("failures")
    await expect(page.locator("#summary")).to_contain_text("3 timed out")


async def test_unseen_instances_the_making_the_lineage_and_the_marks_on_the_map_are_shown(
    text: str, opened: Opened
) -> None:
    page = await opened(text)
    rows = await page.locator("#held_out tbody tr").all_inner_texts()
    assert [" ".join(row.split()) for row in rows] == [
        "template 10 150.00",
        "3 3 6 50.00 40.00",
        "1 (recommended) 4 5 25.00 50.00",
        "0 5 timeout",
    ]
    await page.locator("#held_out tbody button", has_text="1").click()
    await expect(page.get_by_role("dialog", name="Candidate 1")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#making .command code")).to_have_text(
        "behavesim run tsp --method funsearch --proposer genetic --budget 5 --seed 7 --set islands=2"
    )
    assert await page.locator("#making tbody tr").all_inner_texts() == ["islands\t2\t10"]
    await expect(page.locator("#making")).to_contain_text("1970-01-01 00:00 UTC")
    await expect(page.locator("#genealogy .note").first).to_contain_text("2 ancestors")
    names = [row.split()[0] for row in await page.locator("#genealogy > div > .table tbody tr").all_inner_texts()]
    assert names[-1] == "3"
    await page.evaluate("behavesim.ready")
    marks = await page.locator("[data-chart=map] .mark-text text").all_text_contents()
    assert {"best", "recommended", "template"} <= set(" ".join(marks).replace(",", "").split())


async def test_a_program_has_an_address_its_nearest_and_its_ancestors(text: str, opened: Opened) -> None:
    page = await opened(text)
    await page.evaluate("location.hash = '#candidate-1'")
    dialog = page.get_by_role("dialog", name="Candidate 1")
    await expect(dialog).to_contain_text("nearest in behaviour")
    await dialog.get_by_role("button", name="candidate 4").first.click()
    await expect(page.get_by_role("dialog", name="Candidate 4")).to_be_visible()
    assert await page.evaluate("location.hash") == "#candidate-4"
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("tab", name="Ancestors").click()
    points = dialog.locator(".mark-symbol path[aria-roledescription]")
    await expect(points).to_have_count(4)  # 4 from 3, 3 from 0 and 1, 1 from 0
    await points.last.click()
    await expect(page.get_by_role("dialog", name="Candidate 1")).to_be_visible()
    await page.evaluate("location.hash = '#candidate-0'")
    await expect(page.get_by_role("dialog", name="Candidate 0")).to_be_visible()
    await expect(dialog.get_by_role("tab", name="Ancestors")).to_have_count(0)


async def test_a_page_without_scripts_has_its_tables(text: str, chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(text)
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto((tmp_path / "page.html").as_uri())
    await expect(page.locator("#summary")).to_contain_text("candidate 3")
    assert await page.locator("#top tbody tr").count() > 1
    await context.close()
