"""The report of an experiment stands beside its runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from behavesim.analysis.metrics import METRICS
from behavesim.application.experiment.execution import compare_groups
from behavesim.application.experiment.plan import Experiment, plan
from behavesim.reports.files import json_document
from tests.analysis.journals import feasible, journalled, started, stopped


async def test_the_runs_that_were_made_are_compared_and_the_comparison_is_kept(tmp_path: Path) -> None:
    methods = ["eoh", "niche"]
    experiment = Experiment(name="x", tasks=["tsp"], methods=methods, tests=[("niche", "eoh")], held_out=False)
    made = [run for run in plan(experiment, "genetic") if run.settings.seed < 2]
    for number, run in enumerate(made):
        events = (started(**run.settings.flat()), feasible(0, 5.0 + number, island=None), stopped("budget"))
        await asyncio.to_thread(journalled, tmp_path / run.name, *events)
    found = await compare_groups(experiment, made, tmp_path, METRICS, print)
    assert [group.label for group in found.tasks[0].groups] == methods
    assert {(test.a, test.b) for test in found.tasks[0].tests} == {("niche", "eoh")}
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads(json.dumps(json_document(found)))
    assert (tmp_path / "tables" / "tests.csv").is_file()
