"""Evaluates users' own programs: extracts them like a model's reply and judges them in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file
from behavesim.engine.build import judging
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.state.events import Stage
from behavesim.task import Split, Task
from behavesim.task.evaluated import first_program, without_surroundings
from behavesim.task.verdict import Failure, Verdict


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating one program of a user."""

    file: str
    """The name that was given with the program."""
    stage: Stage
    """"extraction" if no program could be read from the text, else "evaluation"."""
    verdict: Verdict | Failure
    """The scores and trajectories, or a Failure if the program was rejected at `stage`."""
    isolation: str
    """The sandbox's isolation level: "strong+", "strong", "partial" or "process", strongest first."""


def read_program(file: Path, task: Task) -> str:
    """Return the source in a file or in a folder of files, or the task's own template if the path is `template`.

    Raises UsageError if it cannot be read as text, or for a folder if the task's programs are single functions.
    """
    if str(file) == "template":
        return task.template
    if not file.is_dir():
        return read_text_file(file, "program")
    if isinstance(form_of(task), FunctionForm):
        raise UsageError(f"a program of {task.name} is one file, and {file} is a folder; name its files: {file}/*.py")
    return first_program(file)


def extract_or_refuse(task: Task, text: str) -> Program | Failure:
    """Return the program in a person's text, or a Failure; the rules are those for a model's reply."""
    return extract(form_of(task), Request(add_fence(text), task.template, is_own=True))


def program_of(task: Task, name: str, text: str) -> str:
    """Return `text` as it is if it holds a program of the task, else raise UsageError, which names it `name`."""
    program = extract_or_refuse(task, text)
    if isinstance(program, Failure):
        raise UsageError(f"{name} is no program of task {task.name} ({program.reason}): {program.message}")
    return text


async def evaluate_programs(
    settings: Settings,
    task: Task,
    programs: Iterable[tuple[str, str]],
    split: Split = "search",
    ended: Callable[[Evaluation], object] = lambda _: None,
) -> list[Evaluation]:
    """Evaluate programs on a split's instances in one sandbox, `settings.workers` at once; return results in order.

    Each program is a pair of a name and a text. A rejected one has a `Failure` and does not stop the others. `ended` is
    called with each result as it comes. Raises UsageError if isolation is too weak, TaskError if the task's instances
    cannot be made.
    """
    async with judging(settings, task, split) as judge:

        async def one(file: str, text: str) -> Evaluation:
            program = extract_or_refuse(task, text)
            if isinstance(program, Failure):
                result = Evaluation(file, "extraction", program, judge.isolation)
            else:
                verdict = await judge.evaluate(program.source)
                verdict = replace(verdict, metrics=without_surroundings(verdict.metrics))
                result = Evaluation(file, "evaluation", verdict, judge.isolation)
            ended(result)
            return result

        return await asyncio.gather(*(one(*program) for program in programs))
