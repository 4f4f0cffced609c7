"""Why a run ended, and what to do next, as a person is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.base.tokens import Usage
from behavesim.engine.admission import settings_from_person
from behavesim.reports.next_steps import ADVICE, NOTHING_BEATS_IT, ending, next_steps, next_steps_of_several
from behavesim.state.events import Asked, Event, NotAdded, Prompt, Rejected, Reply, Responded, RunStarted, RunStopped
from behavesim.state.settings import owners
from behavesim.store.folder import RunFolder
from tests.analysis.journals import asked, feasible, journalled, rejected, started, stopped


def ended(reason: str, model: str = "gpt-5-nano", **settings: Any) -> list[str]:
    """What is said of a run of a model that was given up with ten questions open."""
    resolved = settings_from_person({"task": "tsp", "proposer": "openai", "connections": 4, **settings})
    questions: list[Event] = [Asked(number, (), None, Prompt("", "improve")) for number in range(11)]
    reply = Responded(0, Reply("", model, (Usage(1, 0, 1, 0),)))
    events = [RunStarted(resolved.flat(), {"direction": "minimise"}, "strong"), *questions, reply, RunStopped(reason)]
    run = Run(RunFolder(Path("runs/first")), [(0.0, event) for event in events], questions=0)
    return ending(run, resolved, reason)


@pytest.mark.parametrize(
    ("reason", "settings", "said"),
    [
        (
            "max_cost",
            {"max_cost_usd": 5},
            "the cap of $5.00 on cost is reached; raise it with behavesim resume first",
        ),
        ("max_tokens", {"max_tokens": 12345}, "the cap of 12,345 tokens is reached; raise it with"),
        ("max_calls", {"max_calls": 7}, "the cap of 7 requests is reached; raise it with"),
        ("max_time", {"max_time_s": 90}, "its time of 90 s is up; give it more with behavesim resume first --max-time"),
    ],
)
def test_a_run_that_a_cap_ended_names_the_cap_and_how_to_raise_it(
    reason: str, settings: dict[str, Any], said: str
) -> None:
    first, open_requests, last = ended(reason, **settings)
    assert first.startswith(f"stopped: {said}")
    assert open_requests.startswith("up to 4 requests under way may have been billed")
    assert last == "next: behavesim report first"


def test_a_run_that_ended_at_an_unknown_price_names_the_model_and_where_its_price_goes() -> None:
    first, *_ = ended("unknown_price", model="new\x1b[2J", max_cost_usd=1)
    assert first.startswith("stopped: the price of new\\u001b[2J is unknown, so the cap on cost cannot hold")
    assert "behavesim resume first --set 'prices={" in first


def test_a_finished_run_is_to_be_reported() -> None:
    assert ended("budget")[-1] == "next: behavesim report first"
    assert ended("finished") == ["run first is finished; give it a larger --budget to go on"]


def test_an_interrupted_run_is_to_be_gone_on_with() -> None:
    assert ended("interrupted")[-1] == "next: behavesim resume first"
    assert ended("failed")[-1] == "next: behavesim resume first"


def test_a_run_in_which_everything_was_rejected_says_so_with_one_reply(tmp_path: Path) -> None:
    reply = Responded(1, Reply("Boil the pasta.", "m"))
    refused = [asked(1)[0], reply, Rejected(1, "extraction", "refusal", "no program"), NotAdded(1)]
    others = rejected(0, "timeout"), refused, rejected(2, "refusal")
    run = journalled(tmp_path / "first", started(proposer="openai"), *others, stopped("budget"))
    assert ending(run, run.settings, "budget") == [
        "nothing was found: all 3 candidates were rejected (2 declined by the model, 1 timed out)",
        "such as candidate 2 (refusal)",
        "whose reply was: a reply",
        "try another model, or look at the prompt: it may not fit this one",
        f"next: behavesim report {run.folder.argument}",
    ]


def test_where_the_offline_proposer_finds_nothing_no_other_model_is_advised(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), rejected(0, "invalid-solution"), stopped("budget"))
    assert "give the task a `grammar`" in ending(run, run.settings, "budget")[-2]


@pytest.mark.parametrize(("score", "proposer", "is_advised"), [(11.0, "genetic", True), (9.0, "genetic", False),
                                                               (11.0, "openai", False)])  # fmt: skip
def test_where_the_offline_proposer_beats_nothing_the_size_of_arguments_is_advised(
    tmp_path: Path, score: float, proposer: str, is_advised: bool
) -> None:
    run = journalled(tmp_path / "first", started(proposer=proposer), feasible(0, score), stopped("budget"))
    assert (NOTHING_BEATS_IT in ending(run, run.settings, "budget")) == is_advised


def test_a_run_that_too_many_rejections_ended_names_the_usual_three_and_an_example(tmp_path: Path) -> None:
    silent = [asked(5)[0], Responded(5, Reply(" ", "m")), Rejected(5, "evaluation", "memory", ""), NotAdded(5)]
    reasons = ["memory", "timeout", "memory", "crash", "exception"]
    others = (rejected(number, reason) for number, reason in enumerate(reasons))
    run = journalled(tmp_path / "first", started(), *others, silent, feasible(6, 3.0), stopped("max_rejected_share"))
    first, example, advice, again = ending(run, run.settings, "max_rejected_share")
    assert (
        first
        == "stopped: 6 of the last 7 candidates were rejected (3 out of memory, 1 timed out, 1 killed by a signal)"
    )
    assert example == "such as candidate 5 (memory)"
    assert advice == ADVICE["memory"]
    assert again.startswith(f"next: behavesim report {run.folder.argument}, or behavesim resume")


def test_the_report_of_a_failed_run_says_how_to_go_on_and_a_full_one_does_not_ask_for_itself(tmp_path: Path) -> None:
    failed = report(journalled(tmp_path / "first", started(), feasible(0, 3.0), stopped("failed")))
    assert next_steps(failed, "first", is_full=False)["resume first"] == "go on, once the cause is mended"
    for is_full in (False, True):
        commands = [*next_steps(failed, "first", is_full), *next_steps_of_several(["first", "second"], is_full)]
        assert any("--full" in command for command in commands) != is_full


def test_advice_names_settings_that_there_are() -> None:
    settings = {name for owner in owners() if owner.options is not None for name in owner.options.model_fields}
    named = {name for advice in ADVICE.values() for name in re.findall(r"\w+_\w+", advice)}
    assert "max_completion_tokens" in named and named <= settings


def test_a_run_that_goes_on_is_to_be_watched(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 3.0))
    with run.folder.locked():
        going_on = next_steps(report(Run.load(run.folder.path)), "first", is_full=False)
    assert going_on["watch first"] == "follow it" and "resume first" not in going_on
    assert "watch first" not in next_steps(report(run), "first", is_full=False)
