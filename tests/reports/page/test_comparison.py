"""The page of a comparison: its numbers recomputed, and as a person uses it in a real browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from playwright.async_api import expect

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.provenance import provenance_of
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.page.comparison import comparison_document
from behavesim.reports.page.html import comparison_html, runs_page, write_comparison
from tests.analysis.examples import made
from tests.analysis.journals import feasible, journalled, started, stopped
from tests.reports.page.conftest import Opened
from tests.reports.page.test_evidence import LOW_CONTRAST
from tests.reports.page.test_html import HOSTILE

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOURS = [[0, 1, 2, 3, 4, 5], [0, 5, 4, 3, 2, 1], [0, 2, 4, 1, 3, 5]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three seeds of two methods; the second finds better programs, and another behaviour."""
    folder = tmp_path_factory.mktemp("runs")
    found = []
    for method, shift in (("niche", 2.0), ("eoh", 0.0)):
        for seed in (1, 2, 3):
            settings = {"method": method, "seed": seed, "budget": 3}
            parts = [
                feasible(0, 6.0 + seed / 10, TOURS[0]),
                feasible(1, 3.0 + shift + seed / 10, TOURS[0] if shift else TOURS[1], source=f"x = 1  # {HOSTILE}"),
                feasible(2, 5.5, TOURS[2]),
            ]
            found.append(journalled(folder / f"{method}-{seed}", started(**settings), *parts, stopped("budget")))
    return found


@pytest.fixture(scope="module")
def compared(runs: list[Run]) -> RunComparison:
    return comparison([report(run) for run in runs])


@pytest.fixture(scope="module")
def text(compared: RunComparison, runs: list[Run]) -> str:
    return comparison_html(comparison_document(compared, runs))


async def test_curves_dots_and_verdicts_are_those_of_the_runs(compared: RunComparison, runs: list[Run]) -> None:
    shown = json.loads(comparison_document(compared, runs).json())
    (task,) = shown["tasks"]
    for group in task["groups"]:
        own = [run for run in runs if run.folder.run in group["runs"]]
        assert {run.settings.method for run in own} == {group["label"]}
        for point in group["curve"]:
            bests = [min(c.score for c in run.candidates[: point["asked"]] if c.score is not None) for run in own]
            mean, low, high = (point["best"][name] for name in ("mean", "low", "high"))
            assert mean == pytest.approx(fmean((best - 2.0) / 2.0 for best in bests))
            assert low is high is None, "three seeds have no interval"
        gaps = [run.gap(run.best.score) for run in own if run.best is not None]
        assert [dot["value"] for dot in group["dots"]] == gaps
    assert task["template"] == 4.0
    assert task["verdicts"] == [
        "No significant difference in best gap between niche and eoh "
        "(p = 0.10; 3 runs per group are too few for any result below 0.10)"
    ]
    assert shown["tables"][0]["title"] == "comparison on tsp: what was found"
    assert [row[0][0] for row in shown["tables"][-1]["rows"]] == [run.folder.run for run in runs]
    assert [each["commands"] for each in shown["made"]] == [list(provenance_of(run).commands) for run in runs]


async def test_a_comparison_is_read_and_its_programs_opened(text: str, opened: Opened) -> None:
    page = await opened(text)
    await expect(page.locator("h1")).to_have_text("niche and eoh")
    await expect(page.locator("#verdict .verdicts")).to_contain_text("No significant difference in best gap")
    label = await page.locator("#curves svg[role=img]").get_attribute("aria-label")
    assert label == "Mean best so far over 3 candidates, in the end niche 160.00 %, eoh 60.00 %"
    assert await page.locator("#verdict circle").count() == 6
    await page.locator("#map [role=button]").first.press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("to the nearest of another group")
    await page.keyboard.press("Escape")
    alone = page.locator("#alone table").last
    await alone.get_by_role("button", name="eoh-1 1").click()
    await expect(page.get_by_role("dialog", name="Candidate 1 of eoh-1").locator("pre")).to_contain_text("x = 1")
    assert await page.locator("img").count() == 0


BANDS_CUT = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const frame = svg.querySelector("clipPath rect")?.getBBox();
  return [...svg.querySelectorAll("[aria-label=area] path")].map((band) => band.getBBox())
    .filter(({ y, height }) => y < frame.y - 0.01 || y + height > frame.y + frame.height + 0.01);
}).length"""


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs whose scores differ much between the seeds: six of one method, five of another, too few for a band."""
    folder = tmp_path_factory.mktemp("spread")
    return [
        journalled(
            folder / f"{method}-{seed}",
            started(method=method, seed=seed, budget=2),
            *(feasible(number, 20.0 + 9 * seed - number, TOURS[number]) for number in range(2)),
            stopped("budget"),
        )
        for method in ("niche", "eoh")
        for seed in range(1, 7 if method == "niche" else 6)
    ]


async def test_no_band_is_cut_by_the_edge_of_its_plot(spread: list[Run], opened: Opened) -> None:
    page = await opened(comparison_html(comparison_document(comparison([report(run) for run in spread]), spread)))
    await expect(page.locator("[aria-label=area] path")).to_have_count(1)
    await expect(page.locator("#curves .note")).to_contain_text("a group with fewer than 6 seeds has none")
    assert await page.evaluate(BANDS_CUT) == 0


async def test_the_list_of_runs_fits_a_window(opened: Opened) -> None:
    name = "portfolio-experiment/tsp-funsearch+behavesim-no-clustering-seed12"
    task, failure = "/home/me/tasks/my_vehicle_routing_task.py", "the endpoint api.openai.com answered 401"
    one = made("funsearch+behavesim", 12, 0.125).summary
    failed = replace(one, run=name, task=task, state="failed", failure=failure, score_source="self-reported")
    page = await opened(runs_page([failed], {}))
    await page.set_viewport_size({"width": 1300, "height": 900})
    assert (
        await page.evaluate(
            "() => { const t = document.querySelector('.table'); return t.scrollWidth - t.clientWidth }"
        )
        == 0
    )


async def test_programs_that_one_group_alone_found_fit_beside_those_of_another(text: str, opened: Opened) -> None:
    page = await opened(text.replace("eoh-1", "tsp-funsearch+behavesim-no-clustering-seed12"))
    await page.set_viewport_size({"width": 1200, "height": 900})
    table = page.locator("#alone .scroll").last
    assert await table.evaluate("(it) => it.scrollWidth - it.clientWidth") == 0


async def test_a_comparison_fits_a_phone_and_can_be_read_in_the_dark(text: str, opened: Opened) -> None:
    page = await opened(text)
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.set_viewport_size({"width": 400, "height": 800})
    await expect(page.locator("#curves svg")).to_have_attribute("width", "368")
    assert await page.evaluate("document.documentElement.scrollWidth") == 400


async def test_runs_that_cannot_be_compared_are_said_to_be(runs: list[Run], opened: Opened, tmp_path: Path) -> None:
    alone = comparison([report(runs[0])])
    page = await opened(comparison_html(comparison_document(alone, runs[:1], "/")))
    await expect(page.locator("#nothing")).to_contain_text("There is nothing to compare")
    await expect(page.get_by_role("link", name="All runs")).to_have_attribute("href", "/")
    with pytest.raises(UsageError, match="choose another --html file"):
        write_comparison(alone, runs[:1], tmp_path)
