"""Program files given to a command: read, extracted as a model's reply would be, and judged in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .options import busy

if TYPE_CHECKING:
    from behavesim.config import Settings
    from behavesim.events import Stage
    from behavesim.protocols import Failure, Verdict
    from behavesim.task import Split, Task


@dataclass(frozen=True)
class Judged:
    """What became of one program, at which stage, and how well the sandbox was closed."""

    file: str
    stage: Stage
    verdict: Verdict | Failure
    isolation: str


def read_program(file: Path, task: Task) -> str:
    """The source in a file, or of the task's own template where it is called `template`; raises UsageError."""
    from behavesim.errors import UsageError

    if str(file) == "template":
        return task.template
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the program {file}: {error}") from None


async def judged(settings: Settings, task: Task, programs: list[tuple[str, str]], split: Split) -> list[Judged]:
    """The verdict on each (file, source), in order; one sandbox runs them all."""
    from behavesim.programs.extract import extract
    from behavesim.programs.fences import fenced
    from behavesim.protocols import Failure
    from behavesim.sandbox import Judge, Limits, Pool
    from behavesim.task import TaskReference

    limits = Limits(settings.timeout_s, settings.memory_mb, settings.output_mb)
    reference, weak = TaskReference(settings.task), settings.allow_weak_isolation
    results = []
    busy(f"trying {', '.join(file for file, _ in programs)} on {split} instances")
    async with Pool(reference, split, 1, limits, allow_weak_isolation=weak) as pool:
        judge = Judge(task, split, pool)
        for file, source in programs:
            program = extract(fenced(source), task.template, task.entry_point)
            if isinstance(program, Failure):
                results.append(Judged(file, "extraction", program, pool.isolation))
            else:
                results.append(Judged(file, "evaluation", await judge.evaluate(program.source), pool.isolation))
    return results
