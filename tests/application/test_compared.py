"""Runs in a script or a notebook: what they say of themselves, and how several compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import behavesim as bs
from behavesim.analysis.comparison import comparison
from behavesim.analysis.report import report
from behavesim.base.tokens import Usage
from behavesim.state.events import Event
from behavesim.task import Task
from tests.analysis.journals import asked, feasible, journalled, recommended, rejected, started, stopped, write
from tests.application.test_held_out import judge_of


def paid(number: int, score: float, *tours: list[int], scores: tuple[float, ...] = ()) -> list[Event]:
    """A feasible candidate whose request an endpoint counted."""
    evaluated = feasible(number, score, *tours, scores=scores or (score,))[2:]
    return [*asked(number, usage=Usage(prompt=10, completion=4)), *evaluated]


@pytest.fixture
def run(tmp_path: Path) -> bs.LoadedRun:
    tours = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1]]
    parts = [paid(number, 3.0 + number, tour) for number, tour in enumerate(tours)]
    write(tmp_path / "first", started(), *parts, rejected(3, "timeout"), recommended(1, c1=2.0))
    return bs.load_run(tmp_path / "first")


def test_a_run_says_what_it_is(run: bs.LoadedRun, tmp_path: Path) -> None:
    assert repr(run) == ("<run first: tsp, funsearch, seed 7; 4 candidates, best 3 (candidate 0), gap 50.00 %>")
    assert "candidate 0" in run._repr_html_()
    assert (len(run), run.summary.feasible, run.convergence[-1].score) == (4, 3, 3.0)
    write(tmp_path / "begun", started())
    begun = bs.load_run(tmp_path / "begun")
    assert (len(begun), bool(begun)) == (0, True)
    assert "none feasible" in repr(begun)


def test_candidates_are_named_by_number_or_as_they_are_and_one_that_is_missing_in_words(run: bs.LoadedRun) -> None:
    by_number, by_value = run.matrix([0, 2, -1]), run.matrix([run.candidates[0], np.int64(2), run.template])  # type: ignore[list-item]
    assert (by_number == by_value).all()
    assert run.candidate(run.candidates[2]) is run.candidates[2]
    for missing in (lambda: run.candidate(9), lambda: run.matrix([9]), lambda: run.trajectories([9])):
        with pytest.raises(KeyError, match=r"^run first has no candidate 9; there are 0 to 3, and -1 is the template$"):
            missing()
    with pytest.raises(bs.BehavesimError, match="candidate 3 of run first is rejected, so it has no behaviour"):
        run.matrix([0, 3])
    with pytest.raises(bs.BehavesimError, match="a candidate's number, or a candidate, was expected, not '1'"):
        run.candidate("1")  # type: ignore[arg-type]


def test_a_matrix_has_the_names_of_its_rows_where_they_are_asked_for(run: bs.LoadedRun) -> None:
    labelled = run.matrix([2, 0], labelled=True)
    assert (list(labelled.index), list(labelled.columns)) == ([2, 0], [2, 0])
    assert (labelled.to_numpy() == run.matrix([2, 0])).all()


def test_a_frame_has_gaps_tokens_scores_on_each_instance_and_the_template(tmp_path: Path) -> None:
    both = paid(0, 4.0, [0, 1, 2, 3], [0, 1, 2, 3], scores=(3.0, 5.0))
    write(tmp_path / "first", started(), both, rejected(1, "timeout"))
    run = bs.load_run(tmp_path / "first")
    frame = run.to_pandas(template=True)
    assert list(frame.index) == [-1, 0, 1]
    assert frame.loc[0, ["gap", "prompt_tokens", "completion_tokens", "score.1", "score.2"]].tolist() == [
        1,
        10,
        4,
        3,
        5,
    ]
    assert frame.loc[-1, ["score", "gap"]].tolist() == [10.0, 4.0]
    assert list(run.to_pandas().index) == [0, 1]


def test_a_notebook_shows_a_section_with_its_tables_and_then_its_charts(
    run: bs.LoadedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run.section("convergence")
    bundle = shown._repr_mimebundle_()
    assert "<h3>the best score so far</h3>" in bundle["text/html"] and "| candidate |" in bundle["text/plain"]
    displayed: list[object] = []
    monkeypatch.setattr("IPython.display.display", lambda value, **_: displayed.append(value))
    shown._ipython_display_()
    assert displayed == [bundle, *shown.charts]
    with pytest.raises(bs.BehavesimError, match="unknown section 'convergnce'; did you mean 'convergence'"):
        run.section("convergnce")


def test_runs_are_compared_with_tests_ranks_and_a_verdict(tmp_path: Path) -> None:
    for method, shift in (("niche", 0.0), ("eoh", 1.0)):
        for seed in (1, 2, 3):
            settings = {"method": method, "seed": seed, "budget": 1}
            parts = feasible(0, 3.0 + shift + seed / 10), stopped("budget")
            write(tmp_path / f"{method}{seed}", started(**settings), *parts)
    folders = sorted(path for path in tmp_path.iterdir())
    found = bs.compare(folders)
    same = comparison([report(bs.load_run(folder)) for folder in folders])
    assert (found.tasks, found.tests, found.ranks) == (same.tasks, same.tasks[0].tests, same.ranks)
    assert [each.sentence for each in found.verdicts] == [
        "No significant difference in best gap between eoh and niche "
        "(p = 0.10; 3 runs per group are too few for any result below 0.10)"
    ]
    assert found.verdicts[0].sentence in repr(found)
    assert "No significant difference" in found._repr_html_()
    assert "best gap" in found.section("tests")._repr_mimebundle_()["text/plain"]
    frame = found.to_pandas()
    assert frame.groupby("group")["best_gap"].mean().to_dict() == pytest.approx({"eoh": 1.1, "niche": 0.6})
    assert list(dict.fromkeys(row["group"] for row in found.convergence().spec["data"]["values"])) == ["eoh", "niche"]
    assert isinstance(bs.load_run(folders[0]).task(), Task)


def test_runs_on_two_tasks_have_no_curve_in_common(tmp_path: Path) -> None:
    for task in ("tsp", "asp"):
        write(tmp_path / task, started(task=task, budget=1), feasible(0, 3.0), stopped("budget"))
    with pytest.raises(bs.BehavesimError, match="takes groups on one task; these runs have 2"):
        bs.compare([tmp_path / "tsp", tmp_path / "asp"]).convergence()


def test_runs_are_tried_on_held_out_instances_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        journalled(tmp_path / str(seed), started(seed=seed, budget=1), feasible(0, 3.0), stopped("budget"))
        for seed in range(2)
    ]
    assert [each.held_out for each in bs.compare(runs).found.groups[0].runs] == [None, None]
    monkeypatch.setattr("behavesim.engine.build.judge_of", judge_of)
    found = [each.held_out for each in bs.compare(runs, held_out=True).found.groups[0].runs]
    assert [each.programs[0].score for each in found if each is not None] == [8.0, 8.0]


def test_the_map_names_what_readers_look_for_and_the_portfolio_is_drawn_over_its_size(run: bs.LoadedRun) -> None:
    marks = [each["name"] for each in run.plot.map().spec["layer"][1]["data"]["values"]]
    assert sorted(", ".join(marks).split(", ")) == ["best", "recommended", "template"]
    first, *_ = run.plot.portfolio().spec["data"]["values"]
    assert (first["programs"], first["together"]) == (1, 50)
    write(run.folder.path.parent / "none", started(), rejected(0, "timeout"))
    none = bs.load_run(run.folder.path.parent / "none")
    with pytest.raises(bs.BehavesimError, match="no feasible candidate"):
        none.plot.map()
    with pytest.raises(bs.BehavesimError, match="run none has no feasible candidate, so there is no portfolio to draw"):
        none.plot.portfolio()


def test_one_run_that_is_in_no_list_is_refused_in_words(run: bs.LoadedRun) -> None:
    everything = bs.compare([run.folder.path.parent])
    assert [each.folder for each in everything.runs] == [run.folder], "a folder stands for its runs"
    for alone in (run, "runs/first", run.folder.path):
        with pytest.raises(bs.BehavesimError, match=r"one alone stands in brackets"):
            bs.compare(alone)  # type: ignore[arg-type]
