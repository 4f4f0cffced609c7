"""Coding assistants as proposers, against a fake of each: what it is given, what its reply is, and what it cost.

The fake speaks as Claude Code 2.1.328, Codex 0.171.0, Copilot 1.0.102 and aider 0.86.2 did with a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.tokens import Usage
from behavesim.proposers.assistants import (
    ASSISTANTS,
    AssistantProposer,
    AssistantSettings,
    ClaudeProposer,
    CodexProposer,
)
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Prompt, Reply, Responded
from behavesim.store.codec import decode
from tests.engine import toys
from tests.proposers.asking import context
from tests.proposers.test_command_proposer import gone

QUICK = RetryLimits(request_s=30.0, backoff_s=0.001)
TEXT = "Improve it.\n\n```python\ndef f(x):\n    return 0\n```\n\n```python\ndef f(x):\n    return x\n```\n"
SECRET = "not-a-word-0123456789"
COSTS = {
    "claude": Usage(prompt=60, cached=30, completion=40, cache_write=20, cost_usd=0.25),
    "codex": Usage(prompt=60, cached=30, completion=40),
    "copilot": Usage(completion=40),
    "aider": Usage(prompt=60, completion=40, cost_usd=0.25),
}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the fakes say how they were called; a fake of each assistant is on the PATH."""
    place, log = tmp_path / "bin", tmp_path / "log"
    place.mkdir()
    log.mkdir()
    source = Path(__file__).with_name("fake_assistant.py").read_text()
    for each in ASSISTANTS:
        (place / each.program).write_text(f"#!{sys.executable} -SI\n{source}")
        (place / each.program).chmod(0o755)
    (tmp_path / "folders").mkdir()
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "folders"))
    return log


@pytest.fixture(params=ASSISTANTS, ids=lambda kind: kind.program)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


async def asked(
    kind: type[AssistantProposer],
    deed: str,
    text: str = TEXT,
    number: int = 0,
    limits: RetryLimits = QUICK,
    **more: Any,
) -> Reply:
    """The reply of a fake that does a deed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE", deed)
        return await kind((), limits, context(**more)).propose(Prompt(text, "improve"), number)


def calls(log: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in log.glob("*-*")]


async def test_what_it_leaves_in_its_file_is_the_reply_with_its_idea_and_its_cost(
    kind: type[AssistantProposer], log: Path
) -> None:
    reply = await asked(kind, "edits")
    assert reply.text == "{Adds one to the number.}\n\n```python\ndef f(x):\n    return x + 1\n```".replace(
        "python", "py"
    )
    counted = [Usage(**{**vars(call), "estimated_prompt": None, "estimated_completion": None}) for call in reply.calls]
    assert (reply.model, counted) == (kind.program, [COSTS[kind.program]])
    (call,) = calls(log)
    assert TEXT in call["prompt"]
    assert "the file program.py" in call["prompt"]
    assert not Path(call["folder"]).exists(), "its folder is removed"
    assert "program.py" in call["arguments"] or not kind.takes_files


async def test_what_it_prints_is_the_reply_if_its_file_is_as_it_was(kind: type[AssistantProposer], log: Path) -> None:
    assert "return x + 2" in (await asked(kind, "prints")).text


async def test_it_is_asked_for_words_alone_if_a_method_asks_for_them(log: Path) -> None:
    assert "return x + 2" in (await asked(ClaudeProposer, "prints", number=-2)).text
    assert calls(log)[0]["prompt"] == TEXT


async def test_several_files_come_back_each_under_its_name(log: Path) -> None:
    text = "```\n=== file: src/a.cpp ===\nint a;\n=== file: program.py ===\ndef f(x):\n    return x\n```\n"
    reply = await asked(CodexProposer, "edits", text)
    assert reply.text.endswith("```py\n=== file: program.py ===\ndef f(x):\n    return x + 1\n```")
    assert "the files src/a.cpp, program.py" in calls(log)[0]["prompt"]


@pytest.mark.parametrize("path", [".claude/settings.json", "AGENTS.md", "src/.mcp.json"])
async def test_no_program_puts_settings_or_instructions_before_it(path: str, log: Path) -> None:
    await asked(ClaudeProposer, "prints", f"```\n=== file: {path} ===\n{{}}\n=== file: program.py ===\nx = 1\n```\n")
    assert path not in calls(log)[0]["files"]


async def test_it_gets_its_own_keys_and_no_others(
    kind: type[AssistantProposer], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "copilot": "GH_TOKEN", "aider": "OPENAI_API_KEY"}
    monkeypatch.setenv(own[kind.program], SECRET)
    monkeypatch.setenv("VENDOR_TOKEN", SECRET)
    await asked(kind, "edits")
    (call,) = calls(log)
    assert [name for name, value in call["environment"].items() if value == SECRET] == [own[kind.program]]


async def test_one_that_nobody_signed_in_stops_the_run_and_says_how(kind: type[AssistantProposer], log: Path) -> None:
    with pytest.raises(ProposerError, match=f"^{kind.program}: .*Invalid API key.*sign in: "):
        await asked(kind, "signed-out")
    assert len(calls(log)) == QUICK.setup


async def test_one_at_its_limit_waits_and_then_stops_the_run_in_its_words(
    kind: type[AssistantProposer], log: Path
) -> None:
    said: list[str] = []
    with pytest.raises(ProposerError, match="hit your usage limit; try again at 5 pm"):
        await asked(kind, "limited", limits=RetryLimits(backoff_s=0.001, start_s=0.0), tell=said.append)
    assert "waiting" in said[0]


async def test_turns_that_are_used_up_are_paid_once_though_no_program_came(log: Path) -> None:
    reply = await asked(ClaudeProposer, "used-up")
    assert (reply.text, reply.finish_reason, len(reply.calls)) == ("", "given_up", 1)
    assert reply.fault == "claude: error_max_turns Reached the maximum number of turns"
    assert reply.calls[0].cost_usd == 0.25


async def test_a_program_that_was_changed_before_the_turns_were_used_up_is_the_reply(log: Path) -> None:
    reply = await asked(ClaudeProposer, "used-up after its edit")
    assert "return x + 3" in reply.text
    assert reply.calls[0].cost_usd == 0.25


async def test_one_that_fails_is_asked_again_and_may_have_cost_something(
    kind: type[AssistantProposer], log: Path
) -> None:
    reply = await asked(kind, "fails once")
    assert "return 4" in reply.text
    assert (reply.unanswered, len(calls(log))) == (1, 2)


async def test_its_counts_are_found_behind_an_output_of_any_length(kind: type[AssistantProposer], log: Path) -> None:
    reply = await asked(kind, "writes without end")
    assert "return x + 5" in reply.text
    assert reply.calls[0].completion == 40


async def test_what_it_leaves_running_does_not_keep_its_reply_and_is_killed(
    kind: type[AssistantProposer], log: Path
) -> None:
    assert "return 7" in (await asked(kind, "leaves a process")).text
    await gone((log / "left").read_text())


async def test_one_that_leaves_a_process_that_cannot_be_found_has_its_reply_all_the_same(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.proposers.command.DRAINED_S", 0.1)
    try:
        reply = await asked(ClaudeProposer, "leaves a process without its variables")
    finally:
        os.kill(int((log / "left").read_text()), signal.SIGKILL)
    assert "return 7" in reply.text
    assert len(calls(log)) == 1


async def test_a_key_is_hidden_before_a_text_is_cut(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    assert SECRET[:5] not in (await asked(ClaudeProposer, "says its key at its end")).text
    with pytest.raises(ProposerError) as caught:
        await asked(ClaudeProposer, "fails with its key in its words", limits=RetryLimits(backoff_s=0.001, start_s=0.0))
    assert SECRET[:5] not in str(caught.value)


async def test_a_folder_too_deep_to_be_removed_does_not_cost_the_reply(log: Path) -> None:
    try:
        assert "return 10" in (await asked(ClaudeProposer, "leaves folders in folders")).text
    finally:  # pytest, which removes the files of earlier runs, would end in a RecursionError at the fourth
        subprocess.run(["rm", "-rf", log.parent / "folders"], check=True)


async def test_a_stopped_run_leaves_nothing_of_it_running(kind: type[AssistantProposer], log: Path) -> None:
    asking = asyncio.ensure_future(asked(kind, "hangs"))
    while not (log / "left").exists() or not (log / "left").read_text():
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait([asking])
    (call,) = calls(log)
    await gone(f"{(log / 'left').read_text()} {next(log.glob('*-*')).name.rpartition('-')[2]}")
    assert not Path(call["folder"]).exists()


async def test_what_was_changed_before_its_time_was_up_is_the_reply(kind: type[AssistantProposer], log: Path) -> None:
    reply = await asked(kind, "edits and hangs", limits=RetryLimits(request_s=1.0, backoff_s=0.001))
    assert "return x + 6" in reply.text
    assert reply.calls[0].completion is None, "it never said what it took"


async def test_a_link_in_place_of_its_file_is_not_followed(kind: type[AssistantProposer], log: Path) -> None:
    (log / "key").write_text(f"def f(x): return '{SECRET}'")
    reply = await asked(kind, "changes files outside")
    assert "return 8" in reply.text
    assert SECRET not in reply.text


async def test_one_that_is_not_installed_is_named_at_once(
    kind: type[AssistantProposer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert kind.missing().startswith(f"there is no program {kind.program} on the PATH; install it (")
    with pytest.raises(ProposerError, match="exit code 127"):
        await asked(kind, "edits")


async def test_whether_somebody_has_signed_in_is_asked_of_those_that_say_it(
    kind: type[AssistantProposer], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says_it = bool(kind.status)
    monkeypatch.setenv("FAKE", "prints")
    assert await kind.is_signed_in() is (True if says_it else None)
    monkeypatch.setenv("FAKE", "signed-out")
    assert await kind.is_signed_in() is (False if says_it else None)


async def test_options_of_a_person_are_the_last(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = AssistantSettings(assistant_options="--model 'my model'")
    await ClaudeProposer.of(settings, context()).propose(Prompt(TEXT, "improve"), 0)
    assert calls(log)[0]["arguments"][-2:] == ["--model", "my model"]


@pytest.mark.parametrize(("options", "why"), [("--model 'x", "cannot be split"), (f"--key {SECRET}", "hold a key")])
def test_options_that_are_no_words_or_hold_a_key_are_refused(
    options: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", SECRET)
    with pytest.raises(UsageError, match=why) as caught:
        ClaudeProposer.of(AssistantSettings(assistant_options=options), context())
    assert SECRET not in str(caught.value)


async def test_each_reply_of_a_run_is_in_the_journal_with_its_cost(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE", "used-up")
    journal = toys.MemoryJournal()
    proposer = ClaudeProposer((), QUICK, context())
    search = await toys.search(journal, {"budget": 4, "window": 4, "method": "funsearch"}, proposer=proposer)
    assert await search.run() == "budget"
    replies = [event.reply for row in journal.rows if isinstance(event := decode(*row), Responded)]
    assert [call.cost_usd for reply in replies for call in reply.calls] == [0.25] * 4
