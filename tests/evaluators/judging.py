"""Evaluates programs by an evaluator in the sandbox, as a run does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from behavesim.evaluators.evaluation import JUDGE_LOADER, LOADER, EvaluatorJudge, evaluator_pool
from behavesim.evaluators.tracing import Result
from behavesim.sandbox.limits import Limits
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Failure, Sent, Verdict

HERE = Path(__file__).parent
LIMITS = Limits(timeout_s=60.0, memory_mb=2048, output_mb=1)


def file_of(convention: Any, evaluator: str, program: str = "", **others: Any) -> EvaluatorFile:
    """Return the file of an evaluator below this folder; a command is left as it is."""
    place = evaluator if convention == "command" or ".py" not in evaluator else str(HERE / evaluator)
    return EvaluatorFile(convention, place, str(HERE / (program or "circles/initial.py")), **others)


def results(file: EvaluatorFile, *programs: str) -> list[Result]:
    """Return an evaluator's results on programs, a Failure of the sandbox as an AssertionError."""

    async def evaluated() -> list[Result]:
        async with evaluator_pool(file, 2, LIMITS, True, None) as pool:
            return [_result(await pool.send(program)) for program in programs]

    return asyncio.run(evaluated())


def verdicts(file: EvaluatorFile, *programs: str) -> list[Verdict | Failure]:
    """Return the verdicts of a convention that judges answers in a process of its own."""

    async def judged() -> list[Verdict | Failure]:
        pools = (evaluator_pool(file, 2, LIMITS, True, loader=loader) for loader in (LOADER, JUDGE_LOADER))
        pool, referee = pools
        async with EvaluatorJudge(pool, file, referee=referee) as judge:
            return [await judge.evaluate(program) for program in programs]

    return asyncio.run(judged())


def _result(sent: Sent | Failure) -> Result:
    assert isinstance(sent, Sent), sent
    return Result.decoded(sent.data)
