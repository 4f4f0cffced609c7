"""A run as its journal tells it."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from behavesim.analysis.behaviours import top
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import load_summary, summary
from behavesim.base.errors import JournalError, UsageError
from behavesim.similarity import BehaveSim
from behavesim.state.events import (
    Added,
    Evaluated,
    Event,
    GoneOn,
    NotAdded,
    Raced,
    RaceEnded,
    RunForked,
    RunResumed,
    RunStarted,
)
from behavesim.store.folder import RunFolder
from behavesim.trajectory import Trajectory
from tests.analysis.journals import (
    PROVENANCE,
    answered,
    asked,
    feasible,
    journalled,
    recommended,
    rejected,
    started,
    stopped,
    tuned,
    write,
)


def known(run: Run, candidate: int) -> Candidate:
    return run.candidates[candidate]


def test_a_candidate_has_what_has_become_of_it(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, [0, 1], [1, 0], island=1, scores=(4.0, 6.0)),
        rejected(1, "exception", "it broke"),
        rejected(2, "no-function", stage="extraction"),
        asked(3, parents=[0]),
    )
    first, second, third, last = run.candidates
    assert (first.candidate, first.status, first.stage, first.group) == (0, "feasible", "evaluation", "1")
    assert (first.score, first.scores, first.source, first.thought) == (5.0, (4.0, 6.0), "source 0", "a thought")
    assert (first.program_hash, first.copy_of, first.cpu_s, first.model) == ("program 0", None, 0.0, "m")
    assert (second.status, second.stage, second.reason, second.message) == (
        "rejected", "evaluation", "exception", "it broke",
    )  # fmt: skip
    assert (second.score, second.group, second.source) == (None, None, "its source")
    assert (third.stage, third.reason) == ("extraction", "no-function")
    assert (last.status, last.parents, last.operator, last.source) == ("open", (0,), "improve", None)
    assert run.feasible == [first]


def test_what_programs_do_is_read_once(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0, [0, 1], [1, 0]), feasible(1, 6.0, [1, 0], [0, 1]))
    done = run.trajectories([1, 0])
    run.folder.journal.unlink()
    assert run.trajectories([0, 1]) == done[::-1]


def test_a_candidate_that_was_not_kept_is_feasible_on_no_island(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0, island=None))
    assert (known(run, 0).status, known(run, 0).group) == ("feasible", None)


def test_programs_are_ranked_and_one_program_counts_once(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, program="same"),
        feasible(1, 3.0),
        feasible(2, 5.0, program="same"),
        feasible(3, 3.0),
        feasible(4, 9.0, program=""),
        feasible(5, 9.0, program=""),
    )
    assert [candidate.candidate for candidate in run.ranked()] == [1, 3, 0, 4, 5]
    assert run.best is not None and run.best.candidate == 1


def test_after_a_race_programs_are_told_apart_on_all_instances_that_both_saw(tmp_path: Path) -> None:
    """Their scores are estimates then, and no means of the first instances."""
    tours = ([0, 1], [1, 0])
    luck = [
        *feasible(0, 5.5, *tours, scores=(4.0, 7.0))[:-1],
        *(GoneOn(0, 2, 2), Raced(0, 2, (6.5, 5.5)), RaceEnded(0, 5.75, 0.5, 4), Added(0, "0")),
    ]
    same = [*feasible(1, 6.5, *tours[::-1], scores=(4.0, 9.0))[:-1], RaceEnded(1, 6.75, 0.5, 2), Added(1, "0")]
    last = [
        *feasible(2, 9.5, [0, 1], [0, 1], scores=(9.5, 9.5))[:-1],
        GoneOn(2, 2, 2),
        Raced(2, 2, (9.5, 9.5)),
        RaceEnded(2, 9.75, 0.1, 4),
    ]
    begun, template = started()
    assert isinstance(template, Evaluated)
    template = replace(template, scores=(10.0, 10.0), trajectories=template.trajectories * 2)
    run = journalled(tmp_path / "raced", [begun, template, Raced(-1, 2, (10.0, 10.0))], luck, same, last)
    assert [(each.candidate, each.rank) for each in top(run)] == [(0, 1), (1, 1), (2, 3)]
    assert summary(run).told_apart is True
    few = journalled(tmp_path / "few", [begun, template, Raced(-1, 2, (6.0, 6.1))], luck, same)
    assert summary(few).told_apart is False


def test_where_higher_scores_are_better_the_highest_is_first(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(PROVENANCE | {"direction": "maximise", "best_known": "8.0"}),
        feasible(0, 5.0),
        feasible(1, 6.0),
    )
    assert [candidate.candidate for candidate in run.ranked()] == [1, 0]
    assert run.utility(known(run, 1)) == 6.0
    assert run.gap(6.0) == 0.25


def test_a_gap_is_unknown_where_the_score_or_the_best_is(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), asked(0))
    assert (run.gap(3.0), run.gap(None), run.best, run.recommended) == (0.5, None, None, None)
    assert journalled(tmp_path / "other", started(PROVENANCE | {"best_known": ""})).gap(3.0) is None
    nameless = {name: value for name, value in PROVENANCE.items() if name != "best_known"}
    assert journalled(tmp_path / "third", started(nameless)).gap(3.0) is None


def test_the_recommended_program_is_the_chosen_one(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), feasible(1, 4.0), recommended(0, c0=3.0, c1=3.5))
    assert run.recommended == known(run, 0)
    assert journalled(tmp_path / "other", started(), feasible(0, 5.0), recommended(None, c0=None)).recommended is None


def test_similarities_are_computed_once_and_taken_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tours = ([0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1], [0, 1, 3, 2])
    programs = [feasible(number, 5.0 - number, tour) for number, tour in enumerate(tours)]
    run = journalled(tmp_path / "first", started(), *programs)
    alone = Run.load(run.folder.path).matrix([3, 0, 2])
    whole = run.matrix()
    with monkeypatch.context() as lazy:
        lazy.setattr(BehaveSim, "matrix", None)
        assert np.array_equal(run.matrix([3, 0, 2]), alone)
    assert len(run.matrix([-1, 1])) == 2 and np.array_equal(run.matrix(), whole)


def test_the_matrix_is_of_the_candidates_named_else_of_all_feasible_ones(tmp_path: Path) -> None:
    tours = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1]]
    run = journalled(
        tmp_path / "first",
        started(),
        rejected(0, "timeout"),
        *(feasible(number, 5.0, tour) for number, tour in enumerate(tours, 1)),
    )
    done = [(Trajectory.prefixes(tour),) for tour in tours]
    assert run.trajectories([3, 1]) == [done[2], done[0]]
    measure = BehaveSim(normaliser=50)
    assert np.array_equal(run.matrix(), measure.matrix(done))
    assert np.array_equal(run.matrix([3, 1]), measure.matrix([done[2], done[0]]))
    assert [rows.tolist() for rows in run.measure().rows(run.trajectories(), 2)] == [
        run.matrix()[:2].tolist(),
        run.matrix()[2:].tolist(),
    ]


def test_the_measure_is_that_of_the_runs_settings_and_refuses_no_distance_that_the_run_took(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(measure="erp", truncate=0.5, skip=1))
    assert run.measure() == BehaveSim(50, "erp", 0.5, 1, clip=True, strict=False)
    run = journalled(tmp_path / "second", started(normaliser="pair"))
    assert run.measure().normaliser == "pair"


def test_pauses_between_sessions_and_the_choice_at_the_end_are_no_active_time(tmp_path: Path) -> None:
    seconds = iter([0.0, 10.0, 11.0, 13.0, 14.0, 15.0, 16.0, 116.0, 117.0, 217.0])
    run = journalled(
        tmp_path / "first",
        started(),  # at 10 and 11
        feasible(0, 5.0),  # at 13, 14, 15 and 16
        [RunResumed((), "partial")],  # at 116
        stopped("budget"),  # at 117
        recommended(0, c0=1.0),  # at 217
        seconds=seconds,
    )
    assert run.active_s == (16 - 10) + (117 - 116)
    assert run.events_at[-1] - run.events_at[0] == 207.0


def test_a_fork_changes_the_settings_from_then_on(tmp_path: Path) -> None:
    first = journalled(tmp_path / "first", started(seed=1))
    fork = RunForked("first", {**first.settings.flat(), "budget": 99}, PROVENANCE)
    run = journalled(tmp_path / "fork", started(seed=1), feasible(0, 5.0), [fork])
    assert (first.settings.budget, run.settings.budget, run.settings.seed) == (20, 99, 1)


def test_a_run_that_goes_on_is_followed(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), asked(0)[:1])
    assert known(run, 0).model is None
    write(tmp_path / "first", [answered(0, model="other")], rejected(0, "timeout")[2:], feasible(1, 3.0))
    run.follow()
    assert (known(run, 0).model, known(run, 1).score, len(run.events_at)) == ("other", 3.0, 10)
    run.follow()
    assert len(run.candidates) == 2


def test_the_archive_is_remembered_at_every_tenth_of_the_budget(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(budget=20),
        *(feasible(number, 5.0, island=number % 2) for number in range(4)),
        rejected(4, "timeout"),
        feasible(5, 5.0),
        feasible(6, 5.0),
    )
    assert run.archives == [(2, ((0,), (1,))), (4, ((0, 2), (1, 3))), (6, ((0, 2, 5), (1, 3)))]


def test_of_a_run_longer_than_its_budget_tenths_are_of_its_length(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(budget=10), *(feasible(number, 5.0) for number in range(20)))
    assert [registered for registered, _ in run.archives] == list(range(2, 21, 2))


def test_tenths_of_the_budget_are_of_what_it_counts(tmp_path: Path) -> None:
    parts = [tuned(number - 1, feasible(number, 5.0)) if number % 2 else feasible(number, 5.0) for number in range(20)]
    run = journalled(tmp_path / "first", started(budget=10, tune=0.5), *parts)
    assert [questions for questions, _ in run.archives] == list(range(1, 11))


def test_a_journal_that_does_not_begin_with_settings_is_refused(tmp_path: Path) -> None:
    template = Evaluated(-1, "template", 10.0, (10.0,), (Trajectory.prefixes([0]),))
    for number, events in enumerate(([template, NotAdded(0)], [])):
        write(tmp_path / f"{number}", events)
        with pytest.raises(JournalError, match=f"run {number} does not begin with its settings"):
            Run.load(tmp_path / f"{number}")


def test_a_candidate_has_the_status_that_the_journals_view_gives_it(tmp_path: Path) -> None:
    repaired = [*rejected(2, "timeout")[:-1], *asked(2), *feasible(2, 3.0)[2:]]
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), rejected(1, "timeout"), repaired, asked(3))
    with closing(sqlite3.connect(tmp_path / "first" / "run.db")) as db:
        viewed = dict(db.execute("SELECT candidate, status FROM candidates ORDER BY candidate").fetchall())
    assert viewed == {candidate.candidate: candidate.status for candidate in run.candidates}
    assert list(viewed.values()) == ["feasible", "rejected", "feasible", "open"]


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        ({}, "None where it should say which scores are better"),
        ({"direction": "up"}, "'up' where it should say which scores are better"),
        ({**PROVENANCE, "best_known": "much"}, "'much' where the best known score should stand"),
    ],
)
def test_a_journal_that_does_not_say_what_scores_mean_is_refused(
    tmp_path: Path, provenance: dict[str, str], said: str
) -> None:
    write(tmp_path / "first", [RunStarted({"task": "tsp"}, provenance, "strong")])
    with pytest.raises(JournalError, match=said):
        Run.load(tmp_path / "first")


@pytest.mark.parametrize("choice", [recommended(0, c0=None), recommended(1, c1=2.0), recommended(7, c7=2.0)])
def test_a_recommended_program_without_a_score_is_refused(tmp_path: Path, choice: list[Event]) -> None:
    with pytest.raises(JournalError, match=r"candidate \d is recommended, and has no score"):
        journalled(tmp_path / "first", started(), feasible(0, 5.0), rejected(1, "timeout"), choice)


def test_a_run_is_found_by_its_path_or_by_its_name_below_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "runs" / "first", started())
    monkeypatch.chdir(tmp_path)
    assert Run.load("first").folder.run == Run.load(tmp_path / "runs/first").folder.run == "first"
    with pytest.raises(UsageError, match="there is no run 'second'"):
        Run.load("second")


def test_a_folder_is_taken_as_it_is_whatever_runs_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "first", started(seed=1))
    write(tmp_path / "runs" / "first", started(seed=2))
    monkeypatch.chdir(tmp_path)
    (folder,) = RunFolder.all(Path())
    assert Run.load(folder).settings.seed == load_summary(folder).seed == 1
    assert Run.load(folder.path).settings.seed == 2


def test_candidates_make_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = journalled(tmp_path / "first", started(), feasible(0, 5.0), rejected(1, "timeout")).to_pandas()
    assert list(frame.index) == [0, 1]
    assert list(frame["status"]) == ["feasible", "rejected"]
    assert frame.loc[0, "score"] == 5.0
    empty = journalled(tmp_path / "second", started()).to_pandas()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_journal_that_cannot_be_followed_is_closed_at_once(tmp_path: Path) -> None:
    write(tmp_path / "first", started(), [answered(7)])
    with pytest.raises(JournalError, match="candidate 7 is not open") as raised:
        Run.load(tmp_path / "first")
    files = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
    assert [path for path in files if path.is_relative_to(tmp_path)] == [], f"while somebody holds {raised.value}"
