"""Evaluates programs by an evaluator in the sandbox. The score is self-reported: the evaluator's own, unchecked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Self

from behavesim.base.heartbeat import Heartbeat
from behavesim.evaluators.result import Result
from behavesim.evaluators.tracing import METRICS, in_words
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import ResultPool, TreePool
from behavesim.state.protocols import Postponed, unnoticed
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory

LOADER = "behavesim.evaluators.evaluation:load"
"""Address ("module:function") of what the sandbox calls to load an evaluator."""
STAGE_SCORE = "stage_score"
"""Name of the metric that holds a program's score at the stage where it stopped."""
_JOURNALS = ("run.db", "*/run.db", "*/*/run.db", "*/*/*/run.db")


def evaluator_pool(
    file: EvaluatorFile,
    workers: int,
    limits: Limits,
    allow_weak_isolation: bool,
    clock: Heartbeat | None = None,
    wall: str = "",
    devices: tuple[str, ...] = (),
) -> TreePool:
    """Return the sandbox of an evaluator and its programs, not entered yet; it runs up to `workers` at once.

    They can read the evaluator's folder as it is when the sandbox starts; where namespaces hold, without the folders
    of runs in it and names that begin with a dot. `limits` are those of each evaluation. Entering raises UsageError if
    the isolation is below "strong+", unless `allow_weak_isolation`. Time limits on the sandbox's processes go by
    `clock`, a new one if None. Processes are started through the command `wall`, and may use `devices`.
    """
    hidden = folders_of_runs(file)
    # without the description: it would stand in the process's command line, which others can read and which is limited
    loaded = (LOADER, replace(file, description="").to_json())
    given = (*loaded, workers, limits, [file.folder], hidden, allow_weak_isolation)
    return TreePool(*given, clock=clock, wall=wall, devices=devices)


def folders_of_runs(file: EvaluatorFile) -> set[Path]:
    """Return the paths in an evaluator's folder that no program may read: runs, and the folders that hold runs."""
    # the folder of a first run does not exist yet; naming one keeps later entries of the folder out of reach, too
    return {file.folder / "runs", *runs_in(file.folder)}


def runs_in(folder: Path) -> Iterator[Path]:
    """Yield the paths of the runs in an evaluator's folder, at most three levels down, to hide them from programs.

    They are the folders that hold runs; for a run directly in `folder` its own folder, for a `run.db` directly in it
    that file and its temporary ones. A path may come more than once.
    """
    for journal in chain.from_iterable(map(folder.glob, _JOURNALS)):
        if journal.parent == folder:
            yield from folder.glob("run.db*")
        else:
            yield journal.parent if journal.parent.parent == folder else journal.parent.parent


class EvaluatorJudge:
    """Evaluates programs by running an evaluator together with each in `pool`.

    An async context manager, which enters and leaves the pool.
    """

    def __init__(self, pool: ResultPool) -> None:
        self._pool = pool
        self.traced = ""
        """`Result.traced` of the last program whose result could be read; "" before the first."""

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._pool.__aexit__(*raised)

    @property
    def behaviour(self) -> str:
        """A sentence for people: by what programs are compared. Ask only after an evaluation."""
        more = " Methods that compare behaviour have little to go by." if self.traced == METRICS else ""
        return f"Behaviour: {in_words(self.traced)}.{more}"

    @property
    def isolation(self) -> str:
        """The isolation level of evaluator and program; raises SandboxError if the pool is not entered."""
        return self._pool.isolation

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Verdict | Failure:
        """Return the evaluator's verdict on a program's text.

        Returns a Failure if the program fails, gets no score or stops at a stage, or if the result cannot be read.
        `postponed` is called each time that the program must run again because the machine may be the cause of its
        ending. Raises SandboxError if that is still in doubt after the last try, or if the sandbox itself fails,
        TaskError if the evaluator can no longer be loaded.
        """
        sent, cpu_s = await self._pool.evaluate(source, postponed)
        if isinstance(sent, Failure):
            return Failure(sent.reason, sent.message, cpu_s)
        try:
            found = Result.decoded(sent)
            self.traced = found.traced
        except ValueError as error:
            return Failure("output", f"the evaluation sent no result that can be read: {error}"[:500], cpu_s)
        return verdict_of(found, cpu_s)


def verdict_of(found: Result, cpu_s: float) -> Verdict | Failure:
    """Return an evaluation's Result as a Verdict, or a Failure; `cpu_s` is the CPU time of all its processes (s).

    The Verdict has one instance score and one trajectory of prefixes, made of the steps. A program whose score at stage
    N was too low has the reason "stage-N", and that score is its metric STAGE_SCORE. Any other failure, such as an
    exception in a stage, has the reason "evaluator". The message is cut at 500 characters.
    """
    if found.failure or found.score is None:
        reached = {STAGE_SCORE: found.score} if found.stage and found.score is not None else {}
        reason = f"stage-{found.stage}" if reached else "evaluator"
        said = found.failure[:500] or "the evaluator gave no score"
        return Failure(reason, said, cpu_s, {**reached, **found.metrics}, found.feedback)
    behaviour = Trajectory.prefixes(list(found.steps or (0,)))
    return Verdict(found.score, (found.score,), (behaviour,), cpu_s, found.metrics, found.feedback, cpu_s)
