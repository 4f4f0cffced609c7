"""`behavesim study known`: programs of others in one map of behaviours with those of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.evaluation import Evaluation
from behavesim.application.launch import task_settings
from behavesim.code_similarity.named import NAMES
from behavesim.reports.csv_files import write_tables
from behavesim.reports.terminal import show
from behavesim.similarity import BehaveSim
from behavesim.studies.known.drawing import draw
from behavesim.studies.known.findings import KnownStudy, Refused, Tried
from behavesim.studies.known.gathering import NamedProgram, programs_in, programs_of, template_of
from behavesim.studies.known.study import Rules, study
from behavesim.studies.known.tables import tables
from behavesim.task import InWords
from behavesim.task.verdict import Failure, Verdict

from .options import (
    RUNS,
    AllowWeakIsolation,
    AsJson,
    Assignments,
    HeldOut,
    OneWorker,
    RunsDir,
    Shifted,
    TaskName,
    complete_runs,
    figures_option,
    metric_of_text,
    read_run,
    split_of,
)
from .output import print_result, tell, tell_written
from .trial import REJECTED, tried


def study_known(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of programs, one a file; its subfolders say who found them."),
    ],
    task: TaskName,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="A run to compare with; repeatable.", autocompletion=complete_runs),
    ] = None,
    best: Annotated[int, typer.Option(min=1, help="Number of best distinct programs taken of each run.")] = 10,
    metric: Annotated[
        str, typer.Option("--metric", callback=metric_of_text, help=f"The metric of text: {', '.join(NAMES)}.")
    ] = "rouge",
    held_out: HeldOut = False,
    shifted: Shifted = False,
    workers: OneWorker = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables as CSV files.")] = None,
    figures: Annotated[Path | None, figures_option("Write the map of behaviours, as PDF and SVG.")] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Say which programs of other people and of runs behave the same, whose copy each is, and where the rest part."""
    given = {"allow_weak_isolation": allow_weak_isolation, "workers": workers}
    settings, loaded = task_settings(task, given, assignments)
    split = split_of(held_out, shifted)
    known = programs_in(folder, loaded)
    ours = [each for run in runs or () for each in programs_of(read_run(runs_dir, run), loaded, best)]
    programs = [*known, *ours, template_of(loaded)]
    results = tried(settings, loaded, [(each.name, each.source) for each in programs], split)
    accepted, refused = _parted(programs, results)
    # the task's constant holds for the sizes of its search instances alone
    normaliser = loaded.normaliser if split == "search" else "pair"
    measure = BehaveSim(**settings.measuring(normaliser), strict=False)
    found = study(accepted, refused, Rules(measure, settings.shortlist_radius, metric, InWords(loaded, split)))
    _report(found, csv, figures, as_json)
    if not {each.name for each in known} & {each.name for each in accepted}:
        tell(f"no program in {folder} could be run on task {loaded.name}")
        raise typer.Exit(REJECTED)


def _parted(programs: Sequence[NamedProgram], results: Sequence[Evaluation]) -> tuple[list[Tried], list[Refused]]:
    """Return the programs that have a verdict, and those that were rejected, given the result of each."""
    accepted, refused = list[Tried](), list[Refused]()
    for program, result in zip(programs, results, strict=True):
        match result.verdict:
            case Verdict() as verdict:
                accepted.append(Tried(program.name, program.whose, program.source, verdict))
            case Failure(reason=reason, message=message):
                refused.append(Refused(program.name, program.whose, result.stage, reason, message))
    return accepted, refused


def _report(found: KnownStudy, csv: Path | None, figures: Path | None, as_json: bool) -> None:
    """Print the study, as JSON or as tables; write tables into `csv` and the map into `figures`, unless None."""
    print_result(found, as_json, KnownStudy.document, lambda found: show(tables(found)))
    tell_written([csv / name for name in write_tables(tables(found), csv)] if csv else [])
    tell_written(draw(found, figures) if figures else [])
