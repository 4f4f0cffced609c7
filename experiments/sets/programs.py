"""Keeps the sets of finished runs on one task and the programs in them, so that the runs are not needed any more.

python experiments/sets/programs.py runs/sets/TASK-*/
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from behavesim_studies.portfolios.sets import name_of
from behavesim_studies.sets.study import PROGRAMS_SUFFIX, KeptPrograms, SetRun, sets_of, write_stored

from behavesim.analysis.run import Run

FOLDER = Path(__file__).parent


def keep(folders: Iterable[Path]) -> None:
    """Write the sets of the runs in these folders and the sources of their programs into FOLDER."""
    runs, sources, task = list[SetRun](), dict[str, str](), ""
    for folder in folders:
        run = Run.load(folder)
        chosen = sets_of(run)
        sources |= {name_of(source): source for each in chosen.values() for source in each}
        keys = {way: tuple(map(name_of, each)) for way, each in chosen.items()}
        runs.append(SetRun(run.settings.label or run.settings.method, run.settings.seed, keys))
        task = Path(run.settings.task).stem
        sys.stderr.write(f"\r{len(runs)} runs ")
    ordered = tuple(sorted(runs, key=lambda run: (run.label, run.seed)))
    write_stored(FOLDER / f"{task}{PROGRAMS_SUFFIX}", KeptPrograms(task, ordered, dict(sorted(sources.items()))))


if __name__ == "__main__":
    keep(map(Path, sys.argv[1:]))
