"""portfolio.py is several programs in one file, which needs behavesim and nothing of its runs."""

from __future__ import annotations

import json
import runpy
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import behavesim as bs
from behavesim.application.portfolio_file import portfolio_file
from behavesim.state.events import PortfolioChosen
from behavesim.task import TaskReference, installed_tasks
from tests.cli.command import Command
from tests.cli.test_bad_input import TASK
from tests.crash.processes import FEW_CITIES

ALONE = """
import json, runpy, sys
found = []
for path in sys.argv[1:]:
    file = runpy.run_path(path)
    best = file["solve"](file["task"].instances("validation")[0])
    found.append([best.score, best.program])
print(json.dumps(found))
"""


def alone(*paths: Path) -> list[list[float]]:
    """Return score and program of each file's solution of the first validation instance."""
    done = subprocess.run([sys.executable, "-c", ALONE, *map(str, paths)], capture_output=True, text=True, check=True)
    found: list[list[float]] = json.loads(done.stdout)
    return found


def test_the_file_of_a_task_of_each_kind_gives_the_tasks_own_score(tmp_path: Path) -> None:
    tasks = {name: TaskReference(name).load() for name in installed_tasks()}
    kinds = {type(task).__bases__: name for name, task in tasks.items() if not task.online}
    assert len(kinds) >= 5
    expected = {}
    for name, task in tasks.items():
        if name in kinds.values():
            # one is enough to fail: each program is a process of its own, and the file has the same code for every task
            failing = {} if expected else {"one that\u2028fails\r1/0": "import nothing_such"}
            programs = {**failing, "template": task.template}
            (tmp_path / f"{name}.py").write_text(portfolio_file(task, name, programs, ["said\n1/0"], 60))
            functions: dict[str, object] = {}
            exec(task.template, functions)
            instance = task.instances("validation")[0]
            solution = task.solve(functions[task.entry_point], instance)  # type: ignore[arg-type]
            expected[name] = [float(task.score(instance, solution)), len(programs)]
    found = alone(*(tmp_path / f"{name}.py" for name in expected))
    assert dict(zip(expected, found, strict=True)) == expected


GUESS = """
import math
import numpy as np
import behavesim as bs

class Guess(bs.Task):
    objective = bs.Objective("maximise")
    template = "def guess():\\n    return 0"

    def instances(self, split):
        return [3.0]

    def solve(self, function, instance):
        return np.array([function()])

    def score(self, instance, solution):
        if solution[0] < 0:
            raise bs.InvalidSolution("below zero")
        return -abs(float(solution[0]) - instance)

    def trajectory(self, instance, solution):
        raise NotImplementedError

task = Guess()
"""


@pytest.fixture
def guessing(tmp_path: Path) -> Callable[..., Any]:
    """What portfolio.py finds with programs that guess the number, 3: each an expression, or a whole program."""
    (tmp_path / "find_three.py").write_text(GUESS)
    task = TaskReference(str(tmp_path / "find_three.py")).load()

    def found(*guesses: str, seconds: float = 60.0) -> Any:
        programs = [guess if "\n" in guess else f"def guess():\n    return {guess}" for guess in guesses]
        path = tmp_path / "portfolio.py"
        path.write_text(portfolio_file(task, "", {str(number): text for number, text in enumerate(programs)}, [], 60))
        return runpy.run_path(str(path))["solve"](3.0, seconds)

    return found


def test_the_best_solution_by_the_tasks_own_score_is_kept_and_the_first_of_several(guessing: Any) -> None:
    found = guessing("1", "4", "2", "9")
    assert (found.score, found.program, found.solution.tolist()) == (-1.0, 2, [4])


def test_a_program_that_fails_or_breaks_a_rule_stands_back(guessing: Any) -> None:
    assert guessing("1 / 0", "-5", "7").program == 3
    with pytest.raises(RuntimeError, match="none of 2 programs"):
        guessing("1 / 0", "-5")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long portfolio.py was to wait each time, in seconds; until it has waited in vain, it waits 0.5 s at most."""
    told, wait, in_vain = list[float](), select.select, list[bool]()

    def impatient(reading: Any, writing: Any, failing: Any, seconds: float) -> Any:
        told.append(seconds)
        found = wait(reading, writing, failing, seconds if in_vain else min(seconds, 0.5))
        in_vain.extend([True] * (not found[0]))
        return found

    monkeypatch.setattr(select, "select", impatient)
    return told


def test_a_program_that_never_ends_leaves_the_others_their_time(guessing: Any, waits: list[float]) -> None:
    assert guessing("import time\ndef guess():\n    while True: time.sleep(9)", "3", seconds=600.0).program == 2
    assert waits[0] <= 300.0 < waits[-1]


WITHOUT_SCORE = ("float('nan')", "[1, 2]", "None")
HOSTILE = {
    "the end of its parent": "import os, signal\ndef guess():\n    os.kill(os.getppid(), signal.SIGKILL); return 3",
    "the end of its group": "import os, signal\ndef guess():\n    os.killpg(0, signal.SIGKILL)",
    "garbage in place of an answer": "import os\ndef guess():\n"
    "    for fd in range(3, 20):\n        try: os.write(fd, b'\\x80\\x04garbage' * 9)\n        except OSError: pass\n"
    "    os._exit(0)",
    "an object that runs code where it is read": "import os, pickle\nclass Bomb:\n    def __reduce__(self):\n"
    "        return os.system, ('touch MARKER',)\ndef guess():\n    data = pickle.dumps(Bomb())\n"
    "    for fd in range(3, 20):\n        try: os.write(fd, len(data).to_bytes(4, 'big') + data)\n"
    "        except OSError: pass\n    return Bomb()",
}


def test_whatever_a_program_returns_that_has_no_score_the_others_count(guessing: Any) -> None:
    found = guessing("5", *WITHOUT_SCORE, "2")
    assert (found.score, found.program, found.solution.tolist()) == (-1.0, 5, [2])


def test_whatever_programs_send_or_do_the_others_count(guessing: Any, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    programs = {name: text.replace("MARKER", str(marker)) for name, text in HOSTILE.items()}
    parricide = programs.pop("the end of its parent")
    found = guessing("5", *programs.values(), "2")
    assert (found.score, found.program, found.solution.tolist()) == (-1.0, 2 + len(programs), [2])
    found = guessing("5", parricide, "2")
    assert (found.score, found.program, found.solution.tolist()) == (0.0, 2, [3])
    assert not marker.exists()


def test_half_a_message_holds_nobody_up_for_longer_than_its_share(guessing: Any, waits: list[float]) -> None:
    half = (
        "import os, struct, time\ndef guess():\n    for fd in range(3, 20):\n"
        "        try: os.write(fd, struct.pack('<II', 48, 40))\n        except OSError: pass\n    time.sleep(900)"
    )
    assert guessing(half, "2", seconds=600.0).program == 2
    assert waits[0] <= 300.0 < waits[-1]


def test_recommend_records_it_and_writes_it_beside_the_run(finished: Command) -> None:
    digest = bs.load_run("first").state.digest()
    document = finished("recommend", "first", "--portfolio", 3, "--json").document["portfolio"]
    run = bs.load_run("first")
    assert run.state.digest() == digest
    event = run.state.portfolio
    assert isinstance(event, PortfolioChosen)
    assert event.programs == tuple((each.run, each.candidate) for each in run.portfolio(3).members)
    task = run.task()
    for scores, member in zip(event.validation, document, strict=True):
        assert scores is not None
        assert member["validation"] == pytest.approx(np.mean(scores))
    best = [min(scores) for scores in zip(*event.validation, strict=True)]  # type: ignore[arg-type]
    assert document[-1]["validation_together"] == pytest.approx(np.mean(best))
    assert [score for score, _ in alone(run.folder.portfolio)] == pytest.approx(best[:1])
    assert len(task.instances("validation")) == len(best)


def test_the_choice_is_the_same_after_a_stop_and_with_more_workers(behavesim: Command) -> None:
    arguments = ("--method", "best-of-n", "--set", "recommend=false", "--seed", 4)
    assert behavesim("run", FEW_CITIES, *arguments, "--budget", 8, "--name", "whole", "--workers", 2).code == 0
    assert behavesim("run", FEW_CITIES, *arguments, "--budget", 3, "--name", "parts", "--workers", 1).code == 0
    assert behavesim("resume", "parts", "--budget", 8).code == 0
    chosen = [bs.load_run(name).portfolio(3).members for name in ("whole", "parts")]
    assert [m.candidate for m in chosen[0]] == [m.candidate for m in chosen[1]] and len(chosen[0]) > 1
    assert [m.together for m in chosen[0]] == [m.together for m in chosen[1]]


def test_where_decisions_are_final_no_file_is_offered(behavesim: Command) -> None:
    assert TaskReference("bin_packing").load().online
    Path("mine.py").write_text(TASK.replace("    objective", "    online = True\n    objective"))
    arguments = ("--method", "best-of-n", "--budget", 2, "--set", "recommend=false")
    assert behavesim("run", "mine.py", *arguments, "--name", "one").code == 0
    found = behavesim("recommend", "one", "--portfolio", 2)
    assert "no portfolio.py for mine" in found.out
    assert not bs.load_run("one").folder.portfolio.exists()
