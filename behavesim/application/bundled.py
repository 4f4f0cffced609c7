"""Runs several programs on an instance and keeps the best solution: the part that every portfolio.py has."""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

BEHAVESIM = ("behavesim", "behavesim.task", "behavesim.trajectory")
"""What the files of tasks import of it."""


class InvalidSolution(ValueError):
    """A solution that breaks the task's rules."""


@dataclass(frozen=True)
class Objective:
    """Which way a score is better, and the best score known."""

    direction: str
    best_known: float | None = None


class Task:
    """What the files of tasks build on; here they bring all that is asked of them."""


class Unasked:
    """What else the files of tasks take from behavesim, for questions that nobody asks here."""


@dataclass(frozen=True)
class Found:
    """The best solution of an instance, its score, and which of the programs found it, from 1."""

    solution: Any
    score: float
    program: int


def file_of(modules: Mapping[str, str]) -> types.ModuleType:
    """The last of the task's files, each run as it is, with what it takes from `behavesim` named above."""
    known = {"InvalidSolution": InvalidSolution, "Objective": Objective, "Task": Task, "__getattr__": _unasked}
    before = dict(sys.modules)
    for name in BEHAVESIM:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(known)
    for name, source in modules.items():
        file = types.ModuleType(name)
        file.__package__ = name.rpartition(".")[0]
        sys.modules.setdefault(file.__package__, types.ModuleType(file.__package__))
        sys.modules[name] = file
        exec(compile(source, f"<{name}>", "exec", dont_inherit=True), vars(file))
    for name in BEHAVESIM:
        del sys.modules[name]
    sys.modules.update(before)
    return file


def _unasked(name: str) -> type[Unasked]:
    if name.startswith("__"):
        raise AttributeError(name)
    return Unasked


def best_of(programs: Sequence[str], entry_point: str, task: Any, instance: Any, seconds: float) -> Found:
    """The best of what the programs find, each in a process of its own within its share of what is left of the time.

    Of solutions as good the first counts. Raises RuntimeError where no program has found one.
    """
    sign = 1 if task.objective.direction.startswith("maxim") else -1
    ends = time.monotonic() + seconds
    best: Found | None = None
    for place, program in enumerate(programs):
        share = (ends - time.monotonic()) / (len(programs) - place)
        try:
            solution = _solution(program, entry_point, task, instance, share)
            score = task.score(instance, solution)
        except (InvalidSolution, EOFError, TimeoutError):
            continue  # it failed, or its time was over
        if best is None or sign * score > sign * best.score:
            best = Found(solution, score, place + 1)
    if best is None:
        raise RuntimeError(f"none of {len(programs)} programs found a solution in {seconds:g} s; give them more time")
    return best


def _solution(program: str, entry_point: str, task: Any, instance: Any, seconds: float) -> Any:
    """What a program finds; raises TimeoutError where it takes too long, EOFError where it fails."""
    system = multiprocessing.get_context("fork")
    reader, writer = system.Pipe(duplex=False)
    process = system.Process(target=_solve, args=(program, entry_point, task, instance, writer))
    process.start()
    writer.close()  # the child's end alone is left: where the child dies there is an end
    try:
        if not reader.poll(max(seconds, 0.0)):
            raise TimeoutError
        return reader.recv()
    finally:
        process.kill()
        process.join()
        reader.close()


def _solve(program: str, entry_point: str, task: Any, instance: Any, writer: Connection) -> None:
    random.seed(0)  # programs that draw at random do so as they did in the search
    np.random.seed(0)
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    exec(compile(program, "<program>", "exec", dont_inherit=True), vars(module))
    writer.send(task.solve(vars(module)[entry_point], instance))
