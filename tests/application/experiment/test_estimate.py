"""What the runs of an experiment will take of a model: a guess at first, then what those so far took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from behavesim.application.experiment.plan import COMPLETION, PROGRAM, TOKEN, Planned, estimate
from behavesim.base.tokens import Tokens, Usage
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import NotAdded, Reply, Responded
from tests.store.written import written

MODEL = {"proposer": "openai", "models": {"gpt-5-nano": 1.0}}


@pytest.fixture(autouse=True)
def openai_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def planned(name: str, task: str = "tsp", **settings: Any) -> Planned:
    given = {"task": task, "method": "best-of-n", "budget": 100, **MODEL, **settings}
    return Planned(name, settings_from_person(given))


def went_so_far(runs: Path, name: str, registered: int, *usages: Usage) -> None:
    (runs / name).mkdir()
    replies = [Responded(number, Reply("", "m", (usage,))) for number, usage in enumerate(usages)]
    written(runs / name / "run.db", [*replies, *map(NotAdded, range(registered))])


def test_while_no_request_was_answered_it_is_guessed_from_the_tasks(tmp_path: Path) -> None:
    runs = [planned("a", "tsp"), planned("b", "asp")]
    found = estimate(runs, runs, tmp_path)
    each = sum(estimate([run], [run], tmp_path).tokens.prompt for run in runs)
    assert (found.models, found.answered) == (("gpt-5-nano",), 0)
    assert found.tokens == Tokens(200, prompt=pytest.approx(each, abs=200), completion=200 * COMPLETION)
    assert found.cost_usd == pytest.approx((found.tokens.prompt * 0.05 + found.tokens.completion * 0.40) / 1e6)


def test_the_guess_is_near_what_a_model_was_asked(tmp_path: Path) -> None:
    run = planned("a", method="funsearch+behavesim", budget=30, n_init=7)
    assert estimate([run], [run], tmp_path).tokens.prompt / 30 == pytest.approx(2150, rel=0.1)  # by a recorded run


def test_prompts_that_never_show_what_was_found_are_all_as_long_as_the_first(tmp_path: Path) -> None:
    independent, first = planned("a"), planned("b", method="funsearch", n_init=100)
    apart = [estimate([run], [run], tmp_path).tokens for run in (independent, first)]
    assert apart[0] == apart[1]


def test_each_run_counts_by_its_own_settings_and_its_number_of_prompts(tmp_path: Path) -> None:
    short, long = planned("a", method="funsearch", n_init=100), planned("b", method="funsearch", n_init=0, budget=300)
    apart = [estimate([run], [run], tmp_path).tokens.prompt for run in (short, long)]
    assert apart[0] * 5 < apart[1]
    assert estimate([short, long], [short, long], tmp_path).tokens.prompt == pytest.approx(sum(apart), abs=400)


def test_prompts_that_show_more_programs_are_longer(tmp_path: Path) -> None:
    one, two = (
        estimate([run], [run], tmp_path).tokens.prompt
        for run in (planned("a", method="eoh", examples_per_prompt=1), planned("a", method="eoh"))
    )
    assert two - one == pytest.approx(100 * PROGRAM / TOKEN, abs=100)


def test_it_goes_by_what_the_runs_so_far_took_and_counts_what_is_left(tmp_path: Path) -> None:
    runs = [planned("begun"), planned("done"), planned("new")]
    went_so_far(tmp_path, "begun", 40, Usage(100, 0, 10, 0), Usage(200, 0, 20, 0))
    went_so_far(tmp_path, "done", 100, Usage(600, 0, 60, 0))
    found = estimate([runs[0], runs[2]], runs, tmp_path)
    assert found.tokens == Tokens(160, prompt=160 * 300, completion=160 * 30)
    assert found.answered == 3


def test_runs_that_lack_only_their_recommended_program_ask_for_nothing_more(tmp_path: Path) -> None:
    went_so_far(tmp_path, "asked", 100, Usage(600, 0, 60, 0))
    found = estimate([planned("asked")], [planned("asked")], tmp_path)
    assert found.sentence.endswith(", about $0.00 (as in the 1 requests so far)")


def test_the_dearest_model_counts_and_an_unknown_price_makes_the_cost_unknown(tmp_path: Path) -> None:
    dearest = [planned("a", models={"gpt-5-nano": 1.0, "gpt-4.1-nano": 1.0})]
    found = estimate(dearest, dearest, tmp_path)
    assert found.cost_usd == pytest.approx((found.tokens.prompt * 0.10 + found.tokens.completion * 0.40) / 1e6)
    unknown = [planned("a", models={"gpt-5-nano": 1.0, "mine": 1.0})]
    assert estimate(unknown, unknown, tmp_path).cost_usd is None
    own = [planned("a", models={"mine": 1.0}, prices={"mine": {"prompt": 1.0, "completion": 2.0}})]
    found = estimate(own, own, tmp_path)
    assert found.cost_usd == pytest.approx((found.tokens.prompt + 2 * found.tokens.completion) / 1e6)
