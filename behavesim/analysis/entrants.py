"""The programs that a portfolio is chosen from: the feasible candidates of runs on one problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from behavesim.analysis.portfolio import Entrant
from behavesim.base.errors import UsageError

if TYPE_CHECKING:
    from behavesim.analysis.run import Run


def entrants_of(run: Run) -> list[Entrant]:
    """Return a run's feasible candidates with their behaviours, in the order of asking.

    Raises JournalError if the journal cannot be read.
    """
    feasible = run.feasible
    behaviours = run.trajectories([candidate.candidate for candidate in feasible])
    return [
        Entrant(
            run.folder.run,
            each.candidate,
            each.source or "",
            each.score,
            each.scores,
            behaviour,
            each.program_hash,
        )
        for each, behaviour in zip(feasible, behaviours, strict=True)
        if each.score is not None
    ]


def refuse_different_problems(runs: Sequence[Run]) -> None:
    """Raise UsageError if runs have different tasks or instances, or two runs have one name."""
    tasks = sorted({run.settings.task for run in runs})
    if len(tasks) > 1:
        raise UsageError(f"programs of different tasks make no portfolio: {', '.join(tasks)}")
    if len({run.instances for run in runs}) > 1:
        known = ", ".join(f"{run.folder.run} ({run.instances[:8] or 'unknown'})" for run in runs)
        said = f"programs of runs on different instances of {tasks[0]} make no portfolio"
        raise UsageError(f"{said}; name runs whose instances have one hash: {known}")
    if len({run.folder.run for run in runs}) < len(runs):
        folders = ", ".join(str(run.folder.path) for run in runs)
        raise UsageError(f"a portfolio names each program by its run; name runs of different names, not {folders}")
