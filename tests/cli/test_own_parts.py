"""Methods and proposers of one's own, each a file, by way of the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Command

PROPOSER = """
import behavesim as bs

class Echo(bs.Proposer[bs.ProposerSettings]):
    \"\"\"Says the template again.\"\"\"

    costs_money = False

    def __init__(self, template):
        self.template = template

    @classmethod
    def of(cls, settings, errand):
        return cls(errand.task.template)

    async def propose(self, prompt, number):
        return bs.Reply(f"```python\\n# {number}\\n{self.template}```", "echo", (), "stop")

proposer = Echo
"""


def test_a_method_is_written_examined_run_resumed_and_verified(behavesim: Command) -> None:
    assert behavesim("method", "init", "mine").code == 0
    assert behavesim("method", "init", "mine").code == 2
    checked = behavesim("method", "check", "mine.py")
    assert (checked.code, checked.out.count("ok ")) == (0, 4)
    run = ("run", "tsp", "--method", "mine.py", "--budget", 8, "--name", "own", "--set", "keep=3")
    assert behavesim(*run).code == 0
    assert behavesim("resume", "own", "--budget", 12).code == 0
    assert behavesim("verify", "own").code == 0
    with Path("mine.py").open("a") as file:
        file.write("# changed\n")
    refused = behavesim("resume", "own", "--budget", 14)
    assert (refused.code, "its method changed" in refused.err) == (2, True)
    Path("mine.py").unlink()
    assert behavesim("report", "own", "--json").document["runs"][0]["asked"] == 12


def test_a_proposer_is_a_file_and_a_changed_one_is_refused(behavesim: Command) -> None:
    Path("echo.py").write_text(PROPOSER)
    run = behavesim(
        "run", "tsp", "--method", "best-of-n", "--proposer", "echo.py", "--budget", 4, "--name", "e", "--json"
    )
    assert (run.document["feasible"], run.document["proposer"]) == (4, str(Path("echo.py").resolve()))
    Path("echo.py").write_text(PROPOSER.replace("again", "once more"))
    refused = behavesim("resume", "e", "--budget", 5)
    assert (refused.code, "its proposer changed" in refused.err) == (2, True)


def test_settings_are_shown_by_whose_they_are(behavesim: Command) -> None:
    shown = behavesim("settings", "--method", "eoh", "--json").document
    assert {row["owner"] for row in shown} == {"every run", "method eoh"}
    assert "population" in {row["setting"] for row in shown}
