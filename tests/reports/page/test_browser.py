"""The page as a person uses it, in a real browser."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.async_api import Locator, Page, expect

from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.base.text import printable
from behavesim.reports.page.html import Page as Shown
from behavesim.reports.page.html import html, run_page
from behavesim.state.events import Evaluated, Event
from behavesim.trajectory import Trajectory
from tests.analysis.journals import PROVENANCE, asked, feasible, journalled, rejected, started, told
from tests.reports.page.conftest import Opened
from tests.reports.page.test_html import HOSTILE

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs by their names; of the hundred and one candidates of the first the 60th is the best."""
    many = [feasible(number, 3.0 + abs(number - 60) / 100, [0, 1 + number % 3, 4, 5]) for number in range(3, 100)]
    first = [
        feasible(0, 9.0, source=f"x = 'é'  # {HOSTILE}\n"),
        feasible(1, 8.0, [0, 2, 1, 3], source="def f(x):\n    return x\n"),
        rejected(2, "timeout", HOSTILE),
        *many,
        asked(100, [1, 60]),
    ]
    child = [*asked(1, [0]), *feasible(1, 2.5, source="a = 1\nb = 3\nc = 3\n")[2:]]
    parts: dict[str, list[list[Event]]] = {
        "first": first,
        "child": [feasible(0, 3.0, source="a = 1\nb = 2\n"), child],
        "grown": [rejected(0, "exception"), feasible(1, 2.2)],
        "fruitless": [rejected(0, "timeout")],
        "begun": [],
    }
    folder = tmp_path_factory.mktemp("runs")
    circles = np.tri(26)[:, :, None] * [0.5, 0.5, 0.1]
    packed = Evaluated(0, "x", 2.0, (2.0,), (Trajectory.vectors(circles.reshape(26, -1)),), "", "program 0")
    tasks = {
        "cpp": [*asked(0), packed],
        "bin_packing": feasible(0, 3.0, [0, 1, 0, 2]),
        "asp": feasible(0, 3.0, [5, 7, 6]),
    }
    others = {task: journalled(folder / task, started(task=task)[:1], events) for task, events in tasks.items()}
    unknown = started(PROVENANCE | {"best_known": "", "direction": "maximise"})
    sets = [
        feasible(0, 3.0, [0, 1, 2, 3], [0, 1, 2, 3], scores=(2.0, 4.0)),
        feasible(1, 4.0, [3, 2, 0, 1], [2, 0, 3, 1], scores=(5.0, 3.0)),
        feasible(2, 5.0, [3, 2, 0, 1], [2, 0, 3, 1], scores=(6.0, 4.0)),
    ]
    others["sets"] = journalled(folder / "sets", started(), *sets)
    others["told"] = journalled(
        folder / "told",
        started(PROVENANCE | {"score_source": "self-reported", "behaviour": "calls"}),
        told(feasible(0, 3.0), f"said {HOSTILE}", speed=1.0, error="nan", **{HOSTILE: 1.0}),
        told(feasible(1, 4.0, [3, 2, 1, 0]), speed=3.0, error=0.5),
        told(feasible(2, 5.0, [0, 2, 1, 3]), speed=2.0, error=0.25),
        told(rejected(3, "evaluator", "too slow"), "a traceback", speed=0.25),
    )
    others["apart"] = journalled(folder / "apart", unknown, feasible(0, -3e14), feasible(1, -0.00703383, [3, 2, 1, 0]))
    others["penalised"] = journalled(
        folder / "penalised", started(), feasible(0, 1e6), feasible(1, 7.12345, [3, 2, 1, 0])
    )
    others["unknown"] = journalled(folder / "unknown", unknown, feasible(0, 3.0), feasible(1, 4.0))
    return others | {name: journalled(folder / name, started(budget=100), *events) for name, events in parts.items()}


def document(run: Run) -> Shown:
    """What the page of a run shows."""
    return run_page(report(run))


@pytest.fixture(scope="module")
def text(runs: dict[str, Run]) -> str:
    return html(document(runs["first"]))


async def renewed(page: Page | None, shown: Shown, opened: Opened) -> Page:
    """Show a document in the page that shows another, as a growing run's are, or in a new one."""
    if page is None:
        return await opened(html(shown))
    await page.evaluate("(text) => behavesim.render(JSON.parse(text))", shown.json().decode())
    return page


async def numbers(page: Page) -> list[str]:
    """The candidates in the rows that are in sight."""
    return await page.locator("#candidates tbody button").all_inner_texts()


async def test_programs_are_read_in_a_table_of_those_in_sight_which_is_sorted_filtered_and_searched(
    text: str, opened: Opened
) -> None:
    page = await opened(text)
    assert len(await numbers(page)) < 60
    await page.locator("#candidates .rows").evaluate("(view) => { view.scrollTop = view.scrollHeight; }")
    await expect(page.locator("#candidates tbody button").last).to_have_text("100")
    await page.locator("#candidates .rows").evaluate("(view) => { view.scrollTop = 0; }")
    await expect(page.locator("#candidates tbody button").first).to_have_text("0")
    await page.locator("#candidates tbody button").nth(1).press("Enter")
    dialog = page.get_by_role("dialog", name="Candidate 1")
    await expect(dialog.locator("pre")).to_have_text("def f(x):\n    return x\n")
    await expect(dialog.locator(".keyword").first).to_have_text("def")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.locator("#candidates tbody button").first.click()
    await expect(page.locator("#program pre")).to_contain_text("<img src=x onerror=alert(2)>")
    assert await page.locator("img").count() == 0
    await page.keyboard.press("Escape")
    assert (await numbers(page))[:3] == ["0", "1", "2"]
    await page.get_by_role("button", name="score", exact=True).click()
    assert (await numbers(page))[:3] == ["60", "59", "61"]
    await expect(page.locator("#candidates").get_by_role("columnheader", name="score")).to_have_attribute(
        "aria-sort", "ascending"
    )
    await page.get_by_role("button", name="score", exact=True).click()
    assert (await numbers(page))[:3] == ["0", "1", "3"]
    await page.get_by_label("Filter by status").select_option("rejected")
    assert await numbers(page) == ["2"]
    await page.get_by_label("Filter by status").select_option("")
    await page.get_by_label("Search candidates").fill("def f(x)")
    await expect(page.locator("#candidates output")).to_have_text("1 of 101 candidates")
    assert await numbers(page) == ["1"]


async def test_the_page_says_what_was_found_and_replays_two_programs_with_the_step_where_they_part(
    text: str, opened: Opened
) -> None:
    page = await opened(text)
    await expect(page.locator("h1")).to_have_text("first")
    await expect(page.locator("#summary")).to_contain_text("candidate 60")
    await expect(page.locator("#summary")).to_contain_text("50.00 %")
    await expect(page.locator("#failures")).to_contain_text("timeout")
    label = "Convergence over 101 candidates, in the end gap 50.00 %, ten best 51.25 %"
    await expect(page.get_by_label(label)).to_be_visible()
    code = page.locator("#code")
    await expect(code.locator("pre")).to_have_text("source 60\n")
    await code.get_by_role("tab", name="Changes from the template").click()
    await expect(code.locator(".removed")).to_have_text("template\n")
    await code.get_by_role("tab", name="Prompt").click()
    await expect(code.locator("pre")).to_have_text("improve it")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy the program").click()
    assert await page.evaluate("navigator.clipboard.readText()") == "source 60"
    section = page.locator("#replay")
    await expect(section).to_contain_text("They part at step 2 of 4.")
    await section.get_by_role("button", name="Where they part").click()
    await expect(section.get_by_role("img", name="candidate 60 after 2 of 4 steps")).to_be_visible()
    before = await section.locator("svg").first.inner_html()
    await section.get_by_role("slider", name="Step").press("ArrowRight")
    await expect(section.locator("output")).to_have_text("step 3 of 4")
    assert await section.locator("svg").first.inner_html() != before
    await section.get_by_label("Program on the right").select_option("0")
    await expect(section).to_contain_text("They do the same throughout.")
    await section.get_by_role("button", name="Play").click()
    await expect(section.locator("output")).to_have_text("step 4 of 4")
    await expect(section.get_by_role("button", name="Play")).to_be_visible()


async def test_a_newer_document_takes_the_place_of_the_older_and_what_was_asked_for_stays(
    text: str, runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(text)
    await page.get_by_label("Filter by status").select_option("feasible")
    await page.evaluate("(text) => behavesim.render(JSON.parse(text))", document(runs["grown"]).json().decode())
    await expect(page.locator("h1")).to_have_text("grown")
    await expect(page.locator("#summary")).to_contain_text("10.00 %")
    assert await numbers(page) == ["1"]


async def test_a_run_that_has_just_begun_is_shown(runs: dict[str, Run], opened: Opened) -> None:
    shown = await opened(html(document(runs["begun"])))
    await expect(shown.locator("#candidates output")).to_have_text("0 candidates")


async def test_each_task_has_its_picture_and_where_there_is_none_numbers_are_drawn(
    runs: dict[str, Run], opened: Opened
) -> None:
    page = None
    for task, kind in (("cpp", "disks"), ("bin_packing", "bins"), ("asp", None)):
        found = document(runs[task])
        picture = found.data["scenes"][0].picture
        assert (picture.kind if picture else None) == kind
        page = await renewed(page, found, opened)
        slider = page.locator("#replay").get_by_role("slider")
        await slider.press("Home")
        first = await page.locator("#replay svg").first.locator("circle, rect").count()
        await slider.press("End")
        assert await page.locator("#replay svg").first.locator("circle, rect").count() > first


async def test_metrics_and_feedback_are_shown_as_text_and_words_come_behind_numbers(
    runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(html(document(runs["told"])))
    await expect(page.locator("#summary")).to_contain_text("self-reported")
    await expect(page.locator("#making")).to_contain_text("call by call")
    await expect(page.locator("#failures")).to_contain_text("evaluator")
    await page.locator("#candidates tbody button").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_text("Feedback").click()
    await expect(dialog.locator(".feedback pre")).to_have_text(printable(f"said {HOSTILE}"))
    assert await page.locator("img").count() == 0
    await page.keyboard.press("Escape")
    table = page.locator("#candidates")
    await table.get_by_role("button", name="error", exact=True).click()
    assert await numbers(page) == ["2", "1", "0", "3"]
    await table.get_by_role("button", name="error", exact=True).click()
    assert await numbers(page) == ["1", "2", "0", "3"]
    assert (await table.locator("tbody tr").nth(3).inner_text()).startswith("0\t3\t50.00 %\t1\tnan\t1\t")
    await page.evaluate("(text) => behavesim.render(JSON.parse(text))", document(runs["grown"]).json().decode())
    await expect(table.get_by_role("button", name="error", exact=True)).to_have_count(0)
    await expect(table.locator("th[aria-sort]")).to_have_text("candidate")


async def test_a_score_keeps_its_digits_beside_a_great_one(runs: dict[str, Run], opened: Opened) -> None:
    page = None
    for run, small, great in (("apart", "-0.00703383", "-300000000000000"), ("penalised", "7.12345", "1000000")):
        page = await renewed(page, document(runs[run]), opened)
        await expect(page.locator("#candidates")).to_contain_text(small)
        await expect(page.locator("#candidates")).to_contain_text(great)


async def test_the_pareto_front_is_drawn_once_it_is_known_which_end_of_a_metric_is_better(
    runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(html(document(runs["told"])))
    await page.evaluate("behavesim.ready")
    front = page.locator("#metrics .layer_2_marks path")
    _, _, along, across = await page.locator("#metrics .vega-bind select").all()  # after those for upwards
    await along.select_option(label="speed")
    await expect(front).to_have_count(0)
    # scores 3, 4, 5 (less is better) with speeds 1, 3, 2: the third is worse than the second in both
    await across.select_option(label="higher")
    await expect(front).to_have_count(2)
    await across.select_option(label="lower")
    await expect(front).to_have_count(1)


def points(page: Page, chart: str) -> Locator:
    """The points of a chart."""
    return page.locator(f"[data-chart={chart}] .mark-symbol path[aria-roledescription]")


def faded(page: Page, chart: str) -> Locator:
    """The points of a chart that are not among those that a reader marked."""
    return points(page, chart).and_(page.locator("[opacity='0.125'], [opacity='0.08125']"))


async def test_a_program_shows_what_changed_since_its_parents_and_its_prompt_and_reply(
    runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(html(document(runs["child"])))
    await page.locator("#top tbody button").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("tab", name="Changes from candidate 0").click()
    lines = dialog.locator(".line")
    assert await lines.all_inner_texts() == ["a = 1\n", "b = 2\n", "b = 3\n", "c = 3\n"]
    classes = [await line.get_attribute("class") for line in await lines.all()]
    assert classes == ["line", "line removed", "line added", "line added"]
    await dialog.get_by_role("tab", name="Prompt").click()
    await expect(dialog.locator("pre")).to_have_text("improve it")
    await dialog.get_by_role("tab", name="Reply").click()
    await expect(dialog.locator("pre")).not_to_be_empty()


async def test_the_points_of_charts_are_opened_marked_and_zoomed_and_a_chart_is_a_file(
    text: str, opened: Opened
) -> None:
    page = await opened(text)
    await page.evaluate("behavesim.ready")
    for kind in ("SVG", "PNG"):
        await page.locator("[data-chart=map] details").evaluate("(menu) => { menu.open = true; }")
        async with page.expect_download() as download:
            await page.locator("[data-chart=map] .vega-actions a", has_text=kind).click()
        assert (await download.value).suggested_filename == f"map.{kind.lower()}"
    await page.locator("[data-chart=map] details").evaluate("(menu) => { menu.open = false; }")
    point = points(page, "map").first
    await point.scroll_into_view_if_needed()
    await point.hover(force=True)
    await expect(page.locator("#vg-tooltip-element")).to_contain_text("candidate")
    await point.click(force=True)
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.locator("#map figure > details > summary").press("Enter")
    await page.locator("#map tbody button").first.press("Enter")
    await expect(page.get_by_role("dialog", name="Candidate 60")).to_be_visible()
    await page.keyboard.press("Escape")
    assert [await faded(page, name).count() for name in ("convergence", "map")] == [0, 0]
    chart = page.locator("[data-chart=convergence] svg.marks")
    await chart.scroll_into_view_if_needed()
    box = await chart.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 500, box["y"] + 20)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 800, box["y"] + 240, steps=4)
    await page.mouse.up()
    for name in ("convergence", "map"):
        await expect(faded(page, name)).not_to_have_count(0)
    chart = page.locator("[data-chart=convergence]")
    await chart.scroll_into_view_if_needed()
    box = await chart.bounding_box()
    await page.mouse.move(box["x"] + 500, box["y"] + 100)
    before, axes = await page.evaluate("scrollY"), await chart.inner_text()
    await page.keyboard.down("Control")
    await page.mouse.wheel(0, -400)
    await page.keyboard.up("Control")
    await expect(chart).not_to_have_text(axes)
    assert await page.evaluate("scrollY") == before
    await page.mouse.wheel(0, 100)
    await expect(page.locator("html")).to_have_js_property("scrollTop", before + 100)


async def test_a_page_and_any_two_metrics_are_read_in_the_dark_on_a_phone_and_printed_in_the_light(
    runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(html(document(runs["told"])))
    await page.evaluate("behavesim.ready")
    await expect(points(page, "metrics")).to_have_count(3)
    await page.locator("#metrics select").nth(2).select_option("error")
    await expect(points(page, "metrics")).to_have_count(2)
    paper = "getComputedStyle(document.body).backgroundColor"
    assert await page.evaluate(paper) == "rgb(255, 255, 255)"
    await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate(paper) == "rgb(20, 23, 26)"
    await expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    ground = "document.querySelector('#convergence svg.marks').style.backgroundColor"
    await expect(page.locator("#convergence svg.marks")).to_have_css("background-color", "rgb(20, 23, 26)")
    await page.evaluate(f"addEventListener('afterprint', () => {{ window.printed = {ground}; }}, {{ capture: true }})")
    await page.pdf()
    assert await page.evaluate("window.printed") == "rgb(255, 255, 255)"
    await expect(page.locator("#convergence svg.marks")).to_have_css("background-color", "rgb(20, 23, 26)")
    await page.emulate_media(media="print")
    for hidden in (".vega-bindings", ".chart > details", "#head button", "#contents"):
        await expect(page.locator(hidden).first).to_be_hidden()
    await page.emulate_media(media="screen")
    chart = page.locator("[data-chart=convergence] svg.marks")
    await expect(chart).to_have_attribute("width", "1104")
    await page.set_viewport_size({"width": 400, "height": 800})
    await expect(chart).to_have_attribute("width", "368")
    await expect(page.locator("#metrics svg.marks")).to_have_attribute("width", "368")
    assert await page.evaluate("document.documentElement.scrollWidth") == 400


async def test_what_has_not_changed_stays_as_its_reader_left_it(
    text: str, runs: dict[str, Run], opened: Opened
) -> None:
    page = await opened(text)
    await page.locator("#map figure > details > summary").click()
    table = page.locator("#map figure > details")
    for run, is_open in (("first", True), ("told", False)):
        await page.evaluate("(text) => behavesim.render(JSON.parse(text))", document(runs[run]).json().decode())
        assert (await table.get_attribute("open") is not None) == is_open
    await page.evaluate("(text) => behavesim.render(JSON.parse(text))", document(runs["fruitless"]).json().decode())
    await expect(page.locator("#map")).to_have_count(0)
    await expect(page.locator("main > section").first).to_have_id("failures")


async def test_a_run_without_a_feasible_candidate_is_said_to_have_none(runs: dict[str, Run], opened: Opened) -> None:
    shown = await opened(html(document(runs["fruitless"])))
    await expect(shown.locator("#summary")).to_contain_text("1 rejected")
    seen = [await each.get_attribute("id") for each in await shown.locator("section").all()]
    assert seen == ["failures", "summary", "splits", "operators", "throughput", "candidates", "making"]
    assert await shown.locator("#contents a").count() == len(seen)
    assert "score" not in await shown.locator("#candidates thead").inner_text()


async def test_what_is_unknown_is_said_to_be(runs: dict[str, Run], opened: Opened) -> None:
    shown = await opened(html(document(runs["unknown"])))
    await expect(shown.locator("#summary")).not_to_contain_text("NaN")
    await expect(shown.get_by_label("Convergence over 2 candidates, in the end best score 4")).to_be_visible()
