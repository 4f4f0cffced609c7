"""Figures of reports: what is drawn is what the report says, and a figure can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import behavesim as bs
from behavesim.analysis.comparison import comparison
from behavesim.analysis.convergence import Checkpoint, Improvement, mean_convergence
from behavesim.analysis.groups import RunGroup
from behavesim.analysis.report import report
from behavesim.reports.chart import DASHES, GROUPS, IN_THE_DARK, SHAPES, Chart, write_charts
from behavesim.reports.curves import convergence_chart, groups_chart, ranks_chart
from behavesim.reports.figures import paper_charts
from behavesim.task import Objective
from tests.analysis.examples import grid, made
from tests.analysis.journals import feasible, rejected, started, stopped, write
from tests.cli.command import Command

ONE = [Checkpoint(1, 5.0, 0.5, 0.5), Checkpoint(2, 3.0, 0.3, 0.4), Checkpoint(4, 2.0, 0.2, 0.3)]
BESTS = (Improvement(0, 5.0, 0.5, asked=1), Improvement(1, 3.0, 0.3, asked=2), Improvement(3, 2.0, 0.2, asked=4))
LATER = (Improvement(2, 4.0, 0.4, asked=3),)


def test_the_mean_of_runs_is_taken_where_all_of_them_had_found_something_and_still_went_on() -> None:
    (then,) = mean_convergence([BESTS, LATER], end=3, by_gap=True)
    assert (then.at, then.best.mean) == (3, pytest.approx(0.35))
    assert [each.best.mean for each in mean_convergence([BESTS], end=4, by_gap=False)] == [5.0, 3.0, 3.0, 2.0]
    assert mean_convergence([BESTS, ()], end=4, by_gap=True) == ()
    assert mean_convergence([BESTS], end=0, by_gap=True) == ()


def test_the_mean_of_runs_of_different_length_is_that_of_each_ones_best_at_that_moment() -> None:
    steady = tuple(Improvement(k, 400.0 - k, (400.0 - k) / 1000, asked=k + 1) for k in range(300))
    for end in (99, 178, 241, 284, 300):  # none of which the other run's fifty moments need to hold
        for each in mean_convergence([steady, steady[:end]], end, by_gap=True):
            assert each.best.mean == pytest.approx((401 - each.at) / 1000)


OBJECTIVE = Objective("minimise", best_known=2.0)


def layer(chart: Chart, mark: str, place: int = 0) -> Any:
    """The layer of a chart with this mark."""
    return [each for each in chart.spec["layer"] if each["mark"]["type"] == mark][place]


def values(chart: Chart, mark: str, *fields: str, place: int = 0) -> list[Any]:
    """What a layer draws: the fields of each of its rows."""
    rows = layer(chart, mark, place).get("data", chart.spec.get("data"))["values"]
    return [tuple(row[name] for name in fields) for row in rows]


def test_a_run_is_drawn_from_its_first_program_to_its_end() -> None:
    chart = convergence_chart([Improvement(0, 5.0, 0.5, asked=1), Improvement(3, 2.0, 0.2, asked=4)], ONE, OBJECTIVE)
    assert values(chart, "line", "asked", "gap", place=1) == [(1, 50), (4, 20), (4, 20)]
    assert values(chart, "line", "asked", "gap") == [(1, 50), (2, 40), (4, 30)]
    assert layer(chart, "line")["encoding"]["y"]["title"] == "gap to the best known, %"
    assert chart.title == "Convergence over 4 candidates, in the end gap 20.00 %, ten best 30.00 %"
    assert chart.table is not None and [row[0] for row in chart.table.rows] == [1, 2, 4]


def test_scores_are_drawn_where_no_best_is_known() -> None:
    unknown = Objective("minimise", best_known=None)
    chart = convergence_chart([Improvement(0, 5.0, None, asked=1)], [Checkpoint(3, 5.0, None, None)], unknown)
    assert layer(chart, "line")["encoding"]["y"]["title"] == "score"
    assert values(chart, "line", "asked", "score") == [(1, 5.0), (3, 5.0)]


def test_a_reader_chooses_what_the_axis_across_counts_among_what_is_known() -> None:
    used = [{"requests": k + 1, "usd": None, "cpu_s": 0.5 * k, "hours": 0.0} for k in range(4)]
    across = convergence_chart(BESTS, ONE, OBJECTIVE, moments=used).spec["params"][0]
    assert across["bind"]["labels"] == ["candidates", "requests", "CPU seconds"]
    assert "bind" not in convergence_chart(BESTS, ONE, OBJECTIVE).spec["params"][0]


def test_groups_are_drawn_over_what_every_run_knows() -> None:
    def run(cost: list[float | None]) -> Any:
        found = replace(made("eoh", 0, 0.2, budget=4), improvements=BESTS)
        vars(found)["moments"] = [
            {"requests": 0, "tokens": 0, "usd": None, "cpu_s": each, "hours": 0.0} for each in cost
        ]
        return found

    family = ("tsp", "", "trusted")
    groups = [
        RunGroup(family, "a", (run([1.0, 2.0, 8.0, 10.0]), run([2.0, 4.0, 6.0, 20.0]))),
        RunGroup(family, "b", (run([5.0, 5.0, 5.0, 5.0]),)),
    ]
    chart = groups_chart("curves", groups)
    assert chart is not None
    assert chart.spec["params"][0]["bind"]["labels"] == ["candidates", "CPU seconds"]
    shown = {
        (at, group): mean
        for across, group, at, mean in values(chart, "line", "across", "group", "at", "mean")
        if across == "cpu_s"
    }
    # the shorter run of a ends after 10 s; at 2 s one has 30 %, the other 50 %, and b has nothing before 5 s
    assert [shown[at, "a"] for at in (2.0, 4.0, 10.0)] == [40, 30, 25]
    assert min(at for at, group in shown if group == "b") == 5.0
    over = groups_chart("curves", groups, axis="CPU seconds")
    assert over is not None and layer(over, "line")["encoding"]["x"]["title"] == "CPU seconds"
    groups[1] = RunGroup(family, "b", (run([5.0, 5.0, 5.0, None]),))
    with pytest.raises(bs.BehavesimError, match="CPU seconds were used is not known of every run; known: candidates"):
        groups_chart("curves", groups, axis="CPU seconds")


def test_groups_are_drawn_in_bands_where_they_have_six_runs() -> None:
    run = replace(made("eoh", 0, 0.2, budget=4), improvements=BESTS)
    family = ("tsp", "", "trusted")
    chart = groups_chart("curves", [RunGroup(family, "a", (run,) * 6), RunGroup(family, "b", (run,) * 5)])
    assert chart is not None
    rows = values(chart, "line", "group", "mean", "low")
    assert [mean for group, mean, _ in rows if group == "a"] == [50, 30, 30, 20]
    assert {group for group, _, low in rows if low is not None} == {"a"}
    assert groups_chart("curves", [RunGroup(family, "nothing", (replace(run, improvements=()),))]) is None


def test_no_two_of_many_groups_look_the_same() -> None:
    run = replace(made("eoh", 0, 0.2, budget=4), improvements=BESTS)
    groups = [RunGroup(("tsp", "", "trusted"), f"group {place}", (run,)) for place in range(24)]
    chart = groups_chart("curves", groups)
    assert chart is not None
    encoding = layer(chart, "line")["encoding"]
    looks = [encoding[name]["scale"]["range"] for name in ("color", "strokeDash")]
    assert len({(colour, str(dash)) for colour, dash in zip(*looks, strict=True)}) == 24


# What light becomes for a reader without one kind of cone, in linear RGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colour: str, eyes: Any) -> np.ndarray:
    """CIELAB of a colour as such a reader sees it."""
    share = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.clip(eyes @ np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = (np.cbrt(at) if at > 0.008856 else 7.787 * at + 16 / 116 for at in xyz / [0.95047, 1, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("marks", [DASHES, SHAPES])
@pytest.mark.parametrize("colours", [GROUPS, [IN_THE_DARK[each] for each in GROUPS]], ids=["light", "dark"])
def test_ten_groups_are_told_apart_by_every_reader(colours: Sequence[str], marks: Sequence[Any], eyes: str) -> None:
    looks = [(seen(colours[k % len(colours)], np.array(EYES[eyes])), marks[k % len(marks)]) for k in range(10)]
    for (one, mark), (other, its) in combinations(looks, 2):
        assert mark != its or np.linalg.norm(one - other) > 20  # 2.3 is what an eye just notices


def test_every_colour_has_one_for_the_dark() -> None:
    assert len(set(IN_THE_DARK.values())) == len(IN_THE_DARK)


def test_groups_whose_bars_do_not_overlap_differ() -> None:
    ranks = comparison(grid()).ranks
    assert ranks is not None
    chart = ranks_chart(ranks)
    assert chart.spec["encoding"]["y"]["sort"] == ["eoh", "niche", "best-of-n"]
    (low, high), *_ = values(chart, "rule", "low", "high")
    assert high - low == pytest.approx(ranks.critical)


def test_a_figure_can_be_made_again(tmp_path: Path) -> None:
    def drawn(folder: str) -> list[bytes]:
        return [
            file.read_bytes() for file in write_charts([convergence_chart(BESTS, ONE, OBJECTIVE)], tmp_path / folder)
        ]

    assert drawn("one") == drawn("other")


def test_a_run_in_which_nothing_was_found_has_no_figures(tmp_path: Path) -> None:
    write(tmp_path / "nothing", started(), rejected(0, "timeout"), stopped("budget"))
    run = bs.load_run(tmp_path / "nothing")
    assert list(paper_charts(comparison([report(run)]), [run])) == []
    with pytest.raises(bs.BehavesimError, match="no islands"):
        run.plot.diversity()


def test_runs_of_one_name_in_different_folders_are_both_drawn() -> None:
    run = made("eoh", 0, 0.2)
    others = [replace(run, origin=replace(run.origin, folder=Path(folder, "x"))) for folder in ("a", "b")]
    other_name = replace(run, summary=replace(run.summary, run="alone"))
    (chart,) = paper_charts(comparison([*others, other_name]), [])
    assert list(dict.fromkeys(values(chart, "line", "group"))) == [("a/x",), ("b/x",), ("alone",)]


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
    chart = run.plot.convergence()
    assert values(chart, "line", "gap", place=1)[-1] == (pytest.approx(100 * run.gap(run.best.score)),)
    assert len(values(run.plot.dendrogram(count=5), "text", "leaf")) == 5
    assert values(run.plot.diversity(), "boxplot", "inside")
    bundle = chart._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"]["description"] == chart.title
    with pytest.raises(bs.BehavesimError, match="takes two programs"):
        run.plot.dendrogram(count=1)
    assert "<td>funsearch on tsp, seed 0, proposer " in run._repr_html_()
