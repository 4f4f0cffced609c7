"""Replies from a command and from a folder, by way of the command line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import Command

ASK = """
import os, re, sys
if os.environ["BEHAVESIM_NUMBER"] == "2" and not os.path.exists("failed"):
    open("failed", "w").close()
    sys.exit("not now")
code = re.findall(r"```python\\n(.*?)```", sys.stdin.read(), re.DOTALL)[-1]
print(f"```python\\n{code}\\n# {os.environ['BEHAVESIM_NUMBER']}\\n```")
"""
RUN = ("run", "tsp", "--method", "best-of-n", "--json", "--set", "recommend=false")


def test_a_command_writes_the_programs_and_its_price_is_unknown(behavesim: Command) -> None:
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


def test_a_folder_takes_replies_and_knows_the_ones_it_has_on_resume(behavesim: Command) -> None:
    run = ("--budget", 4, "--name", "f", "--proposer", "folder:prompts", "--set", "reply_rest_s=0")
    with answering(3):
        stopped = behavesim(*RUN, *run, "--max-time", "5s")
    assert (stopped.document["stopped_by"], stopped.document["asked"]) == ("max_time", 4)
    assert stopped.document["unanswered"] == 0, "what waits in a folder is not lost"
    with answering(4):
        ended = behavesim("resume", "f", "--set", "max_time_s=600", "--json")
    assert (ended.code, ended.document["feasible"], ended.document["cost_usd"]) == (0, 4, None)
    assert len(list(Path("prompts").iterdir())) == 8


@contextmanager
def answering(count: int) -> Iterator[None]:
    """Answer so many prompts, each with the program that it shows."""
    is_over = threading.Event()

    def answer() -> None:
        while not is_over.is_set():
            for path in sorted(Path("prompts").glob("*.prompt.md"))[:count]:
                reply = path.with_name(path.name.replace(".prompt.", ".reply."))
                if not reply.exists():
                    draft = path.with_suffix(".draft")
                    draft.write_text(path.read_text())
                    draft.replace(reply)
            time.sleep(0.05)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
