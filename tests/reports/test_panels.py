"""What a person sees of a run that goes on."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

from behavesim.base.notices import Notice
from behavesim.base.tokens import Usage
from behavesim.engine.admission import settings_from_person
from behavesim.reports.live import LiveRun
from behavesim.reports.panels import Dashboard, line
from behavesim.reports.words import clock
from behavesim.state.events import (
    TEMPLATE,
    Added,
    Advised,
    Asked,
    Evaluated,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunStarted,
)
from behavesim.state.state import RunState
from behavesim.task import Objective
from behavesim.trajectory import Trajectory

SETTINGS = settings_from_person({"task": "tsp", "budget": 60, "n_init": 20})


def state() -> RunState:
    """A run of 21 candidates, the last of them rejected, on ten islands."""
    state = RunState(Objective("minimise", best_known=1.0))
    state.apply(RunStarted(SETTINGS.flat(), {}, "strong"))
    state.apply(Evaluated(TEMPLATE, "template", 2.5, (2.5,), (Trajectory.prefixes([50]),)))
    for candidate in range(21):
        state.apply(Asked(candidate, (), None, Prompt("", "template")))
        state.apply(Responded(candidate, Reply("", "genetic")))
        if candidate < 20:
            done = Trajectory.prefixes([candidate])
            state.apply(Evaluated(candidate, f"program {candidate}", 2.0 + candidate, (2.0 + candidate,), (done,)))
            state.apply(Added(candidate, None))
    state.apply(Regrouped({str(island): (island, island + 10) for island in range(10)}))
    state.apply(Rejected(20, "evaluation", "exception"))
    return state


def test_a_run_that_waits_for_its_first_comparison_says_so_instead_of_a_time() -> None:
    assert line(LiveRun("first", SETTINGS, state(), 20.0, 1.0, None)).endswith(", 0:40 left")
    waiting = line(LiveRun("first", SETTINGS, state(), 20.0, 1.0, None, is_warming=True))
    assert waiting.endswith(", loading the comparison")
    seen = shown(moment(is_warming=True))
    assert row(seen, "comparison") == "being loaded; compiled once a machine, about 10 s"
    assert "comparison" not in shown(moment())


def moment(**changes: Any) -> LiveRun:
    """The run of 21 candidates, 20 seconds old, at one a second."""
    return replace(LiveRun("first", SETTINGS, state(), 20.0, 1.0, 0.25), **changes)


def begun() -> RunState:
    """A run of which nothing has come yet: one candidate waits for a reply, one for its evaluation."""
    state = RunState(Objective("minimise"))
    state.apply(RunStarted(SETTINGS.flat(), {}, "strong"))
    for candidate in range(2):
        state.apply(Asked(candidate, (), None, Prompt("", "template")))
    state.apply(Responded(1, Reply("", "m", (Usage(prompt=1200, completion=30),))))
    return state


def shown(moment: LiveRun, width: int = 120, height: int = 60) -> str:
    console = Console(file=io.StringIO(), width=width, height=height, record=True)
    console.print(Dashboard(moment))
    return console.export_text()


def row(text: str, name: str) -> str:
    """What stands beside a name, up to the next column."""
    (found,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return found.removeprefix(name).strip()


def test_the_dashboard_says_what_runs_and_how_far_it_is() -> None:
    seen = shown(moment())
    assert "behavesim · first" in seen
    assert "funsearch+behavesim on tsp, proposer genetic, seed 0, isolation strong" in seen
    assert f"{state().tally.outcomes:,} / 60   1.0/s   0:20 gone, 0:40 left" in seen
    asking = settings_from_person({"task": "tsp", "proposer": "openai", "models": {"a": 1.0, "b": 2.0}})
    assert "proposer openai (a, b)" in shown(moment(settings=asking))


def test_the_dashboard_says_what_was_found() -> None:
    seen = shown(moment())
    assert row(seen, "best") == "2, gap 100.00 % (candidate 0)"
    assert row(seen, "feasible") == "20 of 21"
    assert row(seen, "behaviours") == "20 different; 0 % repeat; 0 % copies"
    assert row(seen, "in flight") == "0 prompts, 0 programs"
    assert row(seen, "raised an exception") == "1  5 %"
    assert "tokens" not in seen and "cost" not in seen and "put off" not in seen
    busy = state()
    busy.tally.put_off.update(clock=2, cpu=1)
    assert row(shown(moment(state=busy)), "put off") == "3 times, then tried alone: 2 clock, 1 cpu"


def test_shares_of_repeats_are_of_the_feasible_ones() -> None:
    later = state()
    later.tally.repeated_programs, later.tally.repeated_behaviours = 5, 10
    assert row(shown(moment(state=later)), "behaviours") == "10 different; 50 % repeat; 25 % copies"
    later.tally.recent_repeats.extend([True, False] * 45 + [True] * 10)
    assert (
        row(shown(moment(state=later)), "behaviours") == "10 different; 50 % repeat (55 % of the last 100); 25 % copies"
    )


def test_tuned_candidates_are_no_progress_of_the_budget() -> None:
    tuning = state()
    assert line(moment(state=tuning)).startswith("21/60 tried, 20 feasible")
    tuning.apply(Asked(21, (0,), None, Prompt("", "tune")))
    tuning.apply(Responded(21, Reply("", "tune")))
    tuning.apply(Evaluated(21, "tuned", 1.9, (1.9,), (Trajectory.prefixes([0]),)))
    assert line(moment(state=tuning)).startswith("21/60 tried, 21 feasible")


def test_before_anything_has_come_nothing_is_claimed() -> None:
    seen = shown(moment(state=begun(), cost_usd=None))
    assert row(seen, "best") == "none yet"
    assert row(seen, "in flight") == "1 prompt, 1 program"
    assert row(seen, "behaviours") == "0 different; – repeat; – copies"
    assert row(seen, "tokens") == "1,200 in, 30 out"
    assert row(seen, "cost") == "unknown"
    assert "none has" in seen
    assert "left" not in seen
    plain = line(moment(state=begun(), rate=0.0))
    assert plain == "0/60 tried, 0 feasible, 0 rejected, nothing feasible yet"
    assert line(moment(state=begun())).endswith(", nothing feasible yet, 1.0/s")


def test_a_task_of_ones_own_is_called_by_its_name_and_not_by_its_place() -> None:
    own = SETTINGS.model_copy(update={"task": "/home/somebody/a folder/knapsack.py"})
    assert "funsearch+behavesim on knapsack, proposer" in shown(moment(settings=own))


def test_the_template_has_its_score_from_the_start() -> None:
    early = begun()
    early.apply(Evaluated(TEMPLATE, "the template", 2.5, (2.5,), ()))
    assert row(shown(moment(state=early)), "progress") == "template 2.5, nothing feasible yet"
    assert ", template 2.5, nothing feasible yet" in line(moment(state=early))
    early.apply(Responded(0, Reply("", "m")))
    early.apply(Evaluated(0, "a candidate that is not registered", 2.0, (2.0,), ()))
    assert ", 1 feasible, 0 rejected, template 2.5, best not known yet" in line(moment(state=early))


def test_what_the_method_has_to_say_of_itself_stands_with_the_rest() -> None:
    assert row(shown(moment(facts={"restart": "in 5 candidates"})), "restart") == "in 5 candidates"


def test_tokens_that_no_answer_reported_are_unknown() -> None:
    silent = begun()
    silent.apply(Responded(0, Reply("", "other", (Usage(),))))
    assert row(shown(moment(state=silent)), "tokens") == "1,200 in, 30 out"
    del silent.tally.tokens["m"]
    assert row(shown(moment(state=silent)), "tokens") == "unknown"


def test_what_is_estimated_is_never_shown_as_counted() -> None:
    state = begun()
    state.apply(Responded(0, Reply("", "m", (Usage(estimated_prompt=800, estimated_completion=70),))))
    seen = shown(moment(state=state))
    assert row(seen, "tokens") == "about 2,000 in, 100 out, estimated from the text"
    assert row(seen, "cost") == "about $0.2500"


def test_what_was_said_last_stays_in_view_with_its_time() -> None:
    at = datetime(2026, 1, 2, 12, 30, 15)
    said = tuple(Notice(at, f"the endpoint asks for a pause {number}") for number in range(4))
    seen = shown(moment(notices=said))
    assert "12:30:15 the endpoint asks for a pause 2" in seen
    assert "12:30:15 the endpoint asks for a pause 3" in seen
    assert "pause 1" not in seen


def test_the_latest_advice_stands_in_view_until_it_is_withdrawn() -> None:
    now = state()
    now.apply(Advised("a", "Try this."))
    now.apply(Advised("b", "Try that.\x1b[2J"))
    assert "advice since candidate 21 (the latest of 2): Try that.\\u001b[2J" in shown(moment(state=now))
    now.apply(Advised("c", ""))
    assert "advice" not in shown(moment(state=now))


def test_the_line_says_the_same_in_short() -> None:
    said = "20 feasible, 1 rejected, template 2.5 → best 2, 20.0 % better (gap 100.00 %), 1.0/s, 0:40 left"
    assert said in line(moment())


def test_it_is_said_while_nothing_has_beaten_the_template() -> None:
    behind = state()
    assert behind.template is not None
    behind.template = replace(behind.template, score=1.6, utility=-1.6)
    said = "template 1.6 → best candidate 2, 25.0 % worse: nothing has beaten the template yet"
    assert row(shown(moment(state=behind)), "progress") == said
    assert said in line(moment(state=behind))


@pytest.mark.parametrize(
    ("template", "best", "may_be_chance"),
    [((2.0, 3.0, 2.5), (1.0, 3.5, 1.5), True), ((2.0, 3.0, 2.5), (1.5, 2.5, 2.0), False), ((2.5,), (2.0,), False)],
    ids=["chance explains it", "it does not", "one instance says nothing of chance"],
)
def test_a_gain_that_chance_explains_is_said_to_be_so(
    template: tuple[float, ...], best: tuple[float, ...], may_be_chance: bool
) -> None:
    now = state()
    assert now.template is not None and now.best is not None
    now.template, now.best = replace(now.template, scores=template), replace(now.best, scores=best)
    for seen in (row(shown(moment(state=now)), "progress"), line(moment(state=now))):
        assert "20.0 % better" in seen
        assert ("chance" in seen) == may_be_chance


def test_the_time_that_is_left_is_known_from_the_tenth_candidate_on() -> None:
    assert moment().left_s == 40.0
    assert moment(rate=2.0).left_s == 20.0
    assert moment(rate=0.0).left_s is None
    assert moment(state=begun()).left_s is None


def test_a_time_beyond_a_year_is_no_number() -> None:
    assert line(moment(rate=1e-6)).endswith(", over a year left")


def test_gaps_that_nobody_knows_have_no_column() -> None:
    assert "100.00 %" in shown(moment())
    unknown = state()
    unknown.objective = Objective("minimise")
    seen = shown(moment(state=unknown))
    assert "gap" not in seen and "unknown" not in seen
    assert "20 ago" in seen


def test_the_best_islands_stand_out_and_empty_ones_are_dim() -> None:
    later = state()
    later.groups["3"].members.clear()
    console = Console(file=io.StringIO(), width=120, record=True, force_terminal=True, color_system="standard")
    console.print(Dashboard(moment(state=later)))
    seen = console.export_text(styles=True)
    assert re.findall(r"^\x1b\[1;32m +(\d)\x1b", seen, re.MULTILINE) == ["0"]
    assert re.findall(r"^\x1b\[2m +(\d)\x1b", seen, re.MULTILINE) == ["3"]


def test_an_island_that_never_had_a_program_has_not_improved() -> None:
    later = state()
    later.apply(Regrouped({"0": (), "1": (1,)}))
    seen = shown(moment(state=later))
    assert [row(seen, f"     {island}").split()[-2:] for island in (0, 1)] == [["0"], ["ago", "▁"]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0:00"), (65.9, "1:05"), (3599.0, "59:59"), (3600.0, "1:00:00"), (7325.0, "2:02:05")],
)
def test_durations_are_written_as_clocks_are(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("proposer", "said"),
    [
        ("genetic", None),
        ("folder:prompts", "1 prompt in prompts without NAME.reply.md"),
        ("command:cat", "1 prompt at the command"),
    ],
)
def test_what_a_folder_or_a_command_is_waited_for_is_said(proposer: str, said: str | None) -> None:
    waiting = state()
    waiting.apply(Asked(21, (), None, Prompt("", "improve")))
    settings = settings_from_person({"task": "tsp", "proposer": proposer})
    now = LiveRun("first", settings, waiting, 20.0, 1.0, None)
    assert row(shown(now), "in flight") == f"{said or '1 prompt'}, 0 programs"
    assert line(now).endswith(f", {said}") is (said is not None)


def test_the_words_of_the_view_are_explained_where_there_is_room() -> None:
    assert "scores: different scores" in shown(moment(), 110, 50)
    assert "scores: different scores" not in shown(moment(), 110, 24)
