"""Methods and proposers of one's own, each a file, by way of the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from behavesim.checks import method
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES, Subject

ANNEALING = Path(__file__).with_name("annealing.py").read_text()
"""A method as somebody writes it who has read docs/how-to/methods.md and nothing else."""

PROPOSER = """
import behavesim as bs

class Echo(bs.Proposer[bs.ProposerSettings]):
    \"\"\"Says the template again.\"\"\"

    costs_money = False

    def __init__(self, template):
        self.template = template

    @classmethod
    def of(cls, settings, context):
        return cls(context.task.template)

    async def propose(self, prompt, number):
        return bs.Reply(f"```python\\n# {number}\\n{self.template}```", "echo", (), "stop")

proposer = Echo
"""


async def killed_after(events: int, subject: Subject) -> None:
    process = await subject.start()
    async with asyncio.timeout(120):
        while subject.events() < events:
            await asyncio.sleep(0.005)
    process.kill()
    await process.communicate()


def test_a_method_is_written_examined_run_resumed_and_verified(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method, "SHUFFLES", 1)
    monkeypatch.setattr(method, "STRIDE", 120)  # where a method is stopped, its own tests look at
    assert behavesim("method", "init", "mine").code == 0
    assert behavesim("method", "init", "mine").code == 2
    checked = behavesim("method", "check", "mine.py")
    assert (checked.code, checked.out.count("ok "), "still says CHANGE" in checked.out) == (0, 3, True)
    run = ("run", FEW_CITIES, "--method", "mine.py", "--budget", 4, "--name", "own")
    assert behavesim(*run, "--set", "keep=3", "--set", "recommend=false").code == 0
    assert behavesim("resume", "own", "--budget", 6, "--set", "recommend=false").code == 0
    assert behavesim("verify", "own").code == 0
    with Path("mine.py").open("a") as file:
        file.write("# changed\n")
    refused = behavesim("resume", "own", "--budget", 14)
    assert (refused.code, "its method changed" in refused.err) == (2, True)
    Path("moved").mkdir()
    Path("mine.py").rename("moved/mine.py")
    moved = behavesim("resume", "own", "--budget", 14, "--set", "method=moved/mine.py")
    assert (moved.code, "its method changed" in moved.err) == (2, True)
    Path("moved/mine.py").rename("moved/other.py")
    other = behavesim("resume", "own", "--budget", 14, "--set", "method=moved/other.py")
    assert (other.code, other.err.endswith("put it back, or start a new run\n")) == (2, True)  # a fork refuses it, too
    assert behavesim("report", "own", "--json").document["runs"][0]["asked"] == 6


def test_a_method_written_from_the_documentation_is_killed_and_goes_on_as_if_it_had_not_been(
    behavesim: Command, tmp_path: Path
) -> None:
    assert len(ANNEALING.splitlines()) <= 40
    Path("annealing.py").write_text(ANNEALING)
    given = (FEW_CITIES, "--method", "annealing.py", "--budget", "20", "--window", "4", "--set", "recommend=false")
    whole = behavesim("run", *given, "--name", "whole", "--json").document
    subject = Subject(tmp_path / "runs" / "killed", given)
    asyncio.run(killed_after(30, subject))
    assert behavesim("resume", "killed", "--json").document["digest"] == whole["digest"]


@pytest.mark.parametrize(
    ("noun", "text", "said"),
    [
        ("method", ANNEALING.replace("state.template)", "state.templates)"), "has no attribute 'templates'"),
        ("method", ANNEALING.replace("bs.NotAdded(candidate.id)", "candidate.reply"), "which is no decision"),
        ("method", ANNEALING.replace("bs.NotAdded(candidate.id)", "bs.NotAdded(99)"), "cannot be: candidate 99 is not"),
        ("method", ANNEALING.replace("    def ask(", "    def __init__(self): pass\n    def ask("), "`__init__` out"),
        ("method", ANNEALING.replace("self.settings.temperature *", "self.warmth *"), "'warmth', in line 36"),
        ("proposer", PROPOSER.replace('"echo", ()', '"echo" / ()'), "unsupported operand type"),
        ("proposer", PROPOSER.replace("context.task.template", "context.tasks"), "has no attribute 'tasks'"),
    ],
)
def test_a_part_that_raises_is_named_with_its_line_and_the_run_is_kept(
    behavesim: Command, noun: str, text: str, said: str
) -> None:
    Path("mine.py").write_text(text)
    ended = behavesim("run", "tsp", *("--method", "best-of-n"), f"--{noun}", "mine.py", "--budget", 4, "--json")
    assert (ended.code, ended.out) == (1, "")
    told = ended.err.rpartition("by the clock\n")[2].splitlines()  # the template may not have been tried
    why, *next_step = (line for line in told if line.startswith("behavesim: "))
    assert said in why
    assert all("what has arrived is kept; go on with: behavesim resume " in line for line in next_step)
    assert all(line.endswith(" --fork NEW-ID") for line in next_step)  # resume refuses a part that has changed


def test_a_proposer_is_a_file_and_a_changed_one_is_refused(behavesim: Command) -> None:
    Path("echo.py").write_text(PROPOSER)
    given = ("--method", "best-of-n", "--proposer", "echo.py", "--budget", 4, "--set", "recommend=false")
    run = behavesim("run", "tsp", *given, "--name", "e", "--json")
    assert (run.document["feasible"], run.document["proposer"]) == (4, str(Path("echo.py").resolve()))
    Path("echo.py").write_text(PROPOSER.replace("again", "once more"))
    refused = behavesim("resume", "e", "--budget", 5)
    assert (refused.code, "its proposer changed" in refused.err) == (2, True)


def test_settings_are_shown_by_whose_they_are(behavesim: Command) -> None:
    shown = behavesim("settings", "--method", "eoh", "--json").document
    assert {row["owner"] for row in shown} == {"every run", "method eoh"}
    assert "population" in {row["setting"] for row in shown}
