"""Whole runs that cost, or may: what nobody counted is estimated and said, and what comes to nothing ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.run import Run
from behavesim.base.tokens import estimate_tokens
from behavesim.state.events import Asked, Responded
from behavesim.store.reading import read_events
from tests.crash.processes import FEW_CITIES, Ended, carried_out
from tests.proposers import chat_server as chat

UNCOUNTED = "replies so far did not say what they took; such tokens are estimated from the text, at the cautious end"
SETTINGS = ("--model", "m", "--method", "best-of-n", "--workers", "1", "--set", "recommend=false")


@pytest.fixture
def run(server: Any, tmp_path: Path) -> Any:
    """Carries out `behavesim run` on the server, as run `costly`, or any other verb on it."""

    async def carry_out(*arguments: str, verb: str = "run") -> Ended:
        subject = ("run", FEW_CITIES, *SETTINGS, "--name", "costly") if verb == "run" else (verb, "costly")
        env = {"OPENAI_BASE_URL": server.url}
        return await carried_out(*subject, "--runs-dir", str(tmp_path), *arguments, env=env)

    return carry_out


def uncounted(asked: chat.Asked) -> chat.Answer:
    """A program for the prompt, thought about at length, and no word of what it took."""
    text = json.loads(chat.improving(asked).body)["choices"][0]["message"]["content"]
    return chat.says(text, usage=None, reasoning_content="Let me think. " * 100)


async def test_a_cap_on_tokens_holds_over_what_nobody_counted(run: Any, server: Any, tmp_path: Path) -> None:
    server.behaviour = uncounted
    done = await run("--budget", "40", "--max-tokens", "9000", "--json")
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["state"], found["stopped_by"]) == ("stopped", "max_tokens")
    assert found["tokens"] == dict.fromkeys(("prompt", "cached", "completion", "reasoning"))
    assert found["cost_usd"] is None
    asked = len(server.asked)
    assert 1 < asked < 40
    events = [event for _, _, event in read_events(tmp_path / "costly/run.db")]
    prompts = sum(estimate_tokens(event.prompt.text) for event in events if isinstance(event, Asked))
    least = sum(estimate_tokens(event.reply.text) for event in events if isinstance(event, Responded))
    estimated = found["estimated"]
    assert (estimated["calls"], estimated["estimated"], estimated["prompt"]) == (asked, asked, prompts)
    assert estimated["completion"] >= least + asked * 700, "what was thought aloud is paid for, too"
    assert estimated["prompt"] + estimated["completion"] <= 9000
    assert done.stderr.count(UNCOUNTED) == 1
    assert "the cap of 9,000 tokens is reached" in done.stderr
    assert (tmp_path / "costly/log.txt").read_text().count(UNCOUNTED) == 1
    report = await run(verb="report")
    assert "estimated from the text" in " ".join(report.stdout.split())


async def test_a_run_without_a_program_ends_with_what_was_replied_and_goes_on_when_told_to(
    run: Any, server: Any, tmp_path: Path
) -> None:
    server.behaviour = lambda asked: chat.says("Let us talk about \x1b[2J the weather instead.")
    done = await run("--budget", "300")
    assert done.code == 1, done.stderr
    said = done.stdout
    assert "stopped: 50 of the last 50 candidates were rejected (50 without the function)" in said
    assert "whose reply was: Let us talk about \\u001b[2J the weather instead." in said
    assert f"behavesim resume {tmp_path}/costly --set max_rejected_share=1" in said
    assert len(server.asked) <= 50 + 64
    assert Run.load(tmp_path / "costly").state.registered == 50
    asked = len(server.asked)
    again = await run("--json", verb="resume")
    assert json.loads(again.stdout)["stopped_by"] == "max_rejected_share"
    assert "50 of the last 50 candidates were rejected" in again.stderr
    assert len(server.asked) == asked
    server.behaviour = chat.improving
    # 64 more than the 50 were asked for, and each resume counts the 8 that may have been sent before
    going_on = await run("--set", "max_rejected_share=1", "--set", "max_calls=150", "--json", verb="resume")
    assert json.loads(going_on.stdout)["feasible"] > 0, going_on.stderr
    verified = await run(verb="verify")
    assert verified.code == 0, verified.stdout


async def test_prompts_that_are_all_given_up_end_a_run_in_the_words_of_the_endpoint(run: Any, server: Any) -> None:
    refusal = chat.fails(400, "This model's maximum context length is 10 tokens", "context_length_exceeded")
    server.behaviour = lambda asked: refusal
    done = await run("--budget", "300")
    assert done.code == 1, done.stderr
    assert "50 of the last 50 candidates were rejected (50 unanswered by the endpoint)" in done.stdout
    assert "maximum context length is 10 tokens" in done.stdout
    lines = [line for line in done.stderr.splitlines() if "is given up" in line]
    assert len(lines) == 1
    assert lines[0][2::3][:2] == "::", "a notice begins with the time of day"


async def test_a_cap_on_cost_without_a_price_is_refused_before_anything_is_made(
    run: Any, server: Any, tmp_path: Path
) -> None:
    done = await run("--max-cost", "1")
    assert done.code == 2
    assert "the price of m is unknown" in done.stderr
    assert not (tmp_path / "costly").exists()
    assert server.asked == []
