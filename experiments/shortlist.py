"""Chooses the recommended program of finished runs again, from longer shortlists: a plan, and its script.

Does a longer shortlist hold better? The ten best programs that behave differently race on fresh instances ("10", the
default). "20" are twenty with as many evaluations, "30" thirty with three times as many. The runs are those of
race.toml's "champion" on tsp, flow_shop, qap and job_shop, six seeds: the searches are the same, and only the choice
differs.

Decided before the first run: 20 is tested against 10, and 30 against 10, by `behind`. That is minus the mean gain on
the template, a fraction, on 200 instances that no race saw: less is better. The test flips signs of the differences of
all pairs, each task's divided by their standard deviation. Holm corrects it over the two (`gaps.py shortlist`).
The default changes to 20 only if that is better after the correction.

`python experiments/shortlist.py FOLDER` writes shortlist.csv from the runs in FOLDER; it takes about an hour. It runs
their programs outside the sandbox, so only runs of the offline proposer are for it.
"""

from __future__ import annotations

import asyncio
import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from behavesim.analysis.run import Run
from behavesim.application.recommendation import purse_of, record_recommendation
from behavesim.state.events import TEMPLATE
from behavesim.state.race import relative_gains
from behavesim.store.folder import RunFolder
from behavesim.task import Task

HERE = Path(__file__).parent
TASKS = ("tsp", "flow_shop", "qap", "job_shop")
# Of the choices that are made again: the programs on the shortlist, and evaluations for each one that the default has.
CHOICES = {"20": (20, 1), "30": (30, 3)}
# The numbers of the instances on which the choices are compared: far beyond those of any race.
JUDGED_ON = range(100_000, 100_200)


def scores(task: Task, source: str) -> list[float]:
    """Return the scores of a program on the instances that no race saw."""
    names: dict[str, object] = {}
    exec(source, names)
    function, found = names[task.entry_point], []
    for number in JUDGED_ON:
        instance = task.instance("validation", number)
        score = task.score(instance, task.solve(function, instance))  # type: ignore[arg-type]
        found.append(float(getattr(score, "value", score)))
    return found


def chosen_again(run: Run, shortlist: int, times: int) -> int | None:
    """Return the number of the program that is chosen in a copy of the run's folder, from so long a shortlist."""
    evaluations = times * purse_of(run, run.task())
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(run.folder.path, Path(folder) / "run")
        copied = Run.load(RunFolder(Path(folder) / "run"))
        copied.settings = copied.settings.model_copy(update={"shortlist": shortlist})
        asyncio.run(record_recommendation(copied, copied.task(), 2, evaluations))
        recommended = copied.state.recommended
        return None if recommended is None else recommended.choice


def rows(folder: Path) -> Iterator[tuple[str, str, int, float]]:
    """Yield task, choice, seed and minus the gain of each choice of each run."""
    for path in sorted(each.parent for each in folder.glob("*-champion-seed*/run.db")):
        run = Run.load(RunFolder(path))
        task, recommended = run.task(), run.state.recommended
        if run.settings.task not in TASKS or recommended is None:
            continue
        choices = {"10": recommended.choice}
        choices |= {name: chosen_again(run, *choice) for name, choice in CHOICES.items()}
        base = scores(task, run.candidate(TEMPLATE).source or "")
        known: dict[int | None, float] = {}
        for name, choice in choices.items():
            if choice not in known:
                ours = base if choice is None else scores(task, run.candidate(choice).source or "")
                known[choice] = -fmean(relative_gains(ours, base, run.state.objective))
            yield run.settings.task, name, run.settings.seed, known[choice]


def main() -> None:
    """Write shortlist.csv, run by run."""
    with (HERE / "shortlist.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "variant", "seed", "behind"))
        for row in rows(Path(sys.argv[1])):
            writer.writerow(row)
            file.flush()
            sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    main()
