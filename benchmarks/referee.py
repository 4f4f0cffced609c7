"""Prints which forged programs evaluators believe, and which they believe once trusted code scores solutions.

`python -m benchmarks.referee` makes the table of docs/how-to/evaluators.md. The evaluators are examples of the tests.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from behavesim.application.evaluator_task import Wanted, task_file
from behavesim.application.launch import task_settings
from behavesim.checks.task import examine_evaluator

ROOT = Path(__file__).parents[1]
OURS = {
    "`evaluate` (OpenEvolve's)": Wanted("circles/evaluator.py", Path("circles/initial.py")),
    "a script (ShinkaEvolve's)": Wanted("sorting/evaluate.py", Path("sorting/initial.py")),
    "a class (LLM4AD's)": Wanted("judged/knapsack.py:Knapsack"),
    "a command": Wanted("command:python3 last_line.py {program}", Path("circles/initial.py")),
}
COMMAND = """import runpy, sys
import numpy as np
centres, radii = runpy.run_path(sys.argv[1])["pack"](5)
print(float(np.sum(radii)) if np.isfinite(radii).all() and max(radii) <= 0.5 else 0.0)
"""


# The column of tasks in which trusted code judges: a forgery comes through if any of them believes it.
TRUSTED = "these four and a minimum, trusted"


async def findings(task: str) -> dict[str, bool]:
    """Return which forgeries came through, by name."""
    return {found.name: found.result == "warning" async for found in examine_evaluator(*task_settings(task, {}))}


def beside(here: Path) -> dict[str, dict[str, bool]]:
    """Return what came through where the evaluator runs beside the program, by the kind of evaluator."""
    found = {}
    for name, wanted in OURS.items():
        with task_file(wanted, here / "runs", lambda line: None) as made:
            found[name] = asyncio.run(findings(str(made.path)))
    return found


def trusted() -> Iterator[dict[str, bool]]:
    """Yield what came through after `task init`, for each evaluator, and for the example of the docs."""
    for number, wanted in enumerate(OURS.values()):
        program = () if wanted.program is None else ("--program", str(wanted.program))
        made = ("task", "init", f"trusted_{number}", "--evaluator", wanted.evaluator, *program)
        subprocess.run([sys.executable, "-m", "behavesim", *made], check=True, stdout=sys.stderr)
        yield asyncio.run(findings(f"trusted_{number}.py"))
    shutil.copy(ROOT / "docs/examples/minimum.py", "minimum.py")
    yield asyncio.run(findings("minimum.py"))


def main() -> None:
    """Print the table in Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "own"
        shutil.copytree(ROOT / "tests/evaluators", here)
        os.chdir(here)
        Path("last_line.py").write_text(COMMAND)
        columns = beside(here)
        afterwards = list(trusted())
    forgeries = [name for name in afterwards[-1] if name not in ("first program", "forgeries")]
    columns[TRUSTED] = {name: any(each[name] for each in afterwards) for name in forgeries}
    print("|", " | ".join(["forgery", *columns]), "|\n|", " | ".join("---" for _ in (0, *columns)), "|")
    for forgery in forgeries:
        marks = ["**through**" if each[forgery] else "held off" for each in columns.values()]
        print("|", " | ".join([forgery, *marks]), "|")


if __name__ == "__main__":
    main()
