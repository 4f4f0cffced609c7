"""Mutants: change a room's code at random, one place at a time, and see whether the room's own tests notice.

`python -m tests.mutants methods --sample 60 --seed 1`; needs `pip install cosmic-ray` (extra `mutants`). The tree is
copied, so nothing of it changes. Places in the code are drawn first and then one mutant for each, so that an operator
with many mutants counts no more than a number with two. Survivors are shown as they differ from the code.

Left out is what cannot change what the code does, or only how a message reads: annotations, the test of
`if TYPE_CHECKING`, and what is computed within an f-string.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from cosmic_ray.commands import init
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "runs", "*.egg-info", ".*_cache", ".hypothesis", "__pycache__")

ROOMS = {
    "methods": (["behavesim/methods"], ["tests/methods"]),
    "similarity": (["behavesim/similarity"], ["tests/similarity"]),
    "behaviours": (["behavesim/state/behaviours.py"], ["tests/state/test_behaviours.py"]),
    "trajectory": (["behavesim/trajectory.py"], ["tests/trajectory"]),
    "programs": (["behavesim/programs"], ["tests/programs"]),
    "analysis": (["behavesim/analysis"], ["tests/analysis"]),
    "experiment": (["behavesim/application/experiment"], ["tests/application/experiment"]),
    "store": (["behavesim/store"], ["tests/store"]),
    "reports": (["behavesim/reports"], ["tests/reports"]),
    "state": (["behavesim/state"], ["tests/state", "tests/store/test_journal.py"]),
    "base": (
        ["behavesim/base"],
        [
            "tests/base/test_clock.py",
            "tests/base/test_comments.py",
            "tests/base/test_errors.py",
            "tests/base/test_finished.py",
            "tests/base/test_misfit.py",
            "tests/base/test_notices.py",
            "tests/base/test_plugins.py",
            "tests/base/test_text.py",
            "tests/base/test_text_file.py",
            "tests/base/test_tokens.py",
            "tests/house/test_config.py",
        ],
    ),
    "task": (["behavesim/task"], ["tests/task"]),
    "offline": (
        ["offline"],
        ["tests/offline"],
    ),
    "prices": (
        ["behavesim/proposers/prices.py", "behavesim/proposers/prices.py", "behavesim/proposers/prices.py"],
        ["tests/proposers/test_price_list.py", "tests/proposers/test_priced.py", "tests/proposers/test_prices.py"],
    ),
    "settings": (
        ["behavesim/engine/admission.py", "behavesim/state/settings.py"],
        ["tests/engine/test_settings.py", "tests/house/test_config.py"],
    ),
    "caps": (["behavesim/engine/caps.py", "behavesim/engine/caps.py"], ["tests/engine/test_caps.py"]),
    "admission": (["behavesim/engine/admission.py"], ["tests/engine/test_admission.py", "tests/engine/test_forks.py"]),
    "outcome": (["behavesim/engine/outcome.py"], ["tests/engine/test_outcome.py"]),
    "due": (["behavesim/engine/due.py"], ["tests/engine/test_due.py"]),
    "audit": (
        [
            "behavesim/audit/audit.py",
            "behavesim/audit/verify.py",
            "behavesim/audit/audit.py",
            "behavesim/audit/verify.py",
        ],
        [
            "tests/audit",
            "tests/crash/test_damage.py",
            "tests/crash/test_signals_and_forks.py",
            "tests/cli/test_evaluator_runs.py",
        ],
    ),
    "loop": (
        ["behavesim/engine/loop.py", "behavesim/engine/outcome.py"],
        [
            "tests/engine/test_arrivals.py",
            "tests/engine/test_caps.py",
            "tests/engine/test_clock.py",
            "tests/engine/test_echo.py",
            "tests/engine/test_injected.py",
            "tests/engine/test_search.py",
            "tests/engine/test_twins.py",
        ],
    ),
}
"""The code of each room, and the tests that hold it."""
EVERYWHERE = "tests/house/test_values.py"
"""Holds in every room."""

LEFT_OUT = "behavesim/similarity/kernels"
"""What numba has compiled and cached, no change of the source would reach; an oracle holds it instead."""

LOADED_ONCE = ("aiohttp", "hypothesis", "matplotlib.figure", "numba", "pydantic", "rich", "scipy.stats")
"""Imported before the processes are forked that run the tests: it takes longer than many a room's tests."""

Place = tuple[Path, tuple[int, int]]


def found(names: list[str], pattern: str) -> list[Path]:
    """The named files, and those of the named folders that match, relative to the tree."""
    paths = (path for name in names for path in ([Path(name)] if name.endswith(".py") else Path(name).rglob(pattern)))
    return sorted(path for path in paths if not path.is_relative_to(LEFT_OUT))


def left_out(path: Path) -> Iterator[ast.expr]:
    """What is not mutated of a module: annotations, tests of TYPE_CHECKING and f-strings."""
    for node in ast.walk(ast.parse(path.read_text())):
        for name in ("annotation", "returns"):
            if (annotation := getattr(node, name, None)) is not None:
                yield annotation
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield node.test
        if isinstance(node, ast.JoinedStr):
            yield node


def mutants(paths: list[Path]) -> dict[Place, list[MutationSpec]]:
    """All mutants of some modules by place, but for what is left out."""
    kept = {
        path: [((e.lineno, e.col_offset), (e.end_lineno, e.end_col_offset)) for e in left_out(path)] for path in paths
    }
    places = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, use_db(str(Path(folder) / "all.sqlite")) as database:
        init(paths, database, {})
        for item in database.work_items:
            for mutant in item.mutations:
                if not any(start <= mutant.start_pos < end for start, end in kept[mutant.module_path]):
                    places[mutant.module_path, mutant.start_pos].append(mutant)
    return places


def drawn(paths: list[Path], count: int, seed: int) -> list[MutationSpec]:
    """A sample of mutants, each at a place of its own."""
    rng, places = random.Random(seed), mutants(paths)
    in_order = attrgetter("operator_name", "occurrence")  # the database has them in any
    chosen = rng.sample(sorted(places), min(count, len(places)))
    print(f"{len(chosen)} of {len(places)} places, {sum(map(len, places.values()))} mutants", flush=True)
    return [rng.choice(sorted(places[place], key=in_order)) for place in sorted(chosen)]


def files(tests: list[str], module: str = "") -> list[str]:
    """The files of a room's tests; those named after the module come first, as they fail most."""
    paths = found(tests, "test_*.py")
    return [EVERYWHERE, *map(str, sorted(paths, key=lambda path: path.stem != f"test_{module}"))]


def passed(tests: Sequence[str], timeout_s: float) -> bool:
    """Whether all tests pass in a process of their own, in time."""
    process = multiprocessing.get_context("fork").Process(target=run_pytest, args=(tests,))
    process.start()
    process.join(timeout_s)
    if process.exitcode is None:
        os.killpg(process.pid, 9)  # type: ignore[arg-type]
        process.join()
    return process.exitcode == 0


def run_pytest(tests: Sequence[str]) -> None:
    """Run tests up to the first that fails, and say nothing."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    sys.modules.pop("tests")  # that of the tree which is not changed
    sys.dont_write_bytecode = True
    sys.exit(pytest.main(["-x", "-p", "no:cacheprovider", *tests]))


def measure(room: str, count: int, seed: int, timeout_s: float) -> None:
    """Test the room against each mutant of its sample."""
    code, tests = ROOMS[room]
    began = time.monotonic()
    if not passed(files(tests), timeout_s):
        raise SystemExit(f"the tests of {room} fail without any mutant")
    print(f"{room}: its own tests take {time.monotonic() - began:.0f} s", flush=True)
    survivors, sample = 0, drawn(found(code, "*.py"), count, seed)
    for number, mutant in enumerate(sample, 1):
        operator = get_operator(mutant.operator_name)(**mutant.operator_args)
        with use_mutation(mutant.module_path, operator, mutant.occurrence) as (before, after):
            survived = passed(files(tests, mutant.module_path.stem), timeout_s)
        outcome = "survived" if survived else "killed"
        print(f"{number} {outcome}  {mutant.module_path}:{mutant.start_pos[0]} {mutant.operator_name}", flush=True)
        if survived:
            survivors += 1
            difference = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
            print(*list(difference)[2:], sep="\n", flush=True)
    print(f"{room}: {len(sample) - survivors} of {len(sample)} mutants killed", flush=True)


def main() -> None:
    """Read the command line and measure a copy of the tree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="+", choices=ROOMS)
    parser.add_argument("--sample", type=int, default=60, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1, help="what draws them")
    parser.add_argument("--timeout", type=float, default=600, help="seconds after which a mutant counts as killed")
    arguments = parser.parse_args()
    for name in LOADED_ONCE:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT, Path(folder) / "tree", ignore=NOT_COPIED))
        os.chdir(copy)
        sys.path[0] = str(copy)
        os.environ["PYTHONPATH"] = str(copy)  # for the processes that tests start elsewhere
        for room in arguments.rooms:
            measure(room, arguments.sample, arguments.seed, arguments.timeout)


if __name__ == "__main__":
    main()
