"""The page of a comparison: its numbers recomputed, and as a person uses it in a real browser."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from playwright.async_api import expect

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.provenance import provenance_of
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.comparison_sections import COMPARISON, SeveralRuns
from behavesim.reports.page.html import comparison_page, html, runs_page, write_comparison
from behavesim.reports.sections import Section
from tests.analysis.examples import grid, made, tried
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
def namesakes(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs of one name, each with a program of its own."""
    folder = tmp_path_factory.mktemp("namesakes")
    return [
        journalled(folder / method / "seed0", started(method=method), feasible(0, score, source=f"by {method}"))
        for method, score in (("eoh", 5.0), ("niche", 6.0))
    ]


@pytest.fixture(scope="module")
def compared(runs: list[Run]) -> RunComparison:
    return comparison([report(run) for run in runs])


@pytest.fixture(scope="module")
def text(compared: RunComparison, runs: list[Run]) -> str:
    return html(comparison_page(compared))


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


async def test_a_list_of_runs_is_sorted_and_filtered_and_what_is_marked_stays_in_view(opened: Opened) -> None:
    of = {name: made(name, 1, gap).summary for name, gap in (("eoh", 0.5), ("niche", 0.25), ("best-of-n", 2.0))}
    names = {"eoh": "study/eoh-1", "niche": "study/niche-1", "best-of-n": "alone"}
    page = await opened(runs_page([replace(each, run=names[name]) for name, each in of.items()], {}))

    async def shown() -> list[str]:
        return [text.strip() for text in await page.locator("tbody tr:not([hidden]) td:first-child").all_inner_texts()]

    await page.get_by_role("button", name="gap").click()
    assert await shown() == ["study/niche-1", "study/eoh-1", "alone"]
    await page.get_by_role("button", name="gap").click()
    assert await shown() == ["alone", "study/eoh-1", "study/niche-1"]
    await page.get_by_label("Compare alone").check()
    await page.get_by_label("Filter by experiment").select_option("study")
    await page.get_by_label("Search runs").fill("niche")
    assert await shown() == ["alone", "study/niche-1"]
    assert await page.locator("output").inner_text() == "2 of 3 runs"
    await page.get_by_label("mark all shown").check()
    assert await page.locator("tbody input:checked").count() == 2


async def test_a_comparison_fits_a_phone_and_can_be_read_in_the_dark(text: str, opened: Opened) -> None:
    page = await opened(text)
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(LOW_CONTRAST) == []
    await page.set_viewport_size({"width": 400, "height": 800})
    await expect(page.locator("#curves svg.marks")).to_have_attribute("width", "368")
    assert await page.evaluate("document.documentElement.scrollWidth") == 400


async def test_runs_that_cannot_be_compared_are_said_to_be(runs: list[Run], opened: Opened, tmp_path: Path) -> None:
    alone = comparison([report(runs[0])])
    page = await opened(html(comparison_page(alone, "/")))
    await expect(page.locator("#nothing")).to_contain_text("There is nothing to compare")
    await expect(page.get_by_role("link", name="All runs")).to_have_attribute("href", "/")
    with pytest.raises(UsageError, match="choose another --html file"):
        write_comparison(alone, tmp_path)


def section(compared: RunComparison, name: str) -> Section:
    """A section of the page, whose tables and charts are what the page shows."""
    return COMPARISON[name](SeveralRuns(compared))


async def test_programs_of_runs_of_one_name_are_each_opened_with_their_own_source(namesakes: list[Run]) -> None:
    data = comparison_page(comparison([report(run) for run in namesakes])).data
    _, *texts = json.loads(gzip.decompress(base64.b64decode(data["texts"])))
    shown = dict(zip(data["names"], (source for source, *_ in texts), strict=True))
    assert shown == {f"{run.folder.path} 0": f"by {run.settings.method}" for run in namesakes}


async def test_curves_dots_and_verdicts_are_those_of_the_runs(compared: RunComparison, runs: list[Run]) -> None:
    points = section(compared, "curves").charts[0].spec["data"]["values"]
    dots = section(compared, "dots").charts[0].spec["data"]["values"]
    for method in ("niche", "eoh"):
        own = [run for run in runs if run.settings.method == method]
        for point in (each for each in points if (each["group"], each["across"]) == (method, "asked")):
            bests = [min(c.score for c in run.candidates[: point["at"]] if c.score is not None) for run in own]
            assert point["mean"] == pytest.approx(100 * fmean((best - 2.0) / 2.0 for best in bests))
            assert point["low"] is point["high"] is None, "three seeds have no interval"
        gaps = [run.gap(run.best.score) for run in own if run.best is not None]
        assert [each["value"] for each in dots if each["group"] == method] == [100 * (gap or 0) for gap in gaps]
    assert section(compared, "verdicts").text == (
        "No significant difference in best gap between niche and eoh "
        "(p = 0.10; 3 runs per group are too few for any result below 0.10)"
    )
    assert [row[0] for row in section(compared, "runs").tables[0].rows] == [run.folder.run for run in runs]
    commands = [command for run in runs for command in provenance_of(run).commands]
    assert [line for line in section(compared, "making").text.splitlines() if line[0] != "#"] == commands


async def test_a_comparison_is_read_and_its_programs_opened(text: str, opened: Opened) -> None:
    page = await opened(text)
    await expect(page.locator("h1")).to_have_text("niche and eoh")
    await expect(page.locator("#verdicts")).to_contain_text("No significant difference in best gap")
    label = "Mean best so far over 3 candidates, in the end niche 160.00 %, eoh 60.00 %"
    await expect(page.get_by_label(label)).to_be_visible()
    await page.evaluate("behavesim.ready")
    assert await page.locator("#dots .mark-symbol.role-mark path").count() == 6
    await page.locator("#map .mark-symbol.role-mark path").first.click(force=True)
    await expect(page.get_by_role("dialog")).to_contain_text("to the nearest of another group")
    await page.keyboard.press("Escape")
    await page.locator("#alone").get_by_role("button", name="eoh-1 1").first.click()
    await expect(page.get_by_role("dialog", name="eoh-1 1").locator("pre")).to_contain_text("x = 1")
    assert await page.locator("img").count() == 0


async def test_a_band_is_inside_its_plot_and_only_enough_runs_have_one(spread: list[Run], opened: Opened) -> None:
    compared = comparison([report(run) for run in spread])
    chart = section(compared, "curves").charts[0]
    low, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    banded = [each for each in chart.spec["data"]["values"] if each["low"] is not None]
    assert {each["group"] for each in banded} == {"niche"}
    assert all(low <= each["low"] <= each["high"] <= high for each in banded)
    page = await opened(html(comparison_page(compared)))
    await expect(page.locator("#curves .mark-area path")).to_have_count(1)


async def test_what_is_shown_of_a_task_is_its_primary_metric_and_its_name_and_each_group_has_its_place() -> None:
    a, b, c = ({"label": label, "population": size} for label, size in (("a", 5), ("b", 6), ("c", 7)))
    two = [made("eoh", seed, gap, **group) for group, gap in ((a, 0.25), (b, 0.5)) for seed in (1, 2)]
    one = tried(made("eoh", 3, 0.25, **c), HeldOutMean(0.1, 0.3), HeldOutMean(0.1, 0.2))
    other = [made("eoh", 1, 0.5, "asp", **b), made("eoh", 1, 0.5, "asp", **a)]
    compared = comparison([*two, one, *other])
    (matrix,) = section(compared, "matrix").tables
    assert [row[1] for row in matrix.rows] == ["best gap %", "best gap %"], "one group was tried on held-out instances"
    assert matrix.best == {(0, 2), (0, 4)}, "of equals alone none is the best"
    assert [chart.title.partition(":")[0] for chart in section(compared, "dots").charts] == [
        "best gap % on tsp",
        "best gap % on asp",
    ]
    assert [[group.label for group in task.groups] for task in compared.tasks][1] == ["a", "b"], "as on tsp"


async def test_a_comparison_on_several_tasks_begins_with_a_row_for_each(opened: Opened) -> None:
    compared = comparison(grid())
    (table,) = section(compared, "matrix").tables
    assert [row[0] for row in table.rows] == ["tsp", "asp"]
    assert [column.name for column in table.columns[2:]] == ["eoh", "niche", "best-of-n"]
    assert table.rows[0][2:] == ("25.00", "125.00†", "225.00†")
    assert table.best == {(0, 2), (1, 2)}
    (against,) = section(comparison(grid(), against="niche"), "matrix").tables
    assert against.rows[0][2:] == ("25.00†", "125.00", "225.00†")
    with pytest.raises(UsageError, match="there is no group 'other'"):
        comparison(grid(), against="other")
    with pytest.raises(UsageError, match="there are none: name two runs or more"):
        comparison(grid()[:1], against="other")
    page = await opened(html(comparison_page(compared)))
    await expect(page.locator("main > section").first).to_have_id("matrix")
