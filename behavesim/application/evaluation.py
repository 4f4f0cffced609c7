"""Evaluates programs in the sandbox: those that users bring, and those of runs on instances that no search saw.

Every search loads this module for the programs that people bring, and every report for what it keeps: so the sandbox,
the reports and their numbers are imported inside functions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.base.config import Settings, cores
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun, read_text_file, short_name
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.sandbox.limits import Limits
from behavesim.state.events import Stage
from behavesim.state.protocols import Judge
from behavesim.task import Split, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask, first_program, without_surroundings
from behavesim.task.verdict import Failure, Verdict

if TYPE_CHECKING:
    from behavesim.analysis.candidates import Candidate
    from behavesim.analysis.held_out import HeldOut, Unseen
    from behavesim.analysis.report import RunReport
    from behavesim.analysis.run import Run


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating one program of a user."""

    file: str  # the name that was given with the program
    stage: Stage  # "extraction" if no program could be read from the text, else "evaluation"
    verdict: Verdict | Failure
    isolation: str  # the sandbox's level: "strong+", "strong", "partial" or "process", strongest first


def read_program(file: Path, task: Task) -> str:
    """Return the source in a file or in a folder of files, or the task's own template if the path is `template`.

    Raises UsageError if it cannot be read as text, or for a folder if the task's programs are single functions.
    """
    if str(file) == "template":
        return task.template
    if not os.path.isdir(file):  # noqa: PTH112 (a name that is too long raises in `Path.is_dir`)
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
    from behavesim.engine.build import judge_of

    async with judge_of(settings, task, split) as judge:

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


# The best programs of runs on held-out and shifted instances, in one sandbox per task and limits.


def absence(task: Task, split: Split, reference: str) -> str:
    """Return a line that says why a task has no instances of a split; "" if there is nothing to say."""
    if (split != "shifted" or task.shifted) and len(instances_of(task, split)):
        return ""
    said = f"task {short_name(reference)} has no {split} instances"
    if split == "shifted" or not isinstance(task, EvaluatorTask):
        return said
    return f"{said}: its evaluator has its own data, and the search uses all of it"


async def reports_of(
    runs: Sequence[Run], tell: Callable[[str], None], unseen: Collection[Unseen], workers: int | str | None = None
) -> list[RunReport]:
    """Evaluate the runs' best and recommended programs on the splits `unseen`, and return the runs' reports, in order.

    Scores that a run's folder keeps are not computed again. For other splits, a report has what the run's folder keeps
    from earlier reports. `tell` gets a line when the evaluation of a task begins. `workers` is the number of programs
    run at once, or a cluster's name; None uses all cores.

    Raises UsageError if a task cannot be loaded or isolation is too weak, TaskError if a template fails on a split,
    SandboxError if the sandbox fails.
    """
    from behavesim.analysis.held_out import KEPT, read_held_out
    from behavesim.analysis.report import report

    found = {split: await _evaluate_split(runs, tell, workers or cores(), split) for split in unseen}

    def of(run: Run, split: Unseen) -> HeldOut | None:
        if known := found.get(split, {}).get(run.folder.path):
            return known
        with suppress(UsageError):  # the report says by itself what cannot be known without the task
            return read_held_out(run, split)
        return None

    return [report(run, {split: of(run, split) for split in KEPT}) for run in runs]


async def _evaluate_split(
    runs: Sequence[Run], tell: Callable[[str], None], workers: int | str, split: Unseen
) -> dict[Path, HeldOut]:
    # A run whose task has no such instances is missing. `tell` gets a line for each task. `workers` is the number of
    # programs run at once, or a cluster's name.
    from behavesim.analysis.held_out import held_out
    from behavesim.engine.build import start_shared_cluster

    found: dict[Path, HeldOut] = {}
    async with start_shared_cluster(workers):
        # a task's programs are tried together: equal ones are evaluated once, and loading its instances takes long
        for task in dict.fromkeys(run.settings.task for run in runs):
            here = [run for run in runs if run.settings.task == task]
            if said := absence(here[0].task(), split, task):
                tell(said)
                continue
            tell(f"trying the programs of {count_noun(len(here), 'run')} on {split} instances of {short_name(task)}")
            for alike in _of_equal_limits(here):
                async with _judge_for(alike, workers, split) as (loaded, judge):
                    tried = await held_out(alike, loaded, judge, split)
                found.update((run.folder.path, each) for run, each in zip(alike, tried, strict=True))
    return found


async def evaluate_held_out(
    runs: Sequence[Run], programs: Sequence[Sequence[Candidate]], split: Unseen = "held-out"
) -> dict[str, tuple[float, ...]]:
    """Evaluate the template and some programs of each run on the held-out instances; return their scores.

    `programs` has the programs of each run, in the order of `runs`, which must be on one task. The result maps a
    program's text to its scores, one per instance. Programs that fail are left out; without such instances the result
    is empty.
    """
    from behavesim.analysis.held_out import scores_of

    if len({run.settings.task for run in runs}) > 1:
        raise UsageError("these runs are on different tasks; runs on one were expected")
    if absence(runs[0].task(), split, runs[0].settings.task):
        return {}
    chosen = dict(zip((run.folder.path for run in runs), programs, strict=True))
    found: dict[str, tuple[float, ...]] = {}
    for alike in _of_equal_limits(runs):
        async with _judge_for(alike, cores(), split) as (task, judge):
            scores = await scores_of(alike, [chosen[run.folder.path] for run in alike], task, judge, split)
        found |= {source: score.scores for source, score in scores.items() if score.scores}
    return found


def _of_equal_limits(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs by their limits of time, memory and output: a program is evaluated under those of its own run."""
    groups: dict[Limits, list[Run]] = {}
    for run in runs:
        groups.setdefault(Limits.of(run.settings), []).append(run)
    return list(groups.values())


@asynccontextmanager
async def _judge_for(runs: Sequence[Run], workers: int | str, split: Unseen) -> AsyncIterator[tuple[Task, Judge]]:
    # Weak isolation is allowed only if every run allowed it, and so are workers with other versions.
    from behavesim.engine.build import judge_of

    weak = all(run.settings.allow_weak_isolation for run in runs)
    others = all(run.settings.allow_other_workers for run in runs)
    task, settings = runs[0].task(), runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(
        update={"workers": workers, "allow_weak_isolation": weak, "allow_other_workers": others}
    )
    async with judge_of(settings, task, split) as judge:
        yield task, judge
