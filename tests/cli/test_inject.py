"""Programs and advice, given to runs by way of the command line."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from behavesim_tasks.tsp import TravellingSalesman

from behavesim.state.events import Asked
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from tests.cli.command import Command

TEMPLATE = TravellingSalesman().template
RUN = ("run", "tsp", "--method", "best-of-n", "--set", "recommend=false")


def tried(run: str) -> dict[int, str]:
    """The candidates of a run that people put in, and their programs."""
    events = read_events(Path("runs", run, "run.db"), only=(Asked,))
    found = [event for _, _, event in events if isinstance(event, Asked)]
    return {each.candidate: each.prompt.text for each in found if each.prompt.operator == "injected"}


def write(name: str, remark: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(f"# {remark}\n{TEMPLATE}")


def test_a_run_begins_with_a_folders_programs_and_another_with_its_best(behavesim: Command) -> None:
    write("mine/b.py", "second")
    write("mine/a.py", "first")
    assert behavesim(*RUN, "--budget", 4, "--name", "first", "--start-with", "mine").code == 0
    assert tried("first") == {0: f"# first\n{TEMPLATE}", 1: f"# second\n{TEMPLATE}"}
    assert behavesim("verify", "first").code == 0
    assert behavesim(*RUN, "--budget", 4, "--name", "second", "--start-with", "first").code == 0
    assert len(tried("second")) >= 1
    replay = behavesim(*RUN, "--budget", 4, "--name", "again", "--proposer", "replay:first", "--json").document
    assert tried("again") == tried("first")
    assert replay["replay"]["differing"] == {}
    assert replay["digest"] == behavesim("report", "first", "--json").document["runs"][0]["digest"]
    refused = behavesim(*RUN, "--budget", 4, "--proposer", "replay:first", "--start-with", "mine")
    assert (refused.code, "leave --start-with out" in refused.err) == (2, True)


def test_a_reply_that_is_not_the_program_that_was_put_in_is_found(behavesim: Command) -> None:
    write("mine/a.py", "mine")
    assert behavesim(*RUN, "--budget", 2, "--name", "first", "--start-with", "mine").code == 0
    with sqlite3.connect("runs/first/run.db") as db:  # the program stays: what was said around it is new
        db.execute(
            "UPDATE events SET payload = "
            "json_set(payload, '$.reply.text', 'Mine:' || char(10) || (payload ->> '$.reply.text')) "
            "WHERE type = 'Responded' AND candidate = 0"
        )
    verified = behavesim("verify", "first", "--json")
    assert verified.code == 1
    (difference,) = verified.document["differences"]
    assert (difference["event"], difference["candidate"]) == ("Responded", 0)


def test_what_holds_no_program_is_refused_and_nothing_is_left_behind(behavesim: Command) -> None:
    Path("mine").mkdir()
    Path("mine/a.py").write_text("x = 1\n")
    refused = behavesim(*RUN, "--start-with", "mine")
    assert (refused.code, "a.py is no program of task tsp (no-function)" in refused.err) == (2, True)
    refused = behavesim(*RUN, "--start-with", "yours")
    assert (refused.code, "there are no programs in 'yours'" in refused.err) == (2, True)
    assert not Path("runs").exists()


def test_a_program_is_put_into_a_run_that_ended_and_tried_on_resume(behavesim: Command) -> None:
    write("mine.py", "mine")
    Path("empty.py").write_text("")
    assert behavesim(*RUN, "--budget", 3, "--name", "r").code == 0
    assert behavesim("steer", "r", "mine.py", "empty.py").code == 2
    assert RunFolder(Path("runs/r")).inbox.waiting() == [], "all of them or none"
    said = behavesim("steer", "r", "mine.py")
    assert (said.code, "--budget 4" in said.out) == (0, True)
    assert behavesim("resume", "r", "--budget", 4).code == 0
    assert list(tried("r").values()) == [f"# mine\n{TEMPLATE}"]
    assert RunFolder(Path("runs/r")).inbox.waiting() == []
    assert behavesim("verify", "r").code == 0


def test_a_program_is_put_into_a_run_that_goes_on(behavesim: Command) -> None:
    """The model waits until the program has been tried, so that the run cannot end before."""
    Path("slow.py").write_text(
        "import glob, sys, time\nwhile not glob.glob('tried'):\n    time.sleep(0.05)\nprint(sys.stdin.read())\n"
    )
    write("mine.py", "mine")
    folder, is_over = RunFolder(Path("runs/r")), threading.Event()

    def put_in() -> None:
        while not folder.is_running() and not is_over.is_set():
            time.sleep(0.02)
        folder.inbox.put("mine", Path("mine.py").read_text())
        while folder.inbox.waiting() and not is_over.is_set():
            time.sleep(0.02)
        Path("tried").touch()

    thread = threading.Thread(target=put_in)
    thread.start()
    try:
        ended = behavesim(*RUN, "--budget", 6, "--window", 2, "--name", "r", "--proposer", "command:python3 slow.py")
    finally:
        is_over.set()
        thread.join()
    assert ended.code == 0
    assert list(tried("r").values()) == [f"# mine\n{TEMPLATE}"]


def test_whoever_advises_a_run_is_told_whether_it_goes_on(behavesim: Command) -> None:
    assert behavesim(*RUN, "--budget", 2, "--name", "r").code == 0
    folder = RunFolder(Path("runs/r"))
    folder.write_settings({**folder.read_settings(), "budget": 3})  # as of a run that was stopped before its end
    said, _ = behavesim("steer", "r", "Look ahead.").out.splitlines()
    assert said == "advice put into r; next: behavesim resume r"
    with folder.locked():
        said, _ = behavesim("steer", "r", "Look ahead.").out.splitlines()
    assert said == "advice put into r, which heeds that in its next prompts"


def test_advice_to_a_run_that_ended_is_heeded_on_resume_shown_verified_and_replayed(behavesim: Command) -> None:
    assert behavesim(*RUN, "--budget", 3, "--name", "r").code == 0
    for refused in (["two\nlines"], [" "], [], ["x" * 501], ["x", "--clear"], ["\x1b[2J"], ["use sk-0123456789abcdef"]):
        assert behavesim("steer", "r", *refused).code == 2
    assert RunFolder(Path("runs/r")).inbox.waiting(".txt") == []
    said = behavesim("steer", "r", "Try a k-d tree.")
    assert (said.code, "resume r --budget 4" in said.out, "only a model reads advice" in said.out) == (0, True, True)
    assert behavesim("resume", "r", "--budget", 4).code == 0
    assert behavesim("steer", "r", "--clear").code == 0
    assert behavesim("resume", "r", "--budget", 5).code == 0
    assert RunFolder(Path("runs/r")).inbox.waiting(".txt") == []
    summary = behavesim("report", "r", "--json").document["runs"][0]
    assert summary["advice"] == [{"text": "Try a k-d tree.", "since": 3, "until": 4}]
    assert "“Try a k-d tree.”, candidates 3–3" in behavesim("report", "r").out
    assert behavesim("verify", "r").code == 0
    replay = behavesim(*RUN, "--budget", 5, "--name", "again", "--proposer", "replay:r", "--json").document
    assert (replay["replay"]["differing"], replay["digest"], replay["advice"]) == (
        {},
        summary["digest"],
        summary["advice"],
    )
    with sqlite3.connect("runs/r/run.db") as db:
        db.execute(
            "UPDATE events SET payload = json_set(payload, '$.text', 'Another.') "
            "WHERE type = 'Advised' AND payload LIKE '%k-d%'"
        )
    found = behavesim("verify", "r", "--json").document["differences"]
    assert ("Asked", 3) in [(each["event"], each["candidate"]) for each in found]


def test_steering_tells_a_sentence_from_programs(behavesim: Command) -> None:
    write("mine.py", "mine")
    assert behavesim(*RUN, "--budget", 3, "--name", "r").code == 0
    for refused, why in (
        (("r",), "expected a sentence"),
        (("r", "mien.py"), "cannot read the program mien.py"),
        (("r", "mine.py", "--clear"), "leave the programs out"),
        (("r", "Look ahead.", "--clear"), "expected a sentence"),
    ):
        ended = behavesim("steer", *refused)
        assert (ended.code, why in ended.err) == (2, True), ended.err
    assert behavesim("steer", "r", "mine.py").out == behavesim("inject", "r", "mine.py").out
    assert behavesim("steer", "r", "Look ahead.").out == behavesim("advise", "r", "Look ahead.").out
