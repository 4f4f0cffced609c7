"""Figures of reports: what is drawn is what the report says, and a figure can be made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import behavesim as bs
from behavesim.analysis.comparison import comparison
from behavesim.analysis.convergence import Checkpoint, Improvement, mean_convergence
from behavesim.analysis.groups import RunGroup
from behavesim.analysis.report import report
from behavesim.reports import figures
from behavesim.reports.figures import draw_groups, draw_ranks, draw_run, line_style, write_figure, write_figures
from tests.analysis.examples import grid, made
from tests.analysis.journals import feasible, rejected, started, stopped, write
from tests.cli.command import Command

ONE = [Checkpoint(1, 5.0, 0.5, 0.5), Checkpoint(2, 3.0, 0.3, 0.4), Checkpoint(4, 2.0, 0.2, 0.3)]
BESTS = (Improvement(0, 5.0, 0.5, asked=1), Improvement(1, 3.0, 0.3, asked=2), Improvement(3, 2.0, 0.2, asked=4))
LATER = (Improvement(2, 4.0, 0.4, asked=3),)


def test_the_mean_of_runs_is_taken_where_all_of_them_had_found_something_and_still_went_on() -> None:
    (then,) = mean_convergence([BESTS, LATER], end=3, by_gap=True)
    assert (then.asked, then.best.mean) == (3, pytest.approx(0.35))
    assert [each.best.mean for each in mean_convergence([BESTS], end=4, by_gap=False)] == [5.0, 3.0, 3.0, 2.0]
    assert mean_convergence([BESTS, ()], end=4, by_gap=True) == ()
    assert mean_convergence([BESTS], end=0, by_gap=True) == ()


def test_the_mean_of_runs_of_different_length_is_that_of_each_ones_best_at_that_moment() -> None:
    steady = tuple(Improvement(k, 400.0 - k, (400.0 - k) / 1000, asked=k + 1) for k in range(300))
    for end in (99, 178, 241, 284, 300):  # none of which the other run's fifty moments need to hold
        for each in mean_convergence([steady, steady[:end]], end, by_gap=True):
            assert each.best.mean == pytest.approx((401 - each.asked) / 1000)


def test_a_run_is_drawn_from_its_first_program_to_its_end() -> None:
    axes = Figure().subplots()
    draw_run(axes, [Improvement(0, 5.0, 0.5, asked=1), Improvement(3, 2.0, 0.2, asked=4)], ONE)
    best, ten = axes.lines
    assert best.get_xydata().tolist() == [[1, 50], [4, 20], [4, 20]]
    assert ten.get_xydata().tolist() == [[1, 50], [2, 40], [4, 30]]
    assert axes.get_ylabel() == "gap %"


def test_scores_are_drawn_where_no_best_is_known_and_nothing_where_there_is_nothing() -> None:
    axes = Figure().subplots()
    draw_run(axes, [Improvement(0, 5.0, None, asked=1)], [Checkpoint(3, 5.0, None, None)])
    assert (axes.get_ylabel(), axes.lines[0].get_ydata().tolist()) == ("score", [5.0, 5.0])
    draw_run(empty := Figure().subplots(), [], [])
    assert not empty.lines


def test_groups_are_drawn_in_bands_where_they_have_six_runs() -> None:
    axes = Figure().subplots()
    run = replace(made("eoh", 0, 0.2, budget=4), improvements=BESTS)
    family = ("tsp", "", "trusted")
    draw_groups(axes, [RunGroup(family, "a", (run,) * 6), RunGroup(family, "b", (run,) * 5)])
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert axes.lines[0].get_ydata().tolist() == [50, 30, 30, 20]
    assert len(axes.collections) == 1 and not axes.get_title("right")
    draw_groups(axes, [RunGroup(family, "nothing", (replace(run, improvements=()),))])
    assert len(axes.lines) == 2
    draw_groups(axes, [RunGroup(("mine", "", "self-reported"), "a", (run,))])
    assert axes.get_title("right") == "with self-reported scores"


def test_no_two_curves_look_the_same_and_those_of_one_colour_differ_in_dashes() -> None:
    axes = Figure().subplots()
    for place in range(60):
        axes.plot([0, 1], **line_style(place))
    looks = {(line.get_color(), str(line._dash_pattern)) for line in axes.lines}  # type: ignore[attr-defined]
    assert len(looks) == 60
    assert len({line.get_color() for line in axes.lines[:7]}) == 7


def test_groups_whose_bars_do_not_overlap_differ() -> None:
    ranks = comparison(grid()).ranks
    assert ranks is not None
    axes = Figure().subplots()
    draw_ranks(axes, ranks)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["eoh", "niche", "best-of-n"]
    (low, _), (high, _) = axes.collections[0].get_segments()[0]
    assert high - low == pytest.approx(ranks.critical)


def test_a_figure_can_be_made_again(tmp_path: Path) -> None:
    def drawn(folder: str) -> list[bytes]:
        figure = Figure()
        draw_run(figure.subplots(), [Improvement(0, 5.0, 0.5, asked=1)], ONE)
        return [file.read_bytes() for file in write_figure(figure, tmp_path / folder, "convergence")]

    assert drawn("one") == drawn("other")


def test_a_run_in_which_nothing_was_found_has_figures_all_the_same(tmp_path: Path) -> None:
    write(tmp_path / "nothing", started(), rejected(0, "timeout"), stopped("budget"))
    run = bs.load_run(tmp_path / "nothing")
    files = write_figures(comparison([report(run)]), [run], tmp_path / "figures")
    assert [file.name for file in files] == ["convergence.pdf", "convergence.svg"]
    with pytest.raises(bs.BehavesimError, match="no islands"):
        run.plot.diversity()


def test_runs_of_one_name_in_different_folders_are_both_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[list[str]] = []
    monkeypatch.setattr(figures, "draw_diversity", lambda axes, runs: labels.append(list(runs)))
    run = made("eoh", 0, 0.2)
    others = [replace(run, origin=replace(run.origin, folder=Path(folder, "x"))) for folder in ("a", "b")]
    other_name = replace(run, summary=replace(run.summary, run="alone"))
    write_figures(comparison([*others, other_name]), [], tmp_path)
    assert labels == [["a/x", "b/x", "alone"]]


def test_the_figures_of_one_run_and_of_several_have_names_that_stay(behavesim: Command, tmp_path: Path) -> None:
    programs = [feasible(k, 9.0 - k, [k, *range(k), *range(k + 1, 6)]) for k in range(6)]
    for method in ("niche", "funsearch"):
        for seed in range(2):
            parts = started(method=method, seed=seed), *programs[: 6 - seed], stopped("budget")
            write(Path("runs", f"{method}-{seed}"), *parts)
    assert behavesim("report", "funsearch-0", "--figures", "one").code == 0
    assert behavesim("report", "funsearch-0", "funsearch-1", "niche-0", "niche-1", "--figures", "all").code == 0
    names = {"one": ["convergence", "dendrogram", "diversity"], "all": ["convergence-tsp"]}
    for folder, stems in names.items():
        files = sorted(file.name for file in (tmp_path / folder).iterdir())
        assert files == [f"{stem}.{kind}" for stem in stems for kind in ("pdf", "svg")]
    assert b"/Type3" not in (tmp_path / "one/convergence.pdf").read_bytes(), "fonts are embedded as TrueType"

    run = bs.load_run("runs/funsearch-0")
    axes = Figure().subplots()
    assert run.plot.convergence(axes) is axes
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(100 * run.gap(run.best.score))
    assert len(run.plot.dendrogram(Figure().subplots(), count=5).get_yticklabels()) == 5
    assert run.plot.diversity(Figure().subplots()).lines
    with pytest.raises(bs.BehavesimError, match="takes two programs"):
        run.plot.dendrogram(count=1)
    assert "<td>funsearch on tsp, seed 0</td>" in run._repr_html_()
