"""Makes the files that `behavesim study portfolio` reads, from finished runs on one task.

python experiments/portfolio/tables.py experiments/portfolio/tsp_fresh.py runs/portfolio/tsp-*/
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
from behavesim_studies.portfolio_sets import (
    Fresh,
    KeptRun,
    name_of,
    read_fresh,
    round_scores,
    sets_of,
    to_stored,
    write_fresh,
    write_runs,
)

from behavesim.analysis.run import Run
from behavesim.engine.build import judge_of
from behavesim.similarity import BehaveSim
from behavesim.state.protocols import Judge
from behavesim.task import Task, TaskReference
from behavesim.task.verdict import Failure, Verdict

FOLDER = Path(__file__).parent
AT_ONCE = 50
"""Number of programs that are evaluated together; after each such batch the scores so far are written."""


async def make(file: Path, folders: Sequence[Path]) -> None:
    """Write the kept runs, and the scores of their sets' programs on the held-out instances of the task in `file`.

    Both files are written into FOLDER. Programs that have scores there already are not evaluated again.
    """
    loaded = [Run.load(folder) for folder in folders]
    runs = sorted(map(to_stored, loaded), key=lambda run: (run.method, run.seed))
    stem = runs[0].task
    write_runs(FOLDER / f"{stem}.jsonl.xz", runs)
    task = TaskReference(str(file)).load()
    path = FOLDER / f"{stem}.fresh.json.xz"
    fresh = read_fresh(path) if path.exists() else Fresh([], list(task.references), {}, {}, {}, {})
    async with _judge(loaded[0], file) as judge:
        fresh = await _tried(task, _wanted(runs, task), judge, fresh, path)
        if type(task).improve is not Task.improve:
            await _improved(task, runs, judge, fresh)
    starts = file.with_name(file.name.replace("fresh", "starts"))
    if starts.exists():
        async with _judge(loaded[0], starts) as judge:
            await _started(runs, judge, fresh)
    write_fresh(path, fresh if task.references else replace(fresh, references=_best(fresh, task)))


def _best(fresh: Fresh, task: Task) -> list[float]:
    """Return the best score of all evaluated programs on each fresh instance, where no best score is known."""
    best = max if task.objective.direction == "maximise" else min
    tried = [fresh.template, *(scores for scores in fresh.scores.values() if scores is not None)]
    return [best(scores) for scores in zip(*tried, strict=True)]


def _judge(run: Run, file: Path) -> AbstractAsyncContextManager[Judge]:
    settings = run.settings.model_copy(update={"task": str(file.resolve()), "workers": 1})
    return judge_of(settings, TaskReference(str(file)).load(), "held-out")


def _wanted(runs: Sequence[KeptRun], task: Task) -> list[str]:
    """Return the sources of all programs in a set of some run, without repetition."""
    measure, direction = BehaveSim(normaliser=task.normaliser), task.objective.direction
    sources: dict[str, None] = {}
    for method in dict.fromkeys(run.method for run in runs):
        for sets in sets_of([run for run in runs if run.method == method], measure, direction):
            sources |= dict.fromkeys(p.source for drawn in sets.values() for programs in drawn for p in programs)
    return list(sources)


async def _tried(task: Task, sources: Iterable[str], judge: Judge, fresh: Fresh, path: Path) -> Fresh:
    template = await judge.evaluate(task.template)
    assert isinstance(template, Verdict), "a task's template works"
    fresh = replace(fresh, template=round_scores(template.scores))
    missing = [source for source in sources if name_of(source) not in fresh.scores]
    for start in range(0, len(missing), AT_ONCE):
        batch = missing[start : start + AT_ONCE]
        for source, verdict in zip(batch, await asyncio.gather(*map(judge.evaluate, batch)), strict=True):
            fresh.scores[name_of(source)] = None if isinstance(verdict, Failure) else round_scores(verdict.scores)
        write_fresh(path, fresh)
        sys.stderr.write(f"{start + len(batch)} of {len(missing)} programs tried\n")
    return fresh


async def _improved(task: Task, runs: Sequence[KeptRun], judge: Judge, fresh: Fresh) -> None:
    """Add to `fresh`, for the best program of each run, its scores after 2-opt and the CPU time of 2-opt.

    The time is in units of the program's own CPU time. Programs that fail are left out.
    """
    instances = task.instances("held-out")
    for run in runs:
        verdict = await judge.evaluate(run.best[0].source)
        if isinstance(verdict, Failure):
            continue
        tours = [np.array(trajectory.values()) for trajectory in verdict.trajectories]
        began = time.process_time()
        better = [task.improve(instance, tour) for instance, tour in zip(instances, tours, strict=True)]
        seconds = time.process_time() - began
        scores = [task.score(instance, tour) for instance, tour in zip(instances, better, strict=True)]
        fresh.two_opt[run.best[0].name] = round_scores(scores)
        fresh.two_opt_time[run.best[0].name] = round(seconds / verdict.cpu_s, 3)


async def _started(runs: Sequence[KeptRun], judge: Judge, fresh: Fresh) -> None:
    """Add to `fresh` the scores of the best program of each run from every start; programs that fail are left out."""
    for run in runs:
        verdict = await judge.evaluate(run.best[0].source)
        if isinstance(verdict, Verdict):
            by_start = np.array(round_scores(verdict.scores)).reshape(-1, len(fresh.references))
            fresh.starts[run.best[0].name] = by_start.tolist()


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))
