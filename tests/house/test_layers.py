"""Imports go one way: each room may import only what stands left of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CHAIN = [
    {"base", "similarity.kernels"},
    {"trajectory"},
    {"similarity", "task"},
    {"code_similarity", "state"},
    {"programs", "sandbox", "store"},
    {"prompts", "evaluators"},
    {"methods", "proposers", "cluster"},
    {"engine"},
    {"audit", "checks"},
    {"analysis"},
    {"reports"},
    {"application"},
    {"application.experiment"},
    {"__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(CHAIN) for room in rooms}
OUTSIDE = ("cli", "offline", "studies", "tasks")
"""The folders beside `behavesim/`, which nothing in it imports."""
VIEWS = {"analysis", "reports"}
RUNNING = {"behavesim.engine.loop", "behavesim.engine.build"}
"""What starts a search, and no view of one may import."""


def room_of(module: str) -> str:
    """The room of `behavesim.x.y`: its longest name in the chain."""
    parts = module.split(".")[1:]
    return next(room for size in range(len(parts), 0, -1) if (room := ".".join(parts[:size])) in RANK)


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The modules that a file imports, wherever in it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return tuple(found)


MODULES = sorted(path for path in (ROOT / "behavesim").rglob("*.py") if path != ROOT / "behavesim/__init__.py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("room", sorted(RANK))
def test_a_module_imports_only_what_stands_left_of_its_room(room: str) -> None:
    modules = {name_of(path): path for path in MODULES if room_of(name_of(path)) == room}
    assert modules
    for module, path in modules.items():
        for name in imports(path):
            assert not name.startswith(("behavesim_", "cli", "tasks", "typer")), (module, name)
            if name.startswith("behavesim."):
                other = room_of(name)
                assert other == room or RANK[other] < RANK[room], f"{module} imports {name}"
                assert not (room in VIEWS and name in RUNNING), f"{module} imports {name}"


@pytest.mark.parametrize("room", sorted(VIEWS))
def test_no_module_of_a_view_imports_itself_by_way_of_others(room: str) -> None:
    inside = [path for path in MODULES if path.is_relative_to(ROOT / "behavesim" / room)]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in inside}
    graph = {module: modules.keys() & set(imports(path)) for module, path in modules.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError; imports in functions and for types alone count too


def test_the_page_on_architecture_lists_the_rooms_in_that_order() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    listed = re.findall(r"^\| `([a-z_.]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(RANK) - {"similarity.kernels", "__main__"})
    assert listed == sorted(listed, key=RANK.__getitem__)


@pytest.mark.parametrize("path", sorted((ROOT / "tasks").rglob("*.py")), ids=lambda path: path.name)
def test_a_task_imports_of_behavesim_only_what_a_task_is_made_of(path: Path) -> None:
    ours = {name for name in imports(path) if name.startswith("behavesim")}
    assert {name for name in ours if not name.startswith("behavesim_tasks")} <= {
        "behavesim.task",
        "behavesim.trajectory",
    }


def test_studies_and_the_offline_proposer_have_one_door_each() -> None:
    doors: dict[str, set[Path]] = {"offline": set(), "studies": {Path("cli/study.py")}}
    for room, allowed in doors.items():
        paths = [path for folder in ("behavesim", *OUTSIDE) if folder != room for path in (ROOT / folder).rglob("*.py")]
        inside = f"behavesim_{room}"
        found = {path for path in paths if any(name.partition(".")[0] == inside for name in imports(path))}
        assert {path.relative_to(ROOT) for path in found} == allowed


def test_importing_behavesim_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, behavesim, behavesim_cli.app; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "numpy",
        "numba",
        "scipy",
        "matplotlib",
        "pydantic",
        "aiosqlite",
        "aiohttp",
        "openai",
        "httpx2",
        "pandas",
    }


def test_the_keeper_of_a_tree_has_neither_numpy_nor_a_task() -> None:
    import subprocess
    import sys

    code = "import sys, behavesim.sandbox.keeper; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "behavesim.task", "behavesim.trajectory", "asyncio", "pydantic"}


def test_endpoints_are_asked_with_the_package_by_one_module_and_its_client() -> None:
    paths = list((ROOT / "behavesim").rglob("*.py"))
    asking = {path.stem for path in paths if re.search(r"^\s*(?:import|from) openai\b", path.read_text(), re.MULTILINE)}
    assert asking == {"openai_endpoint"}
    by_hand = re.compile(r"ClientSession|urlopen|http\.client|AsyncClient|import requests")
    assert not [path.name for path in paths if by_hand.search(path.read_text())]
