"""A run's summary as a person reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from behavesim.analysis.behaviours import DistinctCounts
from behavesim.analysis.summary import RecommendedProgram, Summary, TuningBrought
from behavesim.analysis.table import Scored
from behavesim.reports.tables import headline_table, runs_table, summary_table
from behavesim.state.advice import Advice
from tests.analysis.examples import made
from tests.reports.drawing import seen

DONE = replace(made("eoh", 3, 0.125).summary, asked=104, rejected={"timeout": 3, "exception": 1})


def rows(summary: Summary) -> dict[str, str]:
    return {str(name): str(value) for name, value in summary_table(summary).rows}


def test_a_summary_says_what_a_run_was_and_found() -> None:
    found = rows(DONE)
    assert found["state"] == "finished"
    assert found["method"] == "eoh on tsp, seed 3"
    assert found["candidates"] == "104 asked, 100 feasible, 4 rejected"
    assert found["rejected"] == "3 timed out, 1 raised an exception"
    assert found["best"] == "1.125, gap 12.50 % (candidate 1)"
    assert found["top-10 gap"] == "12.50 %, the mean of the ten best programs"
    assert rows(replace(DONE, feasible=9))["top-10 gap"] == "12.50 %, the mean of all programs"
    assert found["tokens"] == "prompt 5, completion 1"
    assert found["time"] == "1.5 s, 69.3/s"
    assert summary_table(DONE).title == "run eoh-3-"


def test_a_run_without_a_program_says_what_the_template_scores_once_that_is_known() -> None:
    fruitless = replace(DONE, best=None, gain=None)
    assert rows(fruitless)["template"] == "2, gap 100.00 %"
    assert rows(replace(fruitless, template=None)).keys().isdisjoint({"template", "progress"})


def test_a_summary_says_what_a_person_advised_and_when() -> None:
    advised = replace(DONE, advice=(Advice("Try this.", 3, 9), Advice("Try that.", 12)))
    said = "“Try that.”, since candidate 12; “Try this.”, candidates 3–8"
    assert rows(advised)["advice"] == said
    assert "advice" not in rows(DONE)


def test_what_ended_a_run_is_said_in_words() -> None:
    for stopped_by, said in (("max_cost", "cost cap reached"), ("interrupted", "interrupted")):
        assert rows(replace(DONE, state="stopped", stopped_by=stopped_by))["state"] == f"stopped: {said}"
    assert rows(replace(DONE, state="stopped", stopped_by="killed"))["state"] == "killed: resume it"
    failed = replace(DONE, state="failed", stopped_by="failed")
    assert rows(failed)["state"] == "failed"
    refused = replace(failed, failure="no reply for 61 s")
    assert rows(refused)["state"] == runs_table([refused]).rows[0][1] == "failed: no reply for 61 s"


def test_a_summary_counts_what_is_still_open() -> None:
    assert rows(replace(DONE, asked=134))["candidates"] == "134 asked, 100 feasible, 4 rejected, 30 open"
    assert rows(replace(DONE, state="running", stopped_by=None))["state"] == "running"


def test_more_are_feasible_than_asked_for_only_where_some_are_said_to_be_tuned() -> None:
    brought = TuningBrought(candidates=4, better=1, none=3, trials=42, gain=0.0, written_gain=0.1)
    tuned = replace(DONE, asked=99, rejected={}, tuning=brought)
    assert rows(tuned)["candidates"] == "99 asked and 1 tuned, 100 feasible, 0 rejected"


def test_a_list_shows_the_template_and_says_so_while_nothing_beats_it() -> None:
    beaten, unbeaten, fruitless = DONE, replace(DONE, gain=-0.1), replace(DONE, best=None, gain=None)
    table = runs_table([beaten, unbeaten, fruitless])
    assert [row[6:8] for row in table.rows] == [(1.125, 0.125), ("2 (template)", 1.0), (None, None)]
    assert [each and each.candidate for each in (beaten.best_program, unbeaten.best_program)] == [1, -1]
    assert rows(unbeaten)["best"].endswith("(the template)")


def test_what_is_unknown_is_called_so_and_never_zero() -> None:
    nothing: dict[str, int | None] = dict.fromkeys(DONE.tokens)
    found = rows(replace(DONE, best=Scored(1, 2.0, None), top10_gap=None, tokens=nothing, rejected={}))
    assert found["best"] == "2 (candidate 1)"
    assert "top-10 gap" not in found
    assert found["cost"] == "unknown"
    assert found["tokens"] == "unknown"
    assert "rejected" not in found
    assert rows(replace(DONE, best=None))["best"] == "none yet"


@pytest.mark.parametrize(
    ("template", "best", "gain", "said"),
    [
        (
            77.54,
            73.79,
            -3.75 / 77.54,
            "template 77.54 → best candidate 73.79, 4.8 % worse: nothing has beaten the template",
        ),
        (7.0, 6.3, 0.1, "template 7 → best 6.3, 10.0 % better"),
        (0.5, -6.0, 13.0, "template 0.5 → best -6, 6.5 better"),
        (-8.0, -6.0, 0.25, "template -8 → best -6, 25.0 % better"),
        (7.0, 7.0, 0.0, "template 7 → best candidate 7: nothing has beaten the template"),
        (0.0, 3.0, 3.0, "template 0 → best 3, 3 better"),
    ],
)
def test_a_summary_says_how_the_best_stands_to_the_template(
    template: float, best: float, gain: float, said: str
) -> None:
    summary = replace(DONE, template=Scored(-1, template, None), best=Scored(1, best, None), gain=gain)
    assert rows(summary)["progress"] == said


def test_where_nothing_beats_the_template_it_is_the_best_program() -> None:
    behind = replace(DONE, template=Scored(-1, 7.0, None), best=Scored(3, 9.0, None), gain=-2 / 7)
    found = rows(behind)
    assert (found["best"], found["best candidate"]) == ("7 (the template)", "9 (candidate 3)")
    assert rows(replace(behind, state="stopped", stopped_by="max_cost"))["progress"].endswith("the template yet")
    assert "best candidate" not in rows(DONE)


def test_where_nothing_is_feasible_the_template_is_all_there_is() -> None:
    assert rows(replace(DONE, best=None, gain=None))["template"] == "2, gap 100.00 %"


def test_a_list_shortens_what_would_take_all_the_room() -> None:
    failure = "the endpoint refused the request, and said much about why"
    failed = replace(DONE, state="failed", failure=failure, method="/home/ada/methods/own.py")
    (row,) = runs_table([failed]).rows
    assert row[1:4] == ("failed: the endpoint refused…", "tsp", "own")


def test_a_recommended_template_is_called_so() -> None:
    found = rows(
        replace(DONE, recommended=RecommendedProgram(-1, 2.0, None, 3.25, None, DONE.feasible + DONE.rejections))
    )
    assert found["recommended"] == "2 (the template), on validation instances 3.25"


def test_a_cost_and_many_tokens_are_written_as_people_write_them() -> None:
    found = rows(replace(DONE, cost_usd=1.5, tokens={"prompt": 12345}))
    assert (found["cost"], found["tokens"]) == ("$1.50", "prompt 12,345")


def test_the_recommended_program_has_its_score_on_validation_instances() -> None:
    assert "recommended" not in rows(DONE)  # the task may have no validation instances, so "none yet" would promise
    of_evaluator = replace(DONE, score_source="self-reported")
    chosen = "none: no program was chosen on validation instances; evaluators that take an instance's number have some"
    assert rows(of_evaluator)["recommended"] == chosen
    found = rows(
        replace(DONE, recommended=RecommendedProgram(4, 2.0, 0.5, 3.25, None, DONE.feasible + DONE.rejections))
    )
    assert found["recommended"] == "2, gap 50.00 % (candidate 4), on validation instances 3.25"
    early = replace(DONE, recommended=RecommendedProgram(4, 2.0, 0.5, 3.25, None, 1))
    assert rows(early)["recommended"] == f"{found['recommended']}; chosen from the first 1"


def test_a_summary_has_no_heading() -> None:
    lines = seen([summary_table(DONE)]).splitlines()
    assert lines[0].rstrip() == "run eoh-3-"
    assert lines[1].startswith("state ")


def test_a_run_that_asked_no_model_has_no_line_of_zeros() -> None:
    offline = replace(DONE, cost_usd=0.0, tokens=dict.fromkeys(DONE.tokens, 0))
    for table in (summary_table(offline), headline_table(offline, DistinctCounts(100, 90, 60, 4))):
        assert not {"tokens", "cost"} & {str(row[0]) for row in table.rows}
    assert rows(replace(offline, unanswered=2))["cost"] == "$0.00"


def test_a_report_begins_with_how_many_programs_and_behaviours_were_found() -> None:
    headline = dict(headline_table(DONE, DistinctCounts(100, 90, 60, 4)).rows)
    assert headline["different"] == "90 programs, 60 behaviours"
    found = rows(DONE)
    assert (headline["state"], headline["candidates"]) == (
        "finished",
        f"{found['candidates']}; took {found['time']}",
    )


def test_runs_are_listed_with_their_best() -> None:
    table = runs_table([DONE, replace(DONE, run="other", best=None)])
    assert table.rows == (
        ("eoh-3-", "finished", "tsp", "eoh", 3, 104, 1.125, 0.125),
        ("other", "finished", "tsp", "eoh", 3, 104, None, None),
    )
    assert "12.50" in seen([table])


def test_the_list_of_runs_says_a_state_in_the_words_of_the_summary() -> None:
    out_of_time = replace(DONE, state="stopped", stopped_by="max_time")
    ((_, state, *_),) = runs_table([out_of_time]).rows
    assert state == rows(out_of_time)["state"] == "stopped: time is up"


def test_a_summary_says_who_computed_the_scores() -> None:
    assert rows(DONE)["scores"].startswith("trusted: ")
    assert rows(replace(DONE, score_source="self-reported"))["scores"].startswith("self-reported: ")


def test_a_list_with_self_reported_scores_says_of_each_run_whose_they_are() -> None:
    shown = runs_table([DONE, replace(DONE, score_source="self-reported")])
    assert [row[-1] for row in shown.rows] == ["trusted", "self-reported"]
    assert "scores" not in [column.name for column in runs_table([DONE]).columns]
