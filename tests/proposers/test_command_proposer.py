"""A command as a model: what it is given, what its failures mean, and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import itertools
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers import command as shell
from behavesim.proposers.command import MODEL, CommandProposer, CommandSettings
from behavesim.proposers.proposer import ProposerContext
from behavesim.proposers.retry import RetryLimits
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import Reply, Responded
from behavesim.store.codec import decode
from tests.engine import toys
from tests.proposers.asking import context, prompt

QUICK = RetryLimits(request_s=30.0, backoff_s=0.001)
ANSWERING = Path(__file__).with_name("answering.py")
BUDGET = 12
KEYS = [
    *("sk-0123456789abcdef", "sk-proj-a1_B2-c3D4e5F6g7H8", "xai-" + "a1B2" * 10, "gsk_" + "a1B2" * 13),
    *(
        "hf_" + "a1B2" * 9,
        "ghp_" + "a1B2" * 9,
        "github_pat_11A_" + "b2C3" * 9,
        "AIza" + "a1-B_" * 7,
        "AKIA0123456789ABCDEF",
    ),
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
]
"""What vendors' keys look like."""
SECRET = "not-a-word-0123456789"


def proposer(command: str, limits: RetryLimits = QUICK, **more: Any) -> CommandProposer:
    return CommandProposer(command, limits, context(**more))


async def test_the_prompt_comes_on_standard_input_and_the_reply_goes_to_standard_output() -> None:
    reply = await proposer("tr a-z A-Z; echo aside >&2").propose(prompt("häßlich\n"), 0)
    assert reply.text == "HäßLICH\n"
    assert (reply.model, reply.fault, reply.unanswered, len(reply.calls)) == (MODEL, "", 0, 1)
    assert reply.calls[0].prompt is reply.calls[0].completion is None, "nobody counted"


async def test_it_is_told_its_number_and_the_seed_and_has_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    command = 'echo "$BEHAVESIM_NUMBER $BEHAVESIM_SEED ${#OPENAI_API_KEY}"'
    assert (await proposer(command, seed=7).propose(prompt(), -2)).text == f"-2 7 {len(SECRET)}\n"


async def test_a_command_that_reads_nothing_can_answer_a_prompt_of_any_length() -> None:
    assert (await proposer("echo yes").propose(prompt("x" * 2_000_000), 0)).text == "yes\n"


def test_a_command_that_has_ended_before_it_is_written_to_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    started = shell._start_or_kill

    async def ended(*arguments: Any) -> Any:
        process, transport = await started(*arguments)
        assert process.stdin is not None
        while not process.stdin.is_closing():
            await asyncio.sleep(0.001)
        return process, transport

    monkeypatch.setattr(shell, "_start_or_kill", ended)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(shell.run_shell("echo yes", "a prompt", dict(os.environ))).out == "yes\n"


async def test_no_more_run_at_once_than_there_are_connections(tmp_path: Path) -> None:
    command = f"cd {tmp_path}; touch $BEHAVESIM_NUMBER; ls | wc -l; sleep 0.05; rm $BEHAVESIM_NUMBER"
    asking = proposer(command, connections=3)
    replies = await asyncio.gather(*(asking.propose(prompt(), number) for number in range(9)))
    assert max(int(reply.text) for reply in replies) <= 3


async def test_a_failure_is_asked_again_and_its_words_are_shown_once_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", SECRET)
    said: list[str] = []
    command = (
        f'echo >> {tmp_path}/tries; if [ $(wc -l < {tmp_path}/tries) -lt 4 ]; then echo "no $VENDOR_API_KEY" >&2; '
    )
    reply = await proposer(f"{command} exit 3; fi; echo done $VENDOR_API_KEY", tell=said.append).propose(prompt(), 0)
    assert (reply.text, reply.unanswered) == ("done …\n", 3)
    assert said == ["the command ended with exit code 3: no …; asking again until nobody has had a reply for 60 s"]


async def test_a_password_in_a_url_of_the_environment_is_kept_out_of_what_a_command_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE", f"postgres://me:{SECRET}@host/name")
    assert (await proposer("echo $DATABASE").propose(prompt(), 0)).text == "postgres://…@host/name\n"


async def test_a_prompt_that_fails_while_others_are_answered_is_given_up_and_may_have_cost_something() -> None:
    command = 'if [ "$(cat)" = poison ]; then echo bad >&2; exit 5; fi; echo fine'
    asking = proposer(command, RetryLimits(backoff_s=0.001, attempts=4))
    poisoned = asyncio.ensure_future(asking.propose(prompt("poison"), 9))
    while not poisoned.done():
        assert (await asking.propose(prompt("p"), 0)).text == "fine\n"
    reply = poisoned.result()
    assert reply.fault == "the command ended with exit code 5: bad"
    assert reply.unanswered >= 4
    assert not reply.text


async def test_a_reply_without_content_is_asked_for_again_and_then_kept(tmp_path: Path) -> None:
    reply = await proposer(f"echo >> {tmp_path}/tries").propose(prompt(), 0)
    assert len((tmp_path / "tries").read_text().splitlines()) == len(reply.calls) == 1 + QUICK.empty
    assert (reply.text, reply.fault) == ("", "")


async def test_a_command_that_is_none_stops_the_run_in_the_shells_words() -> None:
    with pytest.raises(ProposerError, match=r"exit code 127.*no-such-assistant"):
        await proposer("no-such-assistant --ask").propose(prompt(), 0)


async def test_a_command_that_cannot_be_started_stops_the_run() -> None:
    with pytest.raises(ProposerError, match="cannot be started: Argument list too long"):
        await proposer(f"echo {'x' * 2**18}").propose(prompt(), 0)


async def test_a_command_that_never_answers_stops_the_run() -> None:
    with pytest.raises(ProposerError, match=r"no reply for .* exit code 1"):
        await proposer("exit 1", RetryLimits(backoff_s=0.001, start_s=0.0)).propose(prompt(), 0)


async def test_one_that_takes_too_long_is_killed_with_all_it_has_started(tmp_path: Path) -> None:
    said: list[str] = []
    pids = tmp_path / "pids"
    command = f"sleep 1000 & echo $! $$ > {pids}; wait"
    looks = itertools.count(1)
    running_s = lambda: float(next(looks)) if pids.exists() and pids.read_text() else 0.0  # noqa: E731
    clock = Heartbeat(running_s, beat_s=0.01)
    limits = RetryLimits(0.2, start_s=0.0, backoff_s=0.001)
    with pytest.raises(ProposerError, match=r"no reply within 0\.2 s"):
        await proposer(command, limits, tell=said.append, clock=clock).propose(prompt(), 0)
    await gone(pids.read_text())


async def test_a_stopped_run_leaves_nothing_running(tmp_path: Path) -> None:
    command = f"sleep 1000 & echo $! $$ > {tmp_path}/pids; wait"
    asked = asyncio.ensure_future(proposer(command).propose(prompt(), 0))
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text().strip():
        await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await gone((tmp_path / "pids").read_text())


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_one_that_takes_too_long_leaves_no_file_open_though_a_process_of_it_has_left_its_group(
    factory: Any, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pids.touch()
    command = f"setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' & wait"

    async def cancelled(number: int) -> int:
        """Cancel the command once it has left its group for the nth time; return the number of open files."""
        running = asyncio.create_task(shell.run_shell(command, "", dict(os.environ)))
        while len(pids.read_text().split()) < number:
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])
        return open_files()

    async def are_closed() -> bool:
        before = await cancelled(1)  # with what the loop keeps
        await cancelled(2)
        await cancelled(3)
        until = time.monotonic() + 60
        while open_files() > before and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return open_files() <= before

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(are_closed())
    for pid in pids.read_text().split():
        os.kill(int(pid), signal.SIGKILL)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def gone(pids: str) -> None:
    """Wait until none of the processes is running; a killed one may stay a zombie until somebody asks for it."""
    for pid in pids.split():
        with suppress(FileNotFoundError, ProcessLookupError):
            while Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
                await asyncio.sleep(0.01)


async def test_what_is_written_without_end_is_not_kept() -> None:
    reply = await proposer("head -c 10000000 /dev/zero").propose(prompt(), 0)
    assert len(reply.text) == 4 * 2**20


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "needs a command line"),
        (f"ask --key {SECRET}", "holds a key"),
        *((f"ask -H 'Authorization: Bearer {key}'", "holds a key") for key in KEYS),
    ],
)
def test_no_command_and_one_with_a_key_in_it_are_refused(
    command: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", SECRET)
    with pytest.raises(UsageError, match=message) as caught:
        CommandProposer.of(CommandSettings(), ProposerContext(toys.Toy(), 0, 1, command))
    assert SECRET not in str(caught.value)


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[[float], Any]:
    async def run(share: float) -> tuple[str, list[Any], int]:
        journal, log = toys.MemoryJournal(), tmp_path / f"log-{share}"
        command = shlex.join([sys.executable, "-SI", str(ANSWERING), str(log), str(share)])
        settings = {"budget": BUDGET, "window": 16, "method": "funsearch"}
        search = await toys.search(journal, settings, proposer=proposer(command))
        assert await search.run() == "budget"
        return search.state.digest(), [decode(*row) for row in journal.rows], len(log.read_text().split())

    return run


async def test_a_run_with_a_fifth_of_faults_ends_as_one_without(run_of: Any) -> None:
    smooth, _, tries = await run_of(0.0)
    rough, events, more_tries = await run_of(0.2)
    assert tries == BUDGET < more_tries - 2
    assert rough == smooth
    replies: list[Reply] = [event.reply for event in events if isinstance(event, Responded)]
    assert not any(reply.fault for reply in replies)
    assert sum(len(reply.calls) for reply in replies) == BUDGET
    assert sum(reply.unanswered for reply in replies) == more_tries - BUDGET, "each of these may have been billed"


def test_a_command_whose_options_are_called_like_keys_is_taken() -> None:
    CommandProposer.of(CommandSettings(), ProposerContext(toys.Toy(), 0, 1, "llm --key-filename own.txt -m pk-small"))


def test_a_program_is_no_key() -> None:
    program = "sk_total = hf_score_of(gsk_values) - sk-total_of_values-and_more\nrisk-1234567890abcdefgh\n"
    assert Secrets(()).clean(program) == program


@pytest.mark.parametrize("beginning", ["sk-", "eyJ-"])
def test_a_reply_of_beginnings_of_keys_takes_no_time_to_clean(beginning: str) -> None:
    text = beginning * 20_000  # with the square of the length it took minutes, of the event loop
    assert Secrets(()).clean(text) == text


async def test_what_a_command_writes_is_kept_without_any_key_and_without_what_the_environment_sends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Cookie: a=b; session=0123456789abc=")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://host/v1?api-version=2026-11-27&subscription=9876543210")
    written = "\n".join([*KEYS, "0123456789abc=", "9876543210", "2026-11-27"])
    monkeypatch.setenv("WRITTEN", written)
    reply = await proposer('echo "$WRITTEN"').propose(prompt(), 0)
    assert reply.text.split() == ["…"] * (len(KEYS) + 2) + ["2026-11-27"]
