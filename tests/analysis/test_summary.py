"""A run at a glance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.analysis.summary import RecommendedProgram, load_summary, save_summary, state_of, summary
from behavesim.analysis.table import Scored
from behavesim.base.tokens import Usage
from behavesim.reports.tables import summary_table
from behavesim.state.events import Evaluated
from tests.analysis.journals import PROVENANCE, asked, feasible, journalled, recommended, rejected, started, stopped

USED = Usage(prompt=100, cached=40, completion=30, reasoning=20)


def test_a_summary_has_what_the_run_was_and_found(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0),
        rejected(1, "timeout"),
        feasible(2, 4.0),
        rejected(3, "exception"),
        rejected(4, "timeout"),
        asked(5),
        stopped("max_cost"),
        recommended(0, c0=3.5, c2=None),
    )
    found = summary(run)
    assert (found.run, found.task, found.method, found.proposer, found.seed) == (
        "first", "tsp", "funsearch", "genetic", 7,
    )  # fmt: skip
    assert (found.asked, found.feasible, found.rejections, found.open) == (6, 2, 3, 1)
    assert list(found.rejected.items()) == [("exception", 1), ("timeout", 2)]
    assert found.best == Scored(2, 4.0, 1.0)
    assert found.recommended == RecommendedProgram(0, 5.0, 1.5, 3.5, None, 5)
    assert found.top10_gap == 1.25
    assert (found.isolation, found.digest, found.seconds) == ("strong", run.state.digest(), run.active_s)


def test_seconds_are_rounded_to_milliseconds(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), asked(0), seconds=iter([0.0, 1.0, 1.5, 2.0, 2.6666666]))
    assert summary(run).seconds == 1.667


@pytest.mark.parametrize(
    ("reason", "state", "by"),
    [
        ("budget", "finished", "budget"),
        ("failed", "failed", "failed"),
        ("max_cost", "stopped", "max_cost"),
        ("interrupted", "stopped", "interrupted"),
        (None, "stopped", "killed"),
    ],
)
def test_how_a_run_ended_is_told_from_its_last_event(tmp_path: Path, reason: str | None, state: str, by: str) -> None:
    run = journalled(tmp_path / "first", started(), [] if reason is None else stopped(reason))
    assert (summary(run).state, summary(run).stopped_by) == (state, by)


def test_a_run_that_a_process_holds_is_running(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started())
    with run.folder.locked():
        run.follow()
        assert (state_of(run), summary(run).stopped_by) == ("running", None)


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_ends_after_its_journal_was_read_is_not_taken_for_killed(tmp_path: Path, again: bool) -> None:
    run = journalled(tmp_path / "first", started(), asked(0))
    with run.folder.locked():
        seen = run if again else Run.load(run.folder.path)
        if again:
            seen.follow()
    assert (state_of(seen), summary(seen).stopped_by) == ("running", None)
    assert save_summary(seen).state == "running"
    assert load_summary(run.folder).stopped_by == "killed"


def test_where_nothing_is_feasible_there_is_no_best_and_no_gap(tmp_path: Path) -> None:
    found = summary(journalled(tmp_path / "first", started(), rejected(0, "timeout"), recommended(None)))
    assert (found.best, found.best_program, found.recommended, found.top10_gap) == (None, None, None, None)


def test_the_best_program_is_the_template_until_a_candidate_is_better(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 12.0), stopped("budget"))
    found = save_summary(run)
    assert (found.best, found.best_program) == (Scored(0, 12.0, 5.0), found.template)
    assert found.template is not None and found.template.candidate == -1
    assert load_summary(run.folder) == found
    assert "best 10 (the template)" in repr(run)
    better = summary(journalled(tmp_path / "second", started(), feasible(0, 5.0)))
    assert better.best == better.best_program == Scored(0, 5.0, 1.5)


def test_where_the_best_known_is_unknown_so_are_gaps(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(PROVENANCE | {"best_known": ""}), feasible(0, 5.0), feasible(1, 4.0))
    assert summary(run).best == Scored(1, 4.0, None)
    assert summary(run).top10_gap is None


def test_the_mean_gap_is_of_the_ten_best_distinct_programs(tmp_path: Path) -> None:
    scores = [3.0 + number for number in range(12)]
    copies = (feasible(number, score, program="one") for number, score in ((12, 3.0), (13, 3.0)))
    run = journalled(tmp_path / "first", started(), *(feasible(n, score) for n, score in enumerate(scores)), *copies)
    best = [3.0, 3.0, *scores[1:9]]
    assert summary(run).top10_gap == pytest.approx(sum((score - 2) / 2 for score in best) / 10)


@pytest.mark.parametrize(("apart", "is_known"), [(0.1, True), (1e-12, False)])
def test_programs_that_reach_the_same_say_nothing_of_chance(tmp_path: Path, apart: float, is_known: bool) -> None:
    tours = ([0, 1, 2, 3], [0, 1, 3, 2])
    begun, template = started()
    assert isinstance(template, Evaluated)
    one, other = (4.0, 6.0), (4.0 - apart, 6.0 + apart)
    programs = [feasible(n, 5.0, *tours, scores=each) for n, each in enumerate((one, other))]
    run = journalled(tmp_path / "first", [begun, replace(template, score=5.0, scores=(4.0, 6.0))], *programs)
    noise = summary(run).noise
    assert (noise is not None) == is_known and (noise is None or noise.instances == 2)


def test_tokens_are_summed_over_models(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), asked(0, usage=USED), asked(1, usage=USED, model="other"))
    assert summary(run).tokens == {"prompt": 200, "cached": 80, "completion": 60, "reasoning": 40}


def test_tokens_that_no_answer_reported_are_unknown_and_not_zero(tmp_path: Path) -> None:
    silent = journalled(tmp_path / "silent", started(), asked(0, usage=Usage()))
    assert summary(silent).tokens == dict.fromkeys(("prompt", "cached", "completion", "reasoning"))
    assert summary(silent).cost_usd is None
    some = journalled(tmp_path / "some", started(), asked(0, usage=Usage()), asked(1, usage=USED))
    assert summary(some).tokens["prompt"] == 100
    nobody = journalled(tmp_path / "nobody", started(), asked(0))
    assert (summary(nobody).tokens["prompt"], summary(nobody).cost_usd) == (0, 0.0)


def test_the_cost_is_by_the_runs_own_prices(tmp_path: Path) -> None:
    prices = {"m": {"prompt": 2.0, "completion": 10.0, "cached": 1.0}}
    run = journalled(tmp_path / "first", started(prices=prices), asked(0, usage=USED))
    assert summary(run).cost_usd == pytest.approx((60 * 2 + 40 * 1 + 30 * 10) / 1e6)
    unknown = journalled(tmp_path / "other", started(), asked(0, usage=USED, model="of no known price"))
    assert summary(unknown).cost_usd is None


@pytest.mark.parametrize(
    ("scores", "is_better"),
    [((8.0, 11.0, 7.0, 11.5), False), ((9.0, 9.1, 8.9, 9.2), True), ((9.0,), None)],
    ids=["within chance", "told apart", "one instance"],
)
def test_a_gain_that_chance_explains_is_said_to_be_one(
    tmp_path: Path, scores: tuple[float, ...], is_better: bool | None
) -> None:
    begun, template = started()
    assert isinstance(template, Evaluated)
    tours = [[0, 1, 2, 3]] * len(scores)
    same = replace(template, scores=(10.0,) * len(scores), trajectories=template.trajectories * len(scores))
    mean = sum(scores) / len(scores)
    run = journalled(tmp_path / "first", [begun, same], feasible(0, mean, *tours, scores=scores))
    found = summary(run)
    assert found.told_apart is is_better
    (said,) = (str(row[1]) for row in summary_table(found).rows if row[0] == "progress")
    assert "better" in said and ("may be chance" in said) == (is_better is False)
