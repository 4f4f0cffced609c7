"""What a run costs is written down with each request, so that it stays what it was and can be explained."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import behavesim as bs
from behavesim.engine import admission, build
from behavesim.proposers.prices import PriceList, name_of_list
from behavesim.state.events import RunResumed, RunStarted
from behavesim.store.reading import read_events
from tests.cli.command import Command

PROPOSER = """
import behavesim as bs

class Paid(bs.Proposer[bs.ProposerSettings]):
    \"\"\"Says the template again, as a model of a vendor would; every other time in a cheaper tier.\"\"\"

    def __init__(self, template):
        self.template = template

    @classmethod
    def of(cls, settings, context):
        return cls(context.task.template)

    @classmethod
    def endpoint(cls):
        return "https://api.openai.com/v1"

    async def propose(self, prompt, number):
        usage = bs.Usage(prompt=1000, cached=0, completion=2000, tier="flex" if number % 2 else "default")
        return bs.Reply(f"```python\\n# {number}\\n{self.template}```", "gpt-6-luna", (usage,), "stop")

proposer = Paid
"""
PLAIN = ("--method", "best-of-n", "--budget", 4, "--set", "recommend=false")
STANDARD = (1000 * 0.10 + 2000 * 0.50) / 1e6
OWN = 'prices={"gpt-6-luna" = {prompt = 1.0, completion = 2.0}}'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bs.LoadedRun:
    """A run of four requests, named `paid`, only to be looked at."""
    folder = tmp_path_factory.mktemp("paid")
    (folder / "paid.py").write_text(PROPOSER)
    given = {"method": "best-of-n", "proposer": str(folder / "paid.py"), "budget": 4, "recommend": False}
    return bs.search_sync("tsp", **given, runs_dir=folder / "runs", name="paid")


@pytest.fixture
def paid(behavesim: Command, run: bs.LoadedRun) -> Command:
    """The command beside a copy of the run."""
    shutil.copytree(run.folder.path, "runs/paid")
    return behavesim


def cost(behavesim: Command, run: str = "paid") -> object:
    return behavesim("report", run, "--json").document["runs"][0]["cost_usd"]


def test_every_request_costs_what_its_tier_does(paid: Command) -> None:
    assert cost(paid) == pytest.approx(2 * STANDARD + 2 * 0.5 * STANDARD)
    with closing(sqlite3.connect("runs/paid/run.db")) as db:
        rows = db.execute("SELECT model, tier, calls, prompt_tokens, cost_usd, unpriced FROM spend").fetchall()
    assert rows == [
        ("gpt-6-luna", "default", 2, 2000, pytest.approx(2 * STANDARD), 0),
        ("gpt-6-luna", "flex", 2, 2000, pytest.approx(STANDARD), 0),
    ]


def test_another_price_list_changes_nothing_of_what_was_paid_and_is_named_with_what_comes(
    paid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cost(paid)
    monkeypatch.setattr(PriceList, "cost", lambda self, model, usage: 1.0)
    assert cost(paid) == before
    monkeypatch.setattr(build, "name_of_list", lambda: "another-list 9.9")
    assert paid("resume", "paid", "--budget", 5).code == 0
    assert cost(paid) == pytest.approx(3 * STANDARD + 1.0)
    assert paid("verify", "paid").code == 0
    events = [event for _, _, event in read_events(Path("runs/paid/run.db"))]
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    assert f"genai-prices {started.provenance['genai-prices']}" == name_of_list()
    assert [event.price_list for event in events if isinstance(event, RunResumed)] == ["another-list 9.9"]


def test_own_prices_win_over_what_was_written_down(paid: Command) -> None:
    assert paid("resume", "paid", "--budget", 5, "--set", OWN).code == 0
    assert cost(paid) == pytest.approx(5 * (1000 * 1.0 + 2000 * 2.0) / 1e6)


def test_a_replay_costs_what_the_run_did(paid: Command) -> None:
    replayed = paid("run", "tsp", *PLAIN, "--proposer", "replay:paid", "--json")
    assert replayed.document["cost_usd"] == cost(paid)


def test_a_price_that_nobody_knows_stays_unknown(behavesim: Command) -> None:
    Path("paid.py").write_text(PROPOSER.replace("https://api.openai.com/v1", "http://localhost:8000/v1"))
    run = ("run", "tsp", *PLAIN, "--proposer", "paid.py", "--json")
    ended = behavesim(*run, "--name", "free")
    assert (ended.code, ended.document["cost_usd"]) == (0, None)
    assert behavesim(*run, "--name", "priced", "--set", OWN).document["cost_usd"] == pytest.approx(4 * 0.005)
    capped = behavesim(*run, "--name", "capped", "--max-cost", 1)
    assert (capped.code, capped.document["stopped_by"]) == (1, "unknown_price")  # before any program was tried


@pytest.mark.parametrize("begin", [("run", "tsp", "--name"), ("resume", "first", "--fork")], ids=["run", "fork"])
def test_a_cap_that_cannot_hold_is_refused_before_there_is_a_folder(
    finished: Command, monkeypatch: pytest.MonkeyPatch, begin: tuple[str, ...]
) -> None:
    monkeypatch.setattr(admission, "models_asked", lambda settings: ["unheard-of"])
    refused = finished(*begin, "second", "--max-cost", 1)
    assert refused.code == 2
    assert "the price of unheard-of is unknown" in refused.err
    assert not Path("runs/second").exists()


def test_a_budget_is_not_lowered_and_it_is_said_why(finished: Command) -> None:
    refused = finished("resume", "first", "--budget", 3)
    assert refused.code == 2
    assert "budget was 12 and is 3" in refused.err
    assert "a budget can only be raised" in refused.err
