"""Evaluates users' own programs: extracts them like a model's reply and judges them in the sandbox."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.config import Settings
from behavesim.base.text_file import read_text_file
from behavesim.engine.build import judging
from behavesim.programs.extract import extract
from behavesim.programs.fences import fenced
from behavesim.state.events import Stage
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Split, Task


@dataclass(frozen=True)
class Evaluation:
    """The result of one program: the last stage it reached, its verdict or failure, and the sandbox's isolation."""

    file: str
    stage: Stage
    verdict: Verdict | Failure
    isolation: str


def read_program(file: Path, task: Task) -> str:
    """Return the source in a file, or the task's own template if the path is `template`.

    Raises UsageError if the file cannot be read as text.
    """
    if str(file) == "template":
        return task.template
    return read_text_file(file, "program")


async def evaluate(
    settings: Settings, task: Task, programs: Iterable[tuple[str, str]], split: Split = "search"
) -> list[Evaluation]:
    """Evaluate programs, each a file's name and its source, one after another in one sandbox.

    Return their results in the same order; a rejected program has a `Failure` and does not stop the others. Raises
    SandboxError if the sandbox cannot be started, UsageError if its isolation is weak and the settings forbid that.
    """
    evaluations = []
    async with judging(settings, task, split) as judge:
        for file, source in programs:
            program = extract(fenced(source), task.template, task.entry_point)
            if isinstance(program, Failure):
                evaluations.append(Evaluation(file, "extraction", program, judge.isolation))
            else:
                verdict = await judge.evaluate(program.source)
                evaluations.append(Evaluation(file, "evaluation", verdict, judge.isolation))
    return evaluations
