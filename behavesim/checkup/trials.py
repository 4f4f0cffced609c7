"""Tries programs on a task: forged ones, and small changes of its template."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Program, Request
from behavesim.proposers.genetic.breeding import Breeder
from behavesim.proposers.genetic.proposer import Author, changes_text
from behavesim.proposers.mutation.mutator import Mutator
from behavesim.sandbox.judge import SandboxJudge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

MOST_S = 30.0
"""CPU seconds that all forged answers, or all small changes, may take together, if each takes as much as the template;
one is always tried."""
MOST_CHANGES = 12
"""Most changes of the template that are tried."""
ENOUGH = 3
"""Number of changes that behave otherwise than the template after which no more are tried."""


@dataclass(frozen=True)
class Changed:
    """A program that is a small change of a task's template, and its verdict."""

    source: str
    verdict: Verdict


def within(cpu_s: float) -> int:
    """Return how many programs may be tried in MOST_S if each takes `cpu_s` CPU seconds; at least one."""
    return max(1, int(MOST_S / max(cpu_s, 1e-3)))


async def tried(judge: SandboxJudge, source: str) -> Verdict | Failure:
    """Return the verdict on a program, or its failure.

    For a stateless task, calls of the function are not repeated to compare their answers.
    """
    verdict, _ = await judge.first_verdict(source)
    return verdict


async def small_changes(
    task: Task, evaluate: Callable[[str], Awaitable[Verdict | Failure]], template: Verdict
) -> Sequence[Changed]:
    """Return feasible programs made by a small change of the template, such as a number, nearest in score to it first.

    Up to MOST_CHANGES are tried, until ENOUGH behave otherwise than the template, of which `template` is the verdict.
    If none does, up to ENOUGH programs of the offline proposer are tried, too, until one does. `evaluate` takes a
    program's source. If the template takes long, only as many small changes are tried as fit MOST_S CPU seconds, at
    least one.
    """
    count, mutator, found = min(MOST_CHANGES, within(template.cpu_s)), Mutator(task), list[Changed]()
    others = _breeder(task) or mutator
    for number in range(count + ENOUGH):
        parted = sum(each.verdict.trajectories != template.trajectories for each in found)
        if parted >= (ENOUGH if number < count else 1):
            break
        author = mutator if number < count else others
        _, block = author.write("improve", [task.template], np.random.default_rng(number))
        program = extract(form_of(task), Request(block, task.template))
        if isinstance(program, Program) and isinstance(verdict := await evaluate(program.source), Verdict):
            found.append(Changed(program.source, verdict))
    return sorted(found, key=lambda each: abs(each.verdict.score - template.score))


def _breeder(task: Task) -> Author | None:
    """Return who writes programs of the task's grammar; None if texts are changed instead, or the grammar is faulty."""
    try:
        return None if changes_text(task) else Breeder(task)
    except TaskError:  # the finding on building blocks has said so
        return None
