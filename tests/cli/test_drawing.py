"""Programs that draw at random are compared by the distribution of what they do, from the first command to the last."""

from __future__ import annotations

from pathlib import Path

import behavesim as bs
from tests.cli.command import Command

DRAWING = Path(__file__).with_name("drawing.py")


def test_a_run_compares_samples_and_can_be_resumed_verified_and_reported(behavesim: Command) -> None:
    settings = (
        "--method",
        "funsearch+behavesim",
        "--set",
        "n_init=8",
        "--set",
        "recommend=false",
        "--proposer",
        "genetic",
        "--json",
    )
    whole = behavesim("run", DRAWING, "--budget", 12, "--name", "whole", *settings)
    assert whole.code == 0, whole.err
    behavesim("run", DRAWING, "--budget", 8, "--name", "parts", *settings)
    parts = behavesim("resume", "parts", "--budget", 12, "--json")
    assert parts.document["digest"] == whole.document["digest"]
    assert behavesim("verify", "whole").code == 0
    assert behavesim("report", "whole", "--json").code == 0
    run = bs.load_run("runs/whole")
    assert {type(each) for behaviour in run.trajectories([-1]) for each in behaviour} == {bs.Samples}


def test_the_task_is_in_order_and_its_samples_are_shown(behavesim: Command, tmp_path: Path) -> None:
    assert behavesim("task", "check", DRAWING).code == 0
    (tmp_path / "near.py").write_text("def weight(distance, left):\n    return distance ** -4\n")
    shown = behavesim("evaluate", DRAWING, "near.py", "--json").document[0]
    assert [(each["kind"], len(each["values"])) for each in shown["trajectories"]] == [("prefixes", 3)] * 2
    compared = behavesim("compare", DRAWING, "near.py", "template", "--json").document
    assert 0 < compared["matrix"][0][1] < 1
