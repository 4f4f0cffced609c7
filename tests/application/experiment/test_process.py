"""The process that makes one run of an experiment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.engine.admission import settings_from_person
from tests.crash.processes import FEW_CITIES

SETTINGS = settings_from_person({"task": FEW_CITIES, "method": "best-of-n", "budget": 3, "recommend": False}).flat()


def made(folder: Path, parent: int) -> subprocess.CompletedProcess[str]:
    order = json.dumps({"parent": parent, "folder": str(folder), "settings": SETTINGS})
    command = [sys.executable, "-m", "behavesim.application.experiment.execution"]
    return subprocess.run(command, input=order, capture_output=True, text=True)


def test_a_run_is_made_of_the_settings_as_they_are_and_gone_on_with_when_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "settings.toml").write_text("")  # as a kill leaves it before the journal begins
    for _ in range(2):
        ended = made(tmp_path / "run", os.getpid())
        assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
        run = Run.load(tmp_path / "run")
        assert run.settings.flat() == SETTINGS
        assert run.state.registered == 3


def test_a_run_whose_experiment_has_died_already_is_not_begun(tmp_path: Path) -> None:
    assert made(tmp_path / "run", os.getpid() + 1).returncode == 0
    assert not (tmp_path / "run").exists()
