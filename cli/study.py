"""`behavesim study`: the paper's tables and figures, and the map of known programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from behavesim_studies import (
    measures,
    portfolio,
    prediction,
    programs_of_runs,
    prompts,
    results,
    sets,
    similarity,
)
from behavesim_studies.dataset import PAIRS
from behavesim_studies.known import (
    EvaluatedProgram,
    KnownStudy,
    NamedProgram,
    Refused,
    Rules,
    compare_known,
    programs_in,
    programs_of,
    template_of,
)
from behavesim_studies.known_tables import draw, tables
from behavesim_studies.measures import STARTS
from behavesim_studies.programs_of_runs import generalisation_of
from behavesim_studies.sets import draw as draw_sets

from behavesim.analysis.table import Table
from behavesim.application.evaluation import Evaluation, evaluate_held_out
from behavesim.application.experiment.plan import read_experiment
from behavesim.application.launch import task_settings
from behavesim.base.errors import UsageError
from behavesim.code_similarity.metric import NAMES
from behavesim.reports.files import write_tables
from behavesim.reports.live import count_progress
from behavesim.reports.terminal import show
from behavesim.similarity import BehaveSim
from behavesim.task import InWords
from behavesim.task.verdict import Failure, Verdict

from .commands import PLAIN
from .options import (
    RUNS,
    AllowWeakIsolation,
    AsJson,
    Assignments,
    HeldOut,
    NamedRun,
    OneWorker,
    RunsDir,
    Shifted,
    TaskName,
    chosen_split,
    complete_runs,
    figures_option,
    metric_of_text,
    read_run,
    run_folder,
)
from .output import REJECTED, busy, print_result, print_written, tell, try_once


def _check_figures() -> None:
    from behavesim_studies.figures import check_matplotlib  # imported late: most studies draw nothing

    check_matplotlib()


# `behavesim study known`: programs of others in one map of behaviours with those of runs.


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
    figures: Annotated[
        Path | None, figures_option("Write the map of behaviours, as PDF and SVG.", _check_figures)
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Say which programs of other people and of runs behave the same, whose copy each is, and where the rest part."""
    given = {"allow_weak_isolation": allow_weak_isolation, "workers": workers}
    settings, loaded = task_settings(task, given, assignments)
    split = chosen_split(held_out, shifted)
    known = programs_in(folder, loaded)
    ours = [each for run in runs or () for each in programs_of(read_run(runs_dir, run), loaded, best)]
    programs = [*known, *ours, template_of(loaded)]
    results = try_once(settings, loaded, [(each.name, each.source) for each in programs], split)
    accepted, refused = _split_by_verdict(programs, results)
    # the task's constant holds for the sizes of its search instances alone
    normaliser = loaded.normaliser if split == "search" else "pair"
    measure = BehaveSim(**settings.measuring(normaliser), strict=False)
    found = compare_known(accepted, refused, Rules(measure, settings.shortlist_radius, metric, InWords(loaded, split)))
    _report(found, csv, figures, as_json)
    if not {each.name for each in known} & {each.name for each in accepted}:
        tell(f"no program in {folder} could be run on task {loaded.name}")
        raise typer.Exit(REJECTED)


def _split_by_verdict(
    programs: Sequence[NamedProgram], results: Sequence[Evaluation]
) -> tuple[list[EvaluatedProgram], list[Refused]]:
    """Return the programs that have a verdict, and those that were rejected, given the result of each."""
    accepted, refused = list[EvaluatedProgram](), list[Refused]()
    for program, result in zip(programs, results, strict=True):
        match result.verdict:
            case Verdict() as verdict:
                accepted.append(EvaluatedProgram(program.name, program.whose, program.source, verdict))
            case Failure(reason=reason, message=message):
                refused.append(Refused(program.name, program.whose, result.stage, reason, message))
    return accepted, refused


def _report(found: KnownStudy, csv: Path | None, figures: Path | None, as_json: bool) -> None:
    """Print the study, as JSON or as tables; write tables into `csv` and the map into `figures`, unless None."""
    print_result(found, as_json, KnownStudy.document, lambda found: show(tables(found)))
    print_written([csv / name for name in write_tables(tables(found), csv)] if csv else [])
    print_written(draw(found, figures) if figures else [])


study = typer.Typer(no_args_is_help=True, help="The paper's tables and figures: its numbers beside ours.", **PLAIN)

Figures = Annotated[Path | None, figures_option("Write figures, as PDF and SVG.", _check_figures)]

# What `report --csv` wrote of the runs in docs/explanation/results.md.
KEPT_RESULTS = Path("experiments/results.csv")

# File with the JSON of `study prediction` for the runs in docs/explanation/study.md, shown if no run is named.
KEPT_PREDICTION = Path("experiments/prediction.json")

KEPT_PORTFOLIOS, KEPT_SETS = Path("experiments/portfolio"), Path("experiments/sets")
"""Folders of the kept data of docs/explanation/portfolios.md and of docs/explanation/set-study.md."""

Runs = Annotated[list[str], typer.Argument(metavar="RUN", help="Names of runs, or their folders.")]


@study.command("similarity")
def study_similarity(
    embedding_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sentence-transformers model, or its folder, for embeddings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare thirty pairs of programs by every installed metric, and print the means beside the paper's (Table 1)."""
    rows = count_progress(similarity.measure_pairs(embedding_model), len(PAIRS), "comparing thirty pairs")
    _show(similarity.study(rows, embedding_model), as_json)


@study.command("sampling")
def study_sampling(as_json: AsJson = False) -> None:
    """Print BehaveSim's mean similarities if a share k of each trajectory is cut, or n states between kept ones."""
    _show(
        similarity.sampling_study(count_progress(similarity.sample_programs(), len(PAIRS), "comparing thirty pairs")),
        as_json,
    )


@study.command("measures")
def study_measures(figures: Figures = None, as_json: AsJson = False) -> None:
    """Compare trajectories of eight optimisers in four ways, and print the rank correlations between the ways."""
    found = measures.study(count_progress(measures.compare_measures(), STARTS, "descending from ten starts"))
    _show_and_draw(found, as_json, figures)


@study.command("visualise")
def study_visualise(figures: Figures = None, as_json: AsJson = False) -> None:
    """Show two programs that differ in one word, and the tours that they build step by step."""
    _show_and_draw(similarity.visual_study(), as_json, figures)


@study.command("stochastic")
def study_stochastic(as_json: AsJson = False) -> None:
    """Compare random algorithms: each with itself under other seeds, and with other algorithms."""
    rows = count_progress(measures.compare_stochastic(), 2 * len(measures.SUBJECTS), "comparing laws")
    _show(measures.StochasticStudy(tuple(rows)), as_json)


@study.command("diversity")
def study_diversity(runs: Runs, runs_dir: RunsDir = RUNS, figures: Figures = None, as_json: AsJson = False) -> None:
    """Print mean distances of programs inside islands and between them, after each tenth of the budget."""
    _show_and_draw(programs_of_runs.diversity_study([read_run(runs_dir, run) for run in runs]), as_json, figures)


@study.command("clustering")
def study_clustering(
    run: NamedRun,
    metric: Annotated[
        str,
        typer.Option(callback=metric_of_text, help=f"The metric to compare BehaveSim with: {', '.join(NAMES)}."),
    ] = "codebleu",
    runs_dir: RunsDir = RUNS,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Compare up to thirty programs of a run by behaviour and text, and list the pairs on which both disagree most.

    --figures draws a dendrogram of each.
    """
    _show_and_draw(programs_of_runs.clustering_study(read_run(runs_dir, run), metric), as_json, figures)


@study.command("results")
def study_results(
    runs: Annotated[
        Path, typer.Argument(metavar="FILE", help="The runs.csv that `report --csv` has written.")
    ] = KEPT_RESULTS,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE.toml", help="Test only the pairs of groups that this file names."),
    ] = None,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods by the numbers kept of each run, without the runs: means, intervals and tests."""
    _refuse_absent(runs, KEPT_RESULTS, "name the runs.csv that `report --csv` wrote")
    pairs = None if experiment is None else read_experiment(experiment).tests
    _show_and_draw(results.study(runs, pairs), as_json, figures)


@study.command("prediction")
def study_prediction(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help=f"Runs, or their folders; without, {KEPT_PREDICTION}."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Print how well similarities of programs predict their scores on unseen instances (Spearman's correlation)."""
    if not runs:
        _refuse_absent(KEPT_PREDICTION, KEPT_PREDICTION, "name runs, to compute the study of them")
        _show(prediction.read_study(KEPT_PREDICTION), as_json)
        return
    loaded = [read_run(runs_dir, run) for run in runs]
    busy("trying the best programs of each run on held-out instances, and comparing them by every metric")
    unseen = asyncio.run(evaluate_held_out(loaded, list(map(prediction.choose_programs, loaded))))
    _show(prediction.study(loaded, unseen), as_json)


@study.command("prompts")
def study_prompts(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Runs, or their folders.", autocompletion=complete_runs),
    ],
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Print which questions the replies of runs lead to, as recorded and with --set; no model is asked, nothing run."""
    _show(prompts.study([run_folder(runs_dir, run) for run in runs], assignments or ()), as_json)


@study.command("generalisation")
def study_generalisation(runs: Runs, runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """Print gaps on search, held-out and shifted instances: best and recommended program, portfolio of five."""
    loaded = [read_run(runs_dir, run) for run in runs]
    busy("trying the best, the recommended and five different programs of each run on held-out and shifted instances")
    _show(asyncio.run(generalisation_of(loaded)), as_json)


@study.command("portfolio")
def study_portfolio(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where kept runs and their scores on fresh instances lie.")
    ] = KEPT_PORTFOLIOS,
    as_json: AsJson = False,
) -> None:
    """Print losses of sets of programs that behave differently, beside those of other sets, from finished runs."""
    _refuse_absent(folder, KEPT_PORTFOLIOS, "name the folder of kept runs")
    busy("choosing sets of programs from kept runs")
    _show(portfolio.study(folder), as_json)


@study.command("sets")
def study_sets(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where kept sets and their scores on new instances lie.")
    ] = KEPT_SETS,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Print losses of sets from searches that aim at a set, beside sets chosen from other finished searches."""
    _refuse_absent(folder, KEPT_SETS, "name the folder of kept sets")
    busy("comparing kept sets")
    found = sets.study(folder)
    _show(found, as_json)
    print_written(draw_sets(found.tests, figures) if figures else [])


study.command("known")(study_known)


@study.command("main")
def point_to_main() -> None:
    """Print the commands of the experiment of the paper's main table: four methods on three tasks."""
    _point_to("main", "the paper's budgets with a paid model", "seeds and tasks that a laptop does in two hours")


@study.command("ablation")
def point_to_ablation() -> None:
    """Print the commands of the experiment of the paper's ablations: what each part of FunSearch+BehaveSim does."""
    _point_to("ablation", "the paper's budgets with a paid model", "the same variants on a laptop")


def _point_to(name: str, paid: str, free: str) -> None:
    """Print the commands of an experiment's two files: `paid` says what that with a model makes, `free` the other."""
    for kind, what in (("model", paid), ("offline", f"{free}, no key needed")):
        typer.echo(f"behavesim experiment experiments/{name}-{kind}.toml   # {what}")


def _refuse_absent(path: Path, default: Path, advice: str) -> None:
    """Raise UsageError if `path` is the default of a command and not there: it lies in the project's own folder."""
    if path == default and not path.exists():
        raise UsageError(f"there is no {path.absolute()}; go to a clone of the project, which has it, or {advice}")


class Study(Protocol):
    """The result of a study, which its command prints as JSON or as tables."""

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON document."""

    def tables(self) -> tuple[Table, ...]:
        """Return the result as tables for people."""


class DrawnStudy(Study, Protocol):
    """The result of a study that also has figures."""

    def draw(self, folder: Path) -> list[Path]:
        """Write the figures into a folder and return the files' paths."""


def _show(found: Study, as_json: bool) -> None:
    """Print a study, as tables or as one JSON document."""
    print_result(found, as_json, lambda found: found.document(), lambda found: show(found.tables()))


def _show_and_draw(found: DrawnStudy, as_json: bool, folder: Path | None) -> None:
    """Print a study, as tables or as one JSON document; draw its figures into `folder` unless that is None."""
    _show(found, as_json)
    print_written(found.draw(folder) if folder else [])
