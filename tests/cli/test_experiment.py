"""An experiment from the command line: every run once, whatever happens in between, and a comparison at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

import behavesim as bs
from behavesim.application.experiment.plan import plan, read_experiment
from behavesim.base.config import cores
from behavesim.state.events import NotAdded
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from tests.cli.command import Command
from tests.store.written import written

TASK = '''
import numpy as np
import behavesim as bs


class Near(bs.Task):
    """Return a number near ten."""

    template = "def number(size: float) -> float:\\n    return 20.0 * size\\n"
    objective = bs.Objective("minimise", best_known=1.0)
    normaliser = 3.0

    def instances(self, split):
        return [1, 2]

    def solve(self, function, instance):
        return np.array([float(function(instance))])

    def score(self, instance, solution):
        return 1.0 + min(100.0, abs(solution[0] - 10)) * instance

    def trajectory(self, instance, solution):
        return bs.Trajectory.prefixes([int(abs(solution[0])) % 7, instance, 3])


task = Near()
'''

FILE = """
name = "small"
tasks = ["near.py"]
methods = ["best-of-n", "eoh"]
seeds = 1
tests = [["eoh", "best-of-n"]]
[settings]
proposer = "genetic"
budget = 4
recommend = false
"""


class Terminal(StringIO):
    """A person who types `text`."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "near.py").write_text(TASK)
    (tmp_path / "small.toml").write_text(FILE)
    return tmp_path


def test_an_experiment_is_made_once_gone_on_with_and_compared(behavesim: Command, files: Path) -> None:
    planned = behavesim("experiment", "small.toml", "--dry-run")
    assert planned.out.split() == ["near-best-of-n-seed0", "near-eoh-seed0"]
    assert "One run per group: no test possible" in planned.err
    first = behavesim("experiment", "small.toml", "--json")
    assert first.code == 0, first.err
    (entry,) = first.document["comparison"]
    assert [group["label"] for group in entry["groups"]] == ["best-of-n", "eoh"]
    assert [(test["a"], test["b"]) for test in entry["tests"] if test["metric"] == "best_gap"] == [("eoh", "best-of-n")]
    assert all("held_out" in run for run in first.document["runs"])
    here = files / "runs" / "small"
    assert json.loads((here / "report.json").read_text())["comparison"] == first.document["comparison"]
    assert (here / "tables" / "tests.csv").is_file()
    assert "<title>best-of-n and eoh · behavesim</title>" in (here / "comparison.html").read_text()

    shutil.rmtree(here / "near-eoh-seed0")
    (here / "near-eoh-seed0").mkdir()  # as a kill leaves it before the journal begins
    digest = bs.load_run(here / "near-best-of-n-seed0").state.digest()
    again = behavesim("experiment", "small.toml", "--json")
    assert "2 runs, 1 to do" in again.err
    assert again.document["comparison"] == first.document["comparison"]
    assert bs.load_run(here / "near-best-of-n-seed0").state.digest() == digest

    (files / "small.toml").write_text(FILE.replace("budget = 4", "budget = 4\nwindow = 3"))
    changed = behavesim("experiment", "small.toml")
    assert changed.code == 2
    assert "window was 2 and is 3" in changed.err


def test_asking_a_model_takes_an_estimate_and_consent(
    behavesim: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "model.toml").write_text(
        'name = "paid"\ntasks = ["tsp"]\nmethods = ["eoh"]\nseeds = 2\n[settings]\nproposer = "openai"\nbudget = 100\n'
    )
    keyless = behavesim("experiment", "model.toml", "--yes")
    assert keyless.code == 2
    assert keyless.err.splitlines()[1:] == [
        "behavesim: asking a model needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without keys"
    ]
    planned = behavesim("experiment", "model.toml", "--dry-run")
    assert planned.code == 0
    assert "needs OPENAI_API_KEY" in planned.err

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    refused = behavesim("experiment", "model.toml")
    assert refused.code == 2
    assert "OPENAI_API_KEY" not in refused.err
    assert "about 200 requests to gpt-6-luna" in refused.err
    assert "about $" in refused.err
    assert "--yes" in refused.err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    declined = behavesim("experiment", "model.toml")
    assert declined.code == 1
    assert "Go ahead?" in declined.err
    assert not (files / "runs").exists()


def test_a_run_that_lacks_only_its_recommended_program_asks_no_model(
    behavesim: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "model.toml").write_text(
        'name = "paid"\ntasks = ["tsp"]\nmethods = ["best-of-n"]\nseeds = 1\n'
        '[settings]\nproposer = "openai"\nbudget = 2\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (run,) = plan(read_experiment(files / "model.toml"), "openai")
    folder = RunFolder(files / "runs/paid" / run.name)
    folder.path.mkdir(parents=True)
    folder.write_settings(run.settings.flat())
    written(folder.journal, [NotAdded(0), NotAdded(1)])
    planned = behavesim("experiment", "model.toml", "--dry-run")
    assert (planned.code, planned.out.split()) == (0, [run.name])
    assert "requests" not in planned.err


@pytest.mark.parametrize(("is_file", "said"), [(True, "File exists"), (False, "Permission denied")])
def test_a_folder_that_cannot_be_written_to_is_named(
    behavesim: Command, files: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool, said: str
) -> None:
    here = files / "runs" / "small"
    here.parent.mkdir()
    here.touch() if is_file else here.mkdir()
    access = os.access
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    ended = behavesim("experiment", "small.toml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == f"behavesim: cannot write to runs/small: {said}; choose another --runs-dir"


@pytest.mark.parametrize(("tier", "share"), [("default", 1.0), ("flex", 0.5), ("priority", 2.0)])
def test_an_estimate_is_for_the_tier_that_is_asked_for(
    behavesim: Command, files: Path, monkeypatch: pytest.MonkeyPatch, tier: str, share: float
) -> None:
    (files / "model.toml").write_text(
        'name = "paid"\ntasks = ["tsp"]\nmethods = ["eoh"]\n'
        f'[settings]\nproposer = "openai"\nbudget = 100000\nservice_tier = "{tier}"\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    said = behavesim("experiment", "model.toml", "--dry-run").err
    estimated = re.search(r"([\d,]+) tokens in, ([\d,]+) out, about \$([\d,.]+)", said, re.DOTALL)
    assert estimated, said
    prompt, completion, cost = (float(number.replace(",", "")) for number in estimated.groups())
    assert cost == pytest.approx(share * (prompt * 0.10 + completion * 0.50) / 1e6, rel=1e-3)


def test_a_run_that_fails_is_named_and_the_others_are_reported(behavesim: Command, files: Path) -> None:
    one_method = FILE.replace(', "eoh"]', "]").replace(TESTS, "")
    (files / "small.toml").write_text(one_method.replace('"near.py"]', '"near.py", "broken.py"]'))
    (files / "broken.py").write_text(TASK.replace("return 20.0 * size", "return None"))
    ended = behavesim("experiment", "small.toml", "--json")
    assert ended.code == 1
    assert "1 run failed (broken-best-of-n-seed0)" in ended.err
    assert [run["run"] for run in ended.document["runs"]] == ["near-best-of-n-seed0"]
    assert "template" in (files / "runs/small/broken-best-of-n-seed0.log").read_text()


def test_any_setting_reaches_the_run_as_it_was_planned(behavesim: Command, files: Path) -> None:
    (files / "odd.toml").write_text(FILE.replace("recommend = false", ODD).replace(', "eoh"]', "]").replace(TESTS, ""))
    assert behavesim("experiment", "odd.toml").code == 0
    settings = RunFolder(files / "runs/small/near-best-of-n-seed0").read_settings()
    assert settings["prices"] == {'a "quoted" word': {"prompt": 0.5, "completion": 1.0}}
    assert settings["genetic_habit"] == "timid"


TESTS = 'tests = [["eoh", "best-of-n"]]'
ODD = """recommend = false
prices = { 'a "quoted" word' = { prompt = 0.5, completion = 1.0 } }
genetic_habit = "timid"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_runs_end_in_order_when_their_experiment_is_killed(files: Path) -> None:
    (files / "small.toml").write_text(FILE.replace("budget = 4", "budget = 100000"))
    command = [sys.executable, "-c", "from behavesim_cli.app import main; main()", "experiment", "small.toml"]
    experiment = subprocess.Popen(command, cwd=files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folders = [RunFolder(files / "runs/small" / name) for name in ("near-best-of-n-seed0", "near-eoh-seed0")]
    wait_until(lambda: all(folder.has_begun() and count_registered(folder.journal) for folder in folders[: cores()]))
    experiment.kill()
    experiment.wait()
    wait_until(lambda: not any(folder.is_running() for folder in folders))
    for folder in folders[: cores()]:
        assert bs.load_run(folder.path).state.stopped == "interrupted"


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 500
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)
