"""Programs of a person's own: read, extracted as a model's reply would be, and judged in the sandbox."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.config import Settings
from behavesim.base.text_file import read_text_file
from behavesim.programs.extract import extract
from behavesim.programs.fences import fenced
from behavesim.search.build import judging
from behavesim.state.events import Stage
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Split, Task


@dataclass(frozen=True)
class Evaluation:
    """What became of one program, at which stage, and how well the sandbox was closed."""

    file: str
    stage: Stage
    verdict: Verdict | Failure
    isolation: str


def read_program(file: Path, task: Task) -> str:
    """The source in a file, or of the task's own template where it is called `template`; raises UsageError."""
    if str(file) == "template":
        return task.template
    return read_text_file(file, "program")


async def evaluate(
    settings: Settings, task: Task, programs: Iterable[tuple[str, str]], split: Split = "search"
) -> list[Evaluation]:
    """Evaluate programs, each a file's name and its source, one after another in one sandbox; in their order."""
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
