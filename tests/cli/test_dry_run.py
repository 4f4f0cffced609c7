"""What `run --dry-run` says of a run, without making it."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.state.events import Asked
from behavesim.store.reading import read_events
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES


def test_the_first_prompt_is_shown_as_it_would_be_asked_and_nothing_is_made(behavesim: Command) -> None:
    said = behavesim("run", "tsp", "--method", "best-of-n", "--budget", 4, "--dry-run")
    assert said.code == 0, said.err
    assert "template 6.53344; all 4 programs take about " in said.out
    assert "time besides" in said.out  # the estimate counts programs alone
    assert "all results but those of the 1 candidate before it" in said.err
    assert "no model is asked, which costs nothing" in said.out
    assert not Path("runs").exists()
    document = behavesim("run", "tsp", "--method", "best-of-n", "--budget", 4, "--dry-run", "--json").document
    behavesim(
        "run", "tsp", "--method", "best-of-n", "--budget", 4, "--set", "recommend=false", "--name", "first", "--json"
    )
    _, _, asked = next(iter(read_events(Path("runs/first/run.db"), only=(Asked,))))
    assert isinstance(asked, Asked)
    assert (asked.candidate, asked.prompt.text) == (0, document["prompt"])
    assert document["cost"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("wide.py",), "normaliser must be a positive number"),
        (("wide.py", "--set", "until_gap=0.1"), "has no best known score to measure a gap from"),
        (("tsp", "--set", "race=2"), "race = 2 is less than the 5 search instances"),
    ],
)
def test_what_the_run_would_refuse_is_refused(behavesim: Command, arguments: tuple[str, ...], said: str) -> None:
    changed = "type(task).normaliser = 0\ntype(task).objective = bs.Objective('minimise')\n"
    Path("wide.py").write_text(f"{Path(FEW_CITIES).read_text()}\nimport behavesim as bs\n{changed}")
    refused = behavesim("run", *arguments, "--proposer", "genetic", "--budget", 30, "--dry-run")
    assert (refused.code, refused.out, said in refused.err) == (2, "", True), refused.err


def test_a_template_that_takes_long_is_tried_once(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch, tried: list[str]
) -> None:
    for long_s, times in ((1000.0, 2), (0.0, 1)):
        monkeypatch.setattr("behavesim.application.experiment.plan.LONG_S", long_s)
        tried.clear()
        assert "all 4 programs take about " in behavesim("run", FEW_CITIES, "--budget", 4, "--dry-run").out
        assert len(tried) == times


def test_a_time_limit_far_beyond_the_template_is_said(behavesim: Command) -> None:
    said = behavesim("run", "tsp", "--budget", 4, "--set", "timeout_s=3600", "--dry-run")
    assert "times what the template took; a program that never ends costs 60 min: consider --set timeout_s=" in said.out
    assert "times what the template took" in behavesim("run", FEW_CITIES, "--budget", 4, "--dry-run").out
    # the limit that comes with a built-in task is the paper's
    assert "times what the template took" not in behavesim("run", "tsp", "--budget", 4, "--dry-run").out


def test_the_first_prompt_of_a_method_that_tells_of_the_run_is_whole(behavesim: Command) -> None:
    document = behavesim("run", "tsp", "--proposer", "folder:prompts", "--dry-run", "--json").document
    assert "select_next_node" in document["prompt"]
    assert "\0" not in document["prompt"]


def test_what_a_model_would_cost_is_estimated_and_it_is_not_asked(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    priced = """prices={"m" = {prompt = 1.0, completion = 4.0}}"""
    said = behavesim("run", "tsp", "--model", "m", "--budget", 100, "--set", priced, "--dry-run")
    assert said.code == 0, said.err
    assert "about 100 requests to m, " in said.out
    assert "250,000 out, about $1." in said.out
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert behavesim("run", "tsp", "--model", "m", "--budget", 100, "--set", priced, "--dry-run").code == 0  # no key
    refused = behavesim("run", "tsp", "--model", "m", "--max-cost", 1, "--dry-run")
    priced = """--set 'prices={"m" = {prompt = USD, completion = USD}}' (for a million tokens each)"""
    assert (refused.code, f"the price of m is unknown; add {priced}" in refused.err) == (2, True)


@pytest.mark.parametrize(("proposer", "asked"), [("claude", "the proposer"), ("codex", "codex")])
def test_what_an_assistant_may_cost_is_said_to_be_unknown(proposer: str, asked: str, behavesim: Command) -> None:
    ran = behavesim("run", "tsp", "--proposer", proposer, "--budget", 3, "--dry-run")
    assert f"about 3 requests to {asked}, " in ran.out
    assert "at an unknown price" in ran.out
