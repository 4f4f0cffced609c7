"""best.py is a program for everybody: it runs where nothing is installed but numpy and scipy."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from behavesim_offline import GeneticProposer

import behavesim as bs
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.state.events import Prompt
from behavesim.store.folder import RunFolder
from behavesim.task import Task, TaskReference

CALL = """
import pickle, runpy, sys
site, entry_point, *programs = sys.argv[1:]
sys.path.append(site)
given = bytes.fromhex(sys.stdin.read())
for program in programs:
    print(repr(runpy.run_path(program)[entry_point](*pickle.loads(given))))
"""


class Called(Exception):
    """The entry point was called."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments


def arguments_of(task: Task) -> tuple[Any, ...]:
    """What a task first calls the entry point with."""

    def function(*arguments: Any) -> Any:
        raise Called(*arguments)

    with pytest.raises(Called) as called:
        task.solve(function, task.instances("search")[0])
    return called.value.arguments


def taken(reply: str, task: Task) -> str:
    """The program that is taken from a reply."""
    program = extract(FunctionForm(task.template, task.entry_point), Request(reply))
    assert isinstance(program, Program), program
    return program.source


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., str]:
    """Call the function of each file in an interpreter that has numpy and scipy and nothing else of others, and no
    settings; what each returns is a line."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("numpy", "scipy"):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        for folder in Path(spec.origin).parents[1].glob(f"{name}*"):  # its shared libraries lie beside it
            (site / folder.name).symlink_to(folder)

    def called(programs: Sequence[Path], entry_point: str, *arguments: Any) -> str:
        command = [sys.executable, "-I", "-S", "-B", "-c", CALL, str(site), entry_point, *map(str, programs)]
        given = pickle.dumps(arguments).hex()
        ended = subprocess.run(command, input=given, capture_output=True, text=True, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return called


KINDS = ("tsp", "asp", "cpp", "bin_packing", "vrptw", "graph_colouring")
"""Tasks whose templates import and annotate differently."""


async def test_what_a_run_leaves_runs_in_a_bare_interpreter(tmp_path: Path, call: Callable[..., str]) -> None:
    task = TaskReference("tsp").load()
    run = await bs.search("tsp", budget=4, proposer="genetic", runs_dir=tmp_path / "runs")
    files = [run.folder.best, run.folder.recommended]
    assert "None\n" not in call(files, task.entry_point, *arguments_of(task))


@pytest.mark.parametrize("name", KINDS)
async def test_the_programs_of_every_task_run_in_a_bare_interpreter(
    name: str, tmp_path: Path, call: Callable[..., str]
) -> None:
    task = TaskReference(name).load()
    folders = [RunFolder.named(tmp_path, str(number)) for number in range(4)]
    replies = [await GeneticProposer(task, seed=0).propose(Prompt("", "template"), number) for number in range(3)]
    for folder, text in zip(folders, (add_fence(task.template), *(reply.text for reply in replies)), strict=True):
        folder.path.mkdir()
        folder.write_best(taken(text, task), "score 1")
    assert "None\n" not in call([folder.best for folder in folders], task.entry_point, *arguments_of(task))


@pytest.mark.parametrize("name", KINDS)
def test_what_a_program_names_without_importing_it_is_imported_in_its_file(
    name: str, tmp_path: Path, call: Callable[..., str]
) -> None:
    """With annotations that name types, as models write them: Python looks them up where the function is defined."""
    task = TaskReference(name).load()
    unimported = f"def {task.entry_point}(*arguments: Tuple[Any, np.ndarray]) -> List[float]:\n    return math.pi"
    folder = RunFolder(tmp_path)
    folder.write_best(taken(add_fence(unimported), task), "score 1")
    assert call([folder.best], task.entry_point, *arguments_of(task)) == "3.141592653589793\n"


def test_the_bare_interpreter_has_nothing_of_ours(tmp_path: Path, call: Callable[..., str]) -> None:
    (tmp_path / "best.py").write_text("def f():\n    import behavesim")
    with pytest.raises(AssertionError, match="No module named 'behavesim'"):
        call([tmp_path / "best.py"], "f")
