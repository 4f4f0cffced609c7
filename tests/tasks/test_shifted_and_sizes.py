"""Shifted instances and further sizes of the built-in tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from behavesim_cli.tasks import show_sizes
from behavesim_tasks import best_known, bin_packing, job_shop, tsp

from behavesim.application.launch import task_settings
from behavesim.base.errors import TaskError, UsageError
from behavesim.task import TaskReference, installed_tasks
from tests.tasks.test_library import function_of, score_of

SHIFTED = {"tsp": 5.4217, "cvrp": 17.1634, "job_shop": 2077.4}
"""Mean score of the template on the shifted instances."""
SIZES = {"tsp:large": ("search", 11.4073), "bin_packing:weibull5k": ("held-out", 2067.0)}
"""Mean score of the template on a split; the second is FunSearch's figure for best fit on its instances."""


def test_no_task_offers_what_has_no_golden_value() -> None:
    tasks = [TaskReference(name).load() for name in installed_tasks()]
    assert {task.name for task in tasks if task.shifted} == {*SHIFTED, "bin_packing"}
    assert {f"{task.name}:{size}" for task in tasks for size in task.sizes} == {*SIZES}
    assert all(task.splits == ("search", "validation", "held-out") for task in tasks if not task.shifted)


@pytest.mark.parametrize("name", SHIFTED)
def test_the_template_has_its_golden_score_on_shifted_instances(name: str) -> None:
    task = TaskReference(name).load()
    score, objective = score_of(task, function_of(task), "shifted"), task.objective_on("shifted")
    assert score == pytest.approx(SHIFTED[name], abs=5e-5)
    gap = objective.gap(score)
    assert gap is not None and 0 < gap < 0.4 and objective.source


def test_shifted_items_are_packed_within_their_lower_bounds() -> None:
    task = bin_packing.task
    items = task.instances("shifted")
    assert [(len(each.sizes), each.sizes.min(), each.sizes.max()) for each in items] == [*bin_packing.SIZES["shifted"]]
    for place, bins in ((0, 417), (2, 259)):
        each = items[place]
        assert task.score(each, task.solve(function_of(task), each)) == bins >= best_known.BIN_PACKING.shifted[place]


def test_shifted_jobs_visit_one_set_of_machines_before_the_other() -> None:
    for shop in job_shop.task.instances("shifted"):
        assert (shop.machines[:, :3] < 3).all() and (shop.machines[:, 3:] >= 3).all()
        assert shop.times.max() <= 200


@pytest.mark.parametrize("reference", SIZES)
def test_a_size_is_the_task_with_other_instances(reference: str) -> None:
    split, golden = SIZES[reference]
    task, usual = TaskReference(reference).load(), TaskReference(reference.partition(":")[0]).load()
    assert task.name == reference.replace(":", "_")
    assert (task.description, task.template) == (usual.description, usual.template)
    score, objective = score_of(task, function_of(task), split), task.objective_on(split)
    assert score == pytest.approx(golden, abs=5e-5)
    gap = objective.gap(score)
    assert gap is not None and 0 < gap < 0.5
    if reference == "bin_packing:weibull5k":
        assert objective.best_known == 1987.8  # as published


def test_a_size_is_a_setting_where_the_task_has_it() -> None:
    settings, task = task_settings("tsp", {}, ["size=large", "seed=3"])
    assert (settings.task, settings.seed, task.name) == ("tsp:large", 3, "tsp_large")
    with pytest.raises(UsageError, match="no setting 'size'"):
        task_settings("cpp", {}, ["size=large"])


def test_a_size_that_a_task_lacks_is_refused_by_name() -> None:
    for text, said in (("tsp:huge", "it has large"), ("cpp:large", "one size only"), ("tps:large", "no task 'tps'")):
        with pytest.raises(TaskError, match=said):
            TaskReference(text).load()


def test_a_size_of_a_copied_file_is_refused_with_the_line_that_makes_it_the_task(tmp_path: Path) -> None:
    copied = tmp_path / "mine.py"
    copied.write_bytes(Path(str(tsp.__file__)).read_bytes())
    with pytest.raises(TaskError, match="end with `task = large`"):
        task_settings(str(copied), {}, ["size=large"])


def test_the_table_of_sizes_has_seconds_and_scores(capfd: pytest.CaptureFixture[str]) -> None:
    show_sizes(["tsp:large"], True)
    (row,) = json.loads(capfd.readouterr().out)
    assert row["score"] == pytest.approx(SIZES["tsp:large"][1], abs=5e-5)
    assert row["seconds"] > 0 and row["gap"] > 0 and "200 cities" in row["size"]
