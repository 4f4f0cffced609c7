"""A zygote knows how to solve its own instances, and not how those of other splits are made."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from behavesim_tasks import tsp

from behavesim.sandbox.pool import Pool
from behavesim.sandbox.zygote import strip_task
from behavesim.task import Task, TaskReference, installed_tasks
from behavesim.task.verdict import Failure, Solved

TASK = '''
import random
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import behavesim.task as bt
from behavesim.trajectory import Trajectory

SECRET = 11
SEEDS = {"search": SECRET, "validation": SECRET + 1, "held-out": SECRET + 2}
SCALE, SHIFT = 2.0, 1.0
try:
    OFFSET = 3.0
except ImportError:
    OFFSET = 0.0


@cache
def _instances(split):
    random = np.random.RandomState(SEEDS[split])
    return [Points(random.rand(4))]


@dataclass(frozen=True)
class Points:
    at: np.ndarray

    @cached_property
    def scaled(self):
        return _scaled(self.at)


def _scaled(at):
    return at * SCALE


@cache
def _table():
    return {"shift": SHIFT}


class Base(bt.Task):
    """Put numbers in order."""

    template = "def order(points):\\n    return list(range(len(points)))\\n"
    objective = bt.Objective("minimise")
    seeds = SEEDS

    def __init__(self):
        self.hidden_seeds = SEEDS
        self.factor = 5.0

    def instances(self, split):
        return _instances(split)

    def instance(self, split, number):
        return Points(np.random.RandomState([SEEDS[split], number]).rand(4))

    def _prepared(self, instance):
        return instance.scaled * self.factor + _table()["shift"] + getattr(self, "offset") + random.Random(0).random()

    @property
    def offset(self):
        return OFFSET


class Order(Base):
    def solve(self, function, instance):
        return np.asarray(function(self._prepared(instance)))

    def score(self, instance, solution):
        return float(np.abs(np.diff(instance.at[solution])).sum())

    def trajectory(self, instance, solution):
        return Trajectory.prefixes(solution)


task = Order()
'''


@pytest.fixture
def reference(tmp_path: Path) -> TaskReference:
    (tmp_path / "in_order.py").write_text(TASK)
    return TaskReference(str(tmp_path / "in_order.py"))


def solved_by(solve: Callable[..., Any], task_instances: Any) -> list[Any]:
    return [np.asarray(solve(np.argsort, each)) for each in task_instances]


def test_what_solve_names_remains_and_what_makes_instances_does_not(reference: TaskReference) -> None:
    task = reference.load()
    instances, before = task.instances("search"), solved_by(task.solve, task.instances("search"))
    module = sys.modules[type(task).__module__]
    solve, files = strip_task(task)
    assert np.array_equal(solved_by(solve, instances), before)
    left = {*vars(module), *vars(task), *(name for kind in type(task).__mro__[:2] for name in vars(kind))}
    assert not left & {
        "SECRET",
        "SEEDS",
        "seeds",
        "hidden_seeds",
        "_instances",
        "instances",
        "instance",
        "score",
        "task",
        "Trajectory",
    }
    assert {
        "_scaled",
        "SCALE",
        "SHIFT",
        "OFFSET",
        "_table",
        "Points",
        "_prepared",
        "offset",
        "factor",
        "random",
    } <= left
    assert Path(reference.text).resolve() in files
    assert Path(str(tsp.__file__)).resolve().parent in files  # the file may be a copy of a built-in task's


@pytest.mark.parametrize("name", installed_tasks())
def test_the_installed_tasks_solve_without_what_makes_their_instances(name: str) -> None:
    task = TaskReference(name).load()
    kinds = [kind for kind in type(task).__mro__ if kind not in Task.__mro__]
    modules = [sys.modules[kind.__module__] for kind in kinds]
    kept = [(place, dict(vars(place))) for place in (task, *modules, *kinds)]
    try:
        solve, files = strip_task(task)
        assert Path(str(tsp.__file__)).resolve().parent not in files
        left = {name for place in (*modules, *kinds) for name in vars(place)}
        assert callable(solve)
        assert not left & {
            "SEEDS",
            "SIZES",
            "BEST",
            "TSPLIB",
            "_instances",
            "instances",
            "instance",
            "draw",
            "kinds",
            "score",
            "task",
        }
    finally:
        for place, attributes in kept:
            for missing in attributes.keys() - vars(place).keys():
                setattr(place, missing, attributes[missing])


SEARCHES = """
import gc, importlib, inspect, runpy, sys
from pathlib import Path

import behavesim.task

def attempts(name):
    for module in list(sys.modules.values()):
        yield lambda: module.task.instances("held-out")
        yield lambda: module._instances("held-out")
        yield lambda: module.SEEDS["held-out"]
    for each in gc.get_objects():
        if isinstance(each, behavesim.task.Task) or isinstance(each, type) and issubclass(each, behavesim.task.Task):
            yield lambda: each.instances("held-out")
            yield lambda: each.instances(each, "held-out")
            yield lambda: inspect.getsource(sys.modules[each.__module__])
            yield lambda: Path(sys.modules[each.__module__].__file__).read_text()
            yield lambda: list(Path(sys.modules[each.__module__].__file__).parent.glob("__pycache__/*"))[0].read_bytes()
            yield lambda: importlib.reload(sys.modules[each.__module__]).task.instances("held-out")
            yield lambda: runpy.run_module(each.__module__)
            yield lambda: importlib.import_module(each.__module__).task
        if callable(each) and "instances" in getattr(each, "__name__", ""):
            yield lambda: each("held-out")
        if inspect.isfunction(each) and each.__module__ != __name__ and "held-out" in each.__code__.co_consts:
            yield lambda: each
        if isinstance(each, dict) and "held-out" in each:
            yield lambda: each
    yield lambda: behavesim.task.TaskReference(name).load().instances("held-out")

def FUNCTION(*_):
    for attempt in attempts("TASK"):
        try:
            found = attempt()
        except Exception:
            continue
        if found is not None:
            raise RuntimeError(f"BREACH {inspect.getsource(attempt)} {found}")
    raise RuntimeError("nothing was found")
"""


@pytest.mark.parametrize("name", ["tsp", "tsp_hard", "bin_packing", "in_order.py"])
async def test_a_program_finds_no_way_to_the_instances_of_another_split(name: str, reference: TaskReference) -> None:
    found = TaskReference(name) if not name.endswith(".py") else reference
    source = SEARCHES.replace("FUNCTION", found.load().entry_point).replace("TASK", found.text)
    async with Pool(found, "search", 1, allow_weak_isolation=True) as pool:
        failure = await pool.evaluate(source)
        if "strong" not in pool.isolation:
            pytest.skip(f"isolation {pool.isolation}: files can be read")
    assert isinstance(failure, Failure)
    assert failure.message.startswith("RuntimeError: nothing was found"), failure


async def test_what_lies_beside_a_hidden_task_can_still_be_imported() -> None:
    source = "import numpy as np\nimport behavesim_tasks.cpp as other\ndef select_next_node(a, b, unvisited, d):\n"
    source += "    return unvisited[0 if other.task.name else 1]\n"
    async with Pool(TaskReference("tsp"), "search", 1, allow_weak_isolation=True) as pool:
        assert isinstance(await pool.evaluate(source), Solved)


READS = """
import importlib.util

def order(*_):
    (folder,) = importlib.util.find_spec("my_cities").submodule_search_locations
    found = []
    for name in ("cities.csv", ".env", "other.py"):
        try:
            found.append(open(f"{folder}/{name}").read())
        except OSError as error:
            found.append(type(error).__name__)
    raise RuntimeError(found)
"""


async def test_a_program_reads_neither_the_data_of_a_task_nor_keys_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = (tmp_path / "my_cities").resolve()
    package.mkdir()
    for name, text in {"__init__.py": "", "other.py": "# for all", "cities.csv": "held-out", ".env": "KEY=k"}.items():
        (package / name).write_text(text)
    (package / "mine.py").write_text(f"import my_cities\n{TASK}\nOrder.data_files = ('cities.csv',)\n")
    monkeypatch.syspath_prepend(tmp_path)
    async with Pool(TaskReference(str(package / "mine.py")), "search", 1, allow_weak_isolation=True) as pool:
        failure = await pool.evaluate(READS)
        if "strong" not in pool.isolation:
            pytest.skip(f"isolation {pool.isolation}: files can be read")
    assert isinstance(failure, Failure)
    assert failure.message.startswith("RuntimeError: ['PermissionError', 'PermissionError', '# for all']"), failure


def test_the_data_of_a_built_in_task_are_hidden_beside_its_file() -> None:
    # in a process of its own, as names are deleted from its modules
    code = "from behavesim.sandbox.zygote import strip_task\nfrom behavesim.task import TaskReference\n"
    code += "print(*strip_task(TaskReference('bin_packing:weibull5k').load())[1], sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {Path(line).name for line in done.stdout.splitlines()} >= {"bin_packing.py", "weibull5k.xz"}
