"""Screens, the page and JSON say the same number for the same thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import behavesim as bs
from behavesim.analysis.candidate_details import candidate_details
from behavesim.analysis.comparison import comparison
from behavesim.analysis.metrics import METRICS
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Run
from behavesim.analysis.table import Table
from behavesim.application.console import moment_of
from behavesim.reports import sections
from behavesim.reports.files import json_document
from behavesim.reports.page.html import Page, run_page
from behavesim.reports.tables import runs_table
from behavesim.state.race import describe
from tests.reports.drawing import seen_sections
from tests.reports.test_panels import row, shown


@dataclass(frozen=True)
class Views:
    """One run as each view shows it."""

    run: Run
    report: RunReport
    first: str
    full: str
    live: str
    json: Any
    page: Page

    def table(self, name: str) -> Table:
        """A table of the full report."""
        tables = (table for each in sections.run_sections(self.report, {}) for table in each.tables)
        (found,) = (each for each in tables if each.name == name)
        return found

    def column(self, table: str, column: str) -> list[Any]:
        """A column of one of these tables."""
        found = self.table(table)
        place = [each.name for each in found.columns].index(column)
        return [cells[place] for cells in found.rows]


@pytest.fixture(scope="module")
def views(made: Path) -> Views:
    run = Run.load(made)
    found = report(run)
    first, full = sections.first_screen(found, {}), sections.run_sections(found, {})
    (in_json,) = json_document(comparison([found], metrics=METRICS))["runs"]
    live = shown(moment_of(run), 120, 60)
    return Views(run, found, seen_sections(first), seen_sections(full, 100, ""), live, in_json, run_page(found))


def test_candidates_are_counted_alike(views: Views) -> None:
    summary = views.report.summary
    asked, rejected = len(views.run.candidates), sum(each.status == "rejected" for each in views.run.candidates)
    assert views.json["asked"] == len(views.page.data["candidates"]["candidate"]) == summary.asked == asked
    assert (
        views.json["feasible"]
        == views.page.data["candidates"]["status"].count("feasible")
        == len(views.run.feasible)
        == asked - rejected
    )
    assert sum(views.json["rejected"].values()) == sum(views.column("failures", "count")) == rejected
    said = f"{asked} asked, {asked - rejected} feasible, {rejected} rejected"
    assert said in views.page.sections["summary"][1]
    assert said in views.first and said in views.full
    assert row(views.live, "feasible") == f"{asked - rejected} of {asked}"
    assert runs_table([summary]).rows[0][5] == asked


def test_programs_and_behaviours_are_counted_alike(views: Views) -> None:
    distinct = views.json["distinct"]
    assert distinct["programs"] == len(views.run.ranked()) == len({each.program_hash for each in views.run.feasible})
    assert distinct["behaviours"] == len({each.packed for each in views.run.trajectories()})
    words = f"{distinct['programs']} programs, {distinct['behaviours']} behaviours"
    assert words in re.sub(r"\b1 (program|behaviour)\b", r"1 \1s", views.first)
    assert row(views.live, "behaviours").startswith(f"{distinct['behaviours']} different")
    assert views.report.distinct.sentence in " ".join(views.full.split())
    assert views.report.distinct.sentence in views.page.sections["summary"][1]


def test_programs_with_one_behaviour_are_counted_alike(views: Views) -> None:
    programs = {each.candidate: each.programs for each in views.report.top}
    assert dict(zip(views.column("top", "candidate"), views.column("top", "programs"), strict=True)) == programs
    assert {each["candidate"]: each["programs"] for each in views.json["top"]} == programs
    chosen = {each.candidate: each.alike for each in views.report.portfolio.members}
    ours = views.run.trajectories([each.candidate for each in views.run.ranked()])
    for candidate, alike in chosen.items():
        assert alike == ours.count(*views.run.trajectories([candidate])) == programs.get(candidate, alike)
    assert views.column("portfolio", "alike") == list(chosen.values())


def test_the_best_the_recommended_and_the_template_have_one_score_and_gap_each(views: Views) -> None:
    by_role = {each["program"]: each for each in views.json["splits"]}
    for role in ("template", "best", "recommended"):
        known, found = views.json[role], by_role[role]
        assert (found["candidate"], found["search"], found["search_gap"]) == tuple(known[name] for name in KNOWN)
        assert f"{known['score']:.6g}" in views.page.sections["splits"][1]
        assert f"{known['score']:.6g}" in views.first and f"{100 * known['gap']:.2f}" in views.first
    best = views.json["best"]
    assert (
        row(views.live, "best") == f"{best['score']:.6g}, gap {100 * best['gap']:.2f} % (candidate {best['candidate']})"
    )
    assert candidate_details(views.run, best["candidate"]).gap == best["gap"]
    assert runs_table([views.report.summary]).rows[0][6:8] == (best["score"], best["gap"])


KNOWN = ("candidate", "score", "gap")


def test_a_gain_is_a_fraction_everywhere_and_shown_in_per_cent(views: Views) -> None:
    template, best, gain = views.json["template"]["score"], views.json["best"]["score"], views.json["gain"]
    assert gain == pytest.approx((template - best) / template) == views.run.state.gain
    said = f"{100 * gain:.1f} % better"
    assert said in views.first and said in views.full and said in row(views.live, "progress")
    assert said in views.page.sections["summary"][1]
    chosen = views.json["recommended"]["gain"]
    event = views.run.state.recommended
    assert event is not None and event.choice is not None
    assert chosen == event.worth[event.choice]
    assert views.run.certificate is not None
    assert describe(views.run.certificate) in " ".join(views.full.split())
    assert f"{100 * abs(chosen):.2f} %" in describe(views.run.certificate) or event.choice == -1
    assert f"{100 * chosen:.2f}" in views.first


def test_clusters_and_islands_are_counted_alike(views: Views) -> None:
    sizes = [each["size"] for each in views.json["clusters"]]
    assert views.column("clusters", "programs") == sizes and sum(sizes) == min(200, len(views.run.ranked()))
    levels = [each["score_levels"] for each in views.json["islands"]]
    assert views.column("islands", "score_levels") == levels
    assert views.column("islands", "size") == [len(each.members) for each in views.run.state.islands.values()]


def test_a_loaded_run_says_the_same(views: Views, made: Path) -> None:
    assert bs.load_run(made).summary.asked == views.json["asked"]
