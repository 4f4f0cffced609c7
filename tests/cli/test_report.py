"""What `behavesim report` prints: one screen, all sections, or those that are named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from behavesim_cli.commands import COMMANDS

import behavesim as bs
from behavesim.reports.sections import RUN
from tests.cli.command import Command


@pytest.fixture
def study(finished: Command) -> Command:
    """The command beside a finished run, `first`, and a folder of two more, `study`."""
    for name in ("seed0", "seed1"):
        shutil.copytree("runs/first", f"runs/study/{name}")
    return finished


def headings(text: str) -> list[str]:
    return [line.partition(" ──")[0] for line in text.splitlines() if line.endswith("───") and line[0].isalpha()]


def test_one_run_fills_a_screen_with_its_results_its_best_program_and_what_to_do_next(finished: Command) -> None:
    said = finished("report", "first").out
    best = bs.load_run("first").best
    assert best is not None and best.source is not None
    assert "\n".join(best.source.strip().splitlines()[:5]) in said
    titles = ("run first", "the best program", "scores on each set", "the best behaviours", "clusters: ")
    places = [said.index(title) for title in (*titles, "next: behavesim report first --held-out")]
    assert places == sorted(places)
    assert "islands\n" not in said and not headings(said)


def test_a_program_that_was_tried_on_other_instances_is_shown_with_that_ever_after(finished: Command) -> None:
    assert "  held-out" not in finished("report", "first").out
    tried = finished("report", "first", "--held-out", "shifted", "--json").document["runs"][0]
    by_role = {each["program"]: each for each in tried["splits"]}
    assert by_role["template"]["shifted"] == tried["shifted"]["template"]["score"] == pytest.approx(5.4217, abs=5e-5)
    later = finished("report", "first", "--json").document["runs"][0]
    assert later["held_out"] == tried["held_out"]
    by_role = {row["program"]: row for row in later["splits"]}
    assert by_role["template"]["held_out"] == tried["held_out"]["template"]["score"]
    assert by_role["recommended"]["gain"] == later["recommended"]["gain"]
    assert by_role["recommended"]["validation"] == later["recommended"]["validation_score"]
    assert by_role["best"]["search"] == later["best"]["score"]
    shown = finished("report", "first").out
    assert f"{by_role['best']['held_out']:.6g}" in shown
    assert "--held-out" not in shown.partition("next:")[2]
    (row, *others) = finished("study", "generalisation", "first", "--json").document["rows"]
    assert row["gaps"]["shifted"]["mean"] == by_role["template"]["shifted_gap"]
    assert [each["program"] for each in others] == ["best", "recommended", "portfolio of 5"]
    together = others[-1]["gaps"]["held-out"]["mean"]
    assert together <= min(each["gaps"]["held-out"]["mean"] for each in others[:1])
    assert "no shifted instances" in finished("evaluate", "cpp", "template", "--held-out", "shifted").err


def test_all_of_a_run_is_shown_section_by_section_each_below_its_name(finished: Command) -> None:
    found = [heading.partition(":")[0] for heading in headings(finished("report", "first", "--full").out)]
    assert found == [name for name in RUN if name in found]
    assert {"summary", "splits", "code", "convergence", "top", "islands", "portfolio"} <= set(found)


def test_sections_can_be_named_also_of_several_runs(study: Command) -> None:
    assert headings(study("report", "first", "--only", "islands, top").out) == [
        "top: the ten best behaviours",
        "islands",
    ]
    shown = study("report", "first", "study/seed0", "--only", "runs,islands").out
    assert headings(shown) == ["runs", "first: islands", "seed0: islands"]
    assert study("report", "first", "--only", "top", "--markdown").out.startswith("### the ten best behaviours")


def test_a_section_that_says_nothing_is_named_with_what_fills_it(study: Command) -> None:
    found = study("report", "first", "--only", "shifted,top")
    assert headings(found.out) == ["top: the ten best behaviours"]
    assert "nothing to show of shifted; --held-out, or --held-out shifted, tries the programs there" in found.err
    assert "nothing to show of ranks\n" in study("report", "first", "study", "--only", "ranks").err


def test_what_an_operator_brought_says_how_to_leave_it_out(study: Command) -> None:
    assert "--set n_init=0 leaves them out" in study("report", "first", "--only", "operators").out


def test_a_run_is_followed_without_what_a_report_of_it_takes(study: Command) -> None:
    for option in (["--json"], ["--html", "page.html"], ["--only", "top"]):
        refused = study("report", "first", "--follow", *option)
        assert (refused.code, refused.out) == (2, "")
        assert "ask for the report afterwards, without --follow" in refused.err


def test_an_unknown_section_is_refused_before_any_journal_is_read(
    study: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.analysis.run.Run.load", lambda path: pytest.fail("a journal was read"))
    for runs, name, said in (
        (["first"], "ilands", "unknown section 'ilands'; did you mean 'islands'?"),
        (["first"], "foo", "unknown section 'foo'; for one run: summary, splits, code, "),
        (["first", "study"], "foo", "; for several: matrix, verdicts, "),
        (["first"], "verdicts", "only a report of several runs has the section 'verdicts'"),
    ):
        refused = study("report", *runs, "--only", name)
        assert (refused.code, refused.out) == (2, "")
        assert said in " ".join(refused.err.split())


def test_the_folder_of_an_experiment_stands_for_its_runs(study: Command) -> None:
    for folder in ("study", "runs/study"):
        assert [run["run"] for run in study("report", folder, "--json").document["runs"]] == ["seed0", "seed1"]


def test_several_runs_are_rows_below_their_comparison(study: Command) -> None:
    said = study("report", "first", "study").out
    assert {"first", "seed0", "seed1"} <= {line.partition(" ")[0] for line in said.splitlines()}
    assert "the best program" not in said


@pytest.mark.parametrize(
    ("option", "path"), [("--html", "page.html"), ("--csv", "tables/runs.csv"), ("--figures", "drawn/convergence.pdf")]
)
def test_a_report_that_writes_files_says_which_and_prints_nothing_else(
    finished: Command, option: str, path: str
) -> None:
    ended = finished("report", "first", option, path if option == "--html" else Path(path).parent)
    assert (ended.code, ended.out) == (0, "")
    assert Path(path).exists()
    assert ended.err.startswith("behavesim: wrote ") and len(ended.err.splitlines()) == 1
    assert finished("report", "first", "--csv", "tables", "--json").document["runs"]


def test_several_runs_make_the_page_of_a_comparison(study: Command) -> None:
    ended = study("report", "first", "study", "--html", "both.html")
    assert (ended.code, ended.out) == (0, "")
    assert "3 runs compared · behavesim" in Path("both.html").read_text()


def test_commands_are_named_as_there_are_commands(finished: Command) -> None:
    for shown in (finished("report", "first").out, finished("report", "first", "first").out):
        steps = [line.split("behavesim ")[1].split()[0] for line in shown.splitlines() if "  behavesim " in line]
        assert set(steps) <= set(COMMANDS)
