"""Measures what an evaluation by an evaluator costs in the sandbox, beside a fresh interpreter for each.

Run it from the project's folder: `python -m benchmarks.evaluations`. The evaluator does nothing, and loads numpy as
most do. CPU time counts this process, the zygote and all children.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from behavesim.evaluators.evaluation import EvaluatorJudge, evaluator_pool
from behavesim.sandbox.limits import Limits
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Verdict

from .process_tree import cpu_of_everything

ROUNDS, PER_ROUND = 9, 10
EVALUATOR = """
import numpy as np

def evaluate(program_path):
    return {"combined_score": float(np.ones(3).sum())}
"""
PROGRAM = "x = 1\n"


async def measured(evaluate: Callable[[], Awaitable[object]], times: int) -> tuple[float, float]:
    """Evaluate `times` times in a row; return the mean wall time and the mean CPU time of an evaluation, in ms."""
    began, before = time.perf_counter(), cpu_of_everything()
    for _ in range(times):
        await evaluate()
    return 1e3 * (time.perf_counter() - began) / times, 1e3 * (cpu_of_everything() - before) / times


async def main() -> None:
    """Measure both ways in turn, and print a table of the medians and the ratio of CPU times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "evaluator.py").write_text(EVALUATOR)
        (folder / "initial.py").write_text(PROGRAM)
        file = EvaluatorFile("openevolve", str(folder / "evaluator.py"), str(folder / "initial.py"))
        async with evaluator_pool(file, 1, Limits(timeout_s=60.0), True, None) as pool:
            judge = EvaluatorJudge(pool)

            async def ours() -> None:
                assert isinstance(await judge.evaluate(PROGRAM), Verdict)

            async def fresh() -> None:
                code = f"{EVALUATOR}\nevaluate('initial.py')"
                await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=True)

            await ours()
            rounds = [(await measured(ours, PER_ROUND), await measured(fresh, 2)) for _ in range(ROUNDS)]
    print(f"isolation {pool.isolation}\n\n| way | wall ms | CPU ms |\n|---|---|---|")
    for at, way in enumerate(("sandbox of evaluators", "fresh interpreter")):
        wall, cpu = (statistics.median(each[at][kind] for each in rounds) for kind in (0, 1))
        print(f"| {way} | {wall:.1f} | {cpu:.1f} |")
    print(f"\n{statistics.median(other[1] / own[1] for own, other in rounds):.0f} times less CPU time.")


if __name__ == "__main__":
    asyncio.run(main())
