"""Replies from a command and from a folder, by way of the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from behavesim_cli.verify import NOT_CHECKED

from behavesim.audit.verify import SCORE
from behavesim.programs.answer import add_fence
from behavesim.state.events import Evaluated
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from tests.cli.command import Command
from tests.forgeries import written

ASK = """
import os, re, sys
if os.environ["BEHAVESIM_NUMBER"] == "2" and not os.path.exists("failed"):
    open("failed", "w").close()
    sys.exit("not now")
code = re.findall(r"```python\\n(.*?)```", sys.stdin.read(), re.DOTALL)[-1]
print(f"```python\\n{code}\\n# {os.environ['BEHAVESIM_NUMBER']}\\n```")
"""
BUDGET = 4
RUN = ("run", "tsp", "--method", "best-of-n", "--json", "--set", "recommend=false")


def test_a_command_writes_the_programs_and_its_price_is_unknown(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.proposers.retry.backoff_s", lambda attempt, first_s, jitter: 0.0)
    Path("ask.py").write_text(ASK)
    proposer = f"command:{sys.executable} ask.py"
    ended = behavesim(*RUN, "--budget", 4, "--name", "c", "--proposer", proposer)
    assert ended.code == 0
    found = ended.document
    assert (found["feasible"], found["proposer"], found["cost_usd"], found["unanswered"]) == (4, proposer, None, 1)
    assert "the command ended with exit code 1: not now" in ended.err
    assert behavesim("resume", "c", "--budget", 5, "--json").document["feasible"] == 5
    assert behavesim("verify", "c").code == 0
    refused = behavesim(*RUN, "--budget", 4, "--proposer", proposer, "--max-cost", 1)
    assert (refused.code, "the price of command is unknown" in refused.err) == (2, True)


def test_a_program_that_draws_at_random_is_told_from_a_changed_journal(behavesim: Command) -> None:
    source = """import os


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[os.urandom(1)[0] % len(unvisited_nodes)]
"""
    steady = source.replace("os.urandom(1)[0]", "0 * len(os.sep)")
    texts = [add_fence(source), add_fence(steady)]
    Path("draw.py").write_text(f"import os\nprint({texts!r}[int(os.environ['BEHAVESIM_NUMBER'])])")
    proposer = f"command:{sys.executable} draw.py"
    assert behavesim(*RUN, "--budget", 2, "--name", "c", "--proposer", proposer).document["feasible"] == 2
    found = behavesim("verify", "c", "--json")
    assert (found.code, found.document["unchecked"]) == (0, {SCORE: 1})

    run = RunFolder(Path("runs/c"))
    events = [
        replace(event, score=event.score - 1) if isinstance(event, Evaluated) and event.candidate == 1 else event
        for _, _, event in read_events(run.journal)
    ]
    asyncio.run(written(events, run, Path("runs/forged")))
    forged = behavesim("verify", "forged")
    assert forged.code == 1
    assert "differs in 1 event" in forged.out and "(Evaluated of candidate 1)" in forged.out
    assert f"not checked: 1 {NOT_CHECKED[SCORE]}\n" in forged.out


def test_the_cost_of_requests_that_all_went_unanswered_is_unknown(behavesim: Command) -> None:
    ended = behavesim(*RUN, "--budget", 1, "--proposer", "command:false", "--max-time", "1s")
    assert ended.code == 1
    assert ended.document["cost_usd"] is None and ended.document["unanswered"] > 0


def test_a_folder_takes_replies_and_knows_the_ones_it_has_on_resume(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.proposers.folder.LOOK_S", 0.02)
    asked = ("--budget", BUDGET, "--window", BUDGET, "--proposer", "folder:prompts", "--set", "reply_rest_s=0")
    run = (*asked, "--name", "f")
    with answering(3, then_interrupt=RunFolder(Path("runs/f"))):
        stopped = behavesim(*RUN, *run)
    assert (stopped.document["stopped_by"], stopped.document["asked"]) == ("interrupted", 4)
    assert stopped.document["unanswered"] == 0, "what waits in a folder is not lost"
    with answering(4):
        ended = behavesim("resume", "f", "--json")
    assert (ended.code, ended.document["feasible"], ended.document["cost_usd"]) == (0, 4, None)
    assert len(list(Path("prompts").iterdir())) == 8


@contextmanager
def answering(count: int, then_interrupt: RunFolder | None = None) -> Iterator[None]:
    """Answer the first so many prompts, each with the program that it shows; Ctrl-C once a run has as many registered.

    They are written in any order: which are the first is known once all are there.
    """
    is_over = threading.Event()

    def answer() -> None:
        while not is_over.is_set():
            prompts = sorted(Path("prompts").glob("*.prompt.md"))
            for path in prompts[:count] if len(prompts) == BUDGET else ():
                reply = path.with_name(path.name.replace(".prompt.", ".reply."))
                if not reply.exists():
                    draft = path.with_suffix(".draft")
                    draft.write_text(path.read_text())
                    draft.replace(reply)
            if then_interrupt and then_interrupt.has_begun() and count_registered(then_interrupt.journal) == count:
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
