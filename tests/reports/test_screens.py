"""What a person reads of a run and of several, screen by screen, kept beside this test as text.

Where a screen is meant to change, look at the new one and keep it: `python -m tests.reports.test_screens`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.comparison import comparison
from behavesim.analysis.held_out import HeldOutMean, HeldOutProgram, split_scores
from behavesim.analysis.report import Origin, RunReport, report
from behavesim.engine.admission import settings_from_person
from behavesim.reports import sections
from behavesim.reports.comparison_sections import FIRST_SECTIONS, comparison_sections, comparison_tables
from behavesim.reports.tables import runs_table
from behavesim.reports.terminal import DISPENSABLE, show_rows
from tests.analysis.examples import grid, made, tried, unknown_gaps
from tests.analysis.journals import PROVENANCE, asked, feasible, journalled, recommended, rejected, started, stopped
from tests.reports.drawing import printed, seen, seen_sections
from tests.reports.test_panels import begun, moment, shown

SCREENS = Path(__file__).parent / "screens"
ORIGIN = Origin(Path("runs/first"), settings_from_person({"task": "tsp"}), {})
"""In place of a test's own folder, whose name changes."""


def whole(folder: Path) -> RunReport:
    """The report of a run of which all is known."""
    run = journalled(
        folder / "first",
        started(),
        feasible(0, 5.0, [0, 1, 2, 3], source="x = 1"),
        feasible(1, 4.0, [0, 2, 1, 3], island=1),
        rejected(2, "timeout", "it took longer than 50 s"),
        feasible(3, 4.5, [0, 3, 2, 1]),
        asked(4),
        stopped("max_cost"),
        recommended(0, c0=3.5),
    )
    programs = (
        HeldOutProgram(1, 4.0, 3.0, 0.5, 0.25, None),
        HeldOutProgram(0, 5.0, None, None, None, "timeout"),
    )
    full = tried(report(run), HeldOutMean(0.25, 0.5))
    assert full.held_out is not None
    held_out = replace(full.held_out, programs=programs, fallen=(1,))
    return replace(full, held_out=held_out, splits=split_scores(run, {"held-out": held_out}), origin=ORIGIN)


def one_run(folder: Path) -> str:
    """All sections of the report of a run of which all is known."""
    return seen_sections(sections.run_sections(whole(folder), {}), 120, "")


def one_run_first(folder: Path) -> str:
    """What the report of such a run says first."""
    return seen_sections(sections.first_screen(whole(folder), {}), 80)


def unknown(folder: Path) -> str:
    """The report of a run on a task that says its scores' unit, and whose best nobody knows."""
    run = journalled(folder / "first", started(PROVENANCE | {"best_known": "", "unit": "length"}), feasible(0, 5.0))
    return seen_sections(sections.first_screen(replace(report(run), origin=ORIGIN), {}))


def nothing(folder: Path) -> str:
    """The report of a run in which nothing is feasible."""
    full = report(journalled(folder / "first", started(), rejected(0, "timeout", "it took longer than 50 s")))
    return seen_sections(sections.first_screen(replace(full, origin=ORIGIN), {}))


def several(folder: Path) -> str:
    """Groups of runs beside one another."""
    runs = [tried(run, HeldOutMean(0.5, 0.2), HeldOutMean(0.75, 0.1)) for run in grid(seeds=4)]
    return seen(comparison_tables(replace(comparison(runs), tasks=comparison(runs).tasks[:1])), width=160)


def several_first(folder: Path) -> str:
    """What the report of several runs says first."""
    runs = [run for run in grid(seeds=2) if run.summary.task == "tsp"]
    return seen_sections(comparison_sections(comparison(runs), FIRST_SECTIONS, is_full=False), 120)


def several_unknown(folder: Path) -> str:
    """Groups of runs where gaps are unknown, and much else is."""
    runs = [made(method, seed, seed / 10 if seed else None) for method in ("eoh", "niche") for seed in range(3)]
    runs = [tried(unknown_gaps(run), HeldOutMean(0.5, None), HeldOutMean(None, None)) for run in runs]
    return seen(comparison_tables(comparison(runs)), width=160)


def listed(folder: Path) -> str:
    """Runs in a list."""
    first, second = made("eoh", 3, 0.125).summary, made("niche", 0, None).summary
    rows = runs_table([first, replace(second, state="running", stopped_by=None)])
    return printed(lambda: show_rows(rows, DISPENSABLE))


def live(folder: Path) -> str:
    """A run that goes on."""
    return shown(moment(facts={"next restart": "at candidate 500"}), width=110)


def live_from_the_start(folder: Path) -> str:
    """A run that has just begun."""
    return shown(moment(state=begun(), cost_usd=None, is_warming=True), width=80)


ALL = (
    one_run,
    one_run_first,
    unknown,
    nothing,
    several,
    several_first,
    several_unknown,
    listed,
    live,
    live_from_the_start,
)


def lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.splitlines() if not line.startswith("digest"))


@pytest.mark.parametrize("screen", ALL, ids=lambda screen: screen.__name__)
def test_a_screen_is_as_it_was_looked_at(tmp_path: Path, screen: object) -> None:
    assert callable(screen)
    kept = (SCREENS / f"{screen.__name__}.txt").read_text(encoding="utf-8")
    assert list(lines(screen(tmp_path))) == list(lines(kept))


def test_a_run_in_which_nothing_is_feasible_has_no_curve(tmp_path: Path) -> None:
    first = report(journalled(tmp_path / "first", started(), rejected(0, "timeout")))
    then = report(journalled(tmp_path / "then", started(), feasible(0, 5.0)))
    names = [{section.name for section in sections.run_sections(each, {})} for each in (first, then)]
    assert [("convergence" in each) for each in names] == [False, True]


def test_equal_ranks_and_an_empty_gain_are_explained_where_they_occur(tmp_path: Path) -> None:
    full = whole(tmp_path)
    ranks = [replace(each, rank=1) for each in full.top]
    splits = [replace(each, validation=1.0, gain=None if each.program == "best" else 0.0) for each in full.splits]
    text = seen_sections(sections.first_screen(replace(full, top=tuple(ranks), splits=tuple(splits)), {}), 200)
    usual = one_run_first(tmp_path / "usual")
    for said in ("equal ranks: the difference may be chance", "or a score of another sign than the template's"):
        assert said in text and said not in usual


if __name__ == "__main__":
    SCREENS.mkdir(exist_ok=True)
    for screen in ALL:
        with tempfile.TemporaryDirectory() as folder:
            text = "".join(f"{line}\n" for line in lines(screen(Path(folder))))
        (SCREENS / f"{screen.__name__}.txt").write_text(text, encoding="utf-8")
