"""What a reader needs to believe a page: code, unseen instances, the way it was made, and text that can be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.async_api import Page, expect

from behavesim.analysis.held_out import HeldOut, HeldOutMean, HeldOutProgram, HeldOutTemplate
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.reports.page.document import document
from behavesim.reports.page.html import html
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
    if (!texts.currentNode.textContent.trim() || !element.checkVisibility()) continue;
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
    return html(document(runs["five"], replace(report(runs["five"]), held_out=tried)))


async def ticks(page: Page, section: str) -> list[str]:
    """The labels of a chart's axis across."""
    return await page.locator(f"#{section} svg [aria-label='x-axis tick label'] text").all_text_contents()


async def test_the_best_code_stands_beside_the_template_and_can_be_copied(text: str, opened: Opened) -> None:
    page = await opened(text)
    assert await page.locator("#best pre").all_inner_texts() == ["template\n", "source 3\n"]
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy candidate 3").click()
    assert await page.evaluate("navigator.clipboard.readText()") == "source 3"
    await page.emulate_media(media="print")
    await expect(page.locator("#best pre").last).to_be_visible()
    await expect(page.locator("#best button").last).to_be_hidden()


async def test_what_became_of_programs_on_unseen_instances_is_said_first(text: str, opened: Opened) -> None:
    page = await opened(text)
    tile = page.locator("#summary dl > div", has_text="unseen")
    assert (await tile.inner_text()).split("\n") == [
        *("gain on unseen instances", "50.00 %", "recommended, candidate 1", "gap 25.00 %, template 150.00 %")
    ]
    rows = await page.locator("#unseen tbody tr").all_inner_texts()
    assert [" ".join(row.split()) for row in rows] == [
        "the template 10 10 150.00 % –",
        "candidate 3 best 3 6 50.00 % 40.00 %",
        "candidate 1 recommended 4 5 25.00 % 50.00 %",
        "candidate 0 5 – – – timeout",
    ]


async def test_a_page_says_how_its_run_was_made(text: str, opened: Opened) -> None:
    page = await opened(text)
    await expect(page.locator("#making .command code")).to_have_text(
        "behavesim run tsp --method funsearch --proposer genetic --budget 5 --seed 7 --set islands=2"
    )
    assert await page.locator("#making tbody tr").all_inner_texts() == ["islands\t2\t10"]
    await expect(page.locator("#making")).to_contain_text("1970-01-01 00:00 UTC")


async def test_a_program_has_an_address_its_nearest_and_its_genealogy(text: str, opened: Opened) -> None:
    page = await opened(text)
    await page.evaluate("location.hash = '#candidate-1'")
    dialog = page.get_by_role("dialog", name="Candidate 1")
    await expect(dialog).to_contain_text("nearest in behaviour")
    await dialog.get_by_role("button", name="candidate 4").click()
    assert await page.evaluate("location.hash") == "#candidate-4"
    await page.get_by_role("button", name="Show its genealogy").click()
    await expect(page.get_by_role("dialog")).to_be_hidden()
    assert await page.evaluate("location.hash") == ""
    await expect(page.locator("#lineage .note").first).to_contain_text("Candidate 4 and 3 ancestors")
    await page.locator("#lineage [data-candidate='3']").press("Enter")
    await expect(page.get_by_role("dialog", name="Candidate 3")).to_be_visible()


async def test_the_best_the_recommended_and_the_template_are_marked_on_the_map(text: str, opened: Opened) -> None:
    page = await opened(text)
    marks = await page.locator("#map [aria-label=text] text").all_text_contents()
    assert sorted(" ".join(marks).replace(",", "").split()) == ["best", "recommended", "template"]


async def test_every_text_can_be_read_in_the_light_and_in_the_dark(text: str, opened: Opened) -> None:
    page = await opened(text)
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(LOW_CONTRAST) == []


async def test_candidates_are_counted_in_whole_numbers_whether_few_or_many(
    text: str, runs: dict[str, Run], opened: Opened
) -> None:
    few = await opened(text)
    assert await ticks(few, "convergence") == ["0", "1", "2", "3", "4", "5"]
    assert await few.locator("#convergence [aria-label=dot]").first.locator("circle").count() == 4
    many = document(runs["one"])
    columns = {name: (*values, *values * 11999) for name, values in many.candidates.items()}
    columns["candidate"] = tuple(range(12000))
    grown = replace(
        many,
        candidates=columns,
        convergence=(replace(many.convergence[0], asked=12000),),
    )
    page = await opened(html(grown))
    assert await ticks(page, "convergence") == [
        "0",
        "2,000",
        "4,000",
        "6,000",
        "8,000",
        "10,000",
        "12,000",
    ]
    await expect(page.locator("#convergence .note")).to_contain_text("About 2,000 of 12,000 are drawn.")


async def test_why_nothing_is_feasible_comes_first(runs: dict[str, Run], opened: Opened) -> None:
    page = await opened(html(document(runs["none"])))
    await expect(page.locator("main > section").first).to_have_id("failures")
    await expect(page.locator("#summary")).to_contain_text("Rejected: 3 timed out.")
