"""`behavesim study`: the paper's tables and figures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from behavesim.analysis.run import Run
from behavesim.analysis.table import Table
from behavesim.application.held_out import held_out_scores
from behavesim.base.errors import UsageError
from behavesim.code_similarity.named import NAMES
from behavesim.reports.terminal import counted, show
from behavesim.store.folder import RunFolder
from behavesim.studies import clustering as clustering_study
from behavesim.studies import diversity as diversity_study
from behavesim.studies import measures as measures_study
from behavesim.studies import prediction as prediction_study
from behavesim.studies import sampling as sampling_study
from behavesim.studies import similarity as similarity_study
from behavesim.studies import stochastic as stochastic_study
from behavesim.studies import visualise as visual_study
from behavesim.studies.dataset import PAIRS
from behavesim.studies.optimisers import STARTS
from behavesim.studies.portfolios import study as portfolio_study

from .commands import PLAIN
from .options import RUNS, AsJson, RunsDir
from .output import busy, print_json, tell

study = typer.Typer(no_args_is_help=True, help="The paper's tables and figures, with its own beside ours.", **PLAIN)

Figures = Annotated[Path | None, typer.Option("--figures", metavar="DIR", help="Write figures, as PDF and SVG.")]

Runs = Annotated[list[str], typer.Argument(metavar="RUN...", help="Names of runs, or their folders.")]


@study.command("similarity")
def similarity(
    embedding_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sentence-transformers model, or its folder, for embeddings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Thirty pairs of programs by every metric (Table 1)."""
    rows = counted(similarity_study.measured(embedding_model), len(PAIRS), "comparing thirty pairs")
    _show(similarity_study.study(rows, embedding_model), as_json)


@study.command("sampling")
def sampling(as_json: AsJson = False) -> None:
    """How BehaveSim changes when trajectories are cut (k), or when n states are skipped between kept ones."""
    _show(sampling_study.study(counted(sampling_study.sampled(), len(PAIRS), "comparing thirty pairs")), as_json)


@study.command("measures")
def measures(figures: Figures = None, as_json: AsJson = False) -> None:
    """Four ways to compare trajectories, on eight optimisers, and how they correlate."""
    found = measures_study.study(counted(measures_study.compared(), STARTS, "descending from ten starts"))
    _show(found, as_json)
    _draw(found, figures)


@study.command("visualise")
def visualise(figures: Figures = None, as_json: AsJson = False) -> None:
    """Two programs that differ in one word, and the tours they build step by step."""
    found = visual_study.study()
    _show(found, as_json)
    _draw(found, figures)


@study.command("stochastic")
def stochastic(as_json: AsJson = False) -> None:
    """Whether random algorithms are told apart by their algorithm rather than by their seed."""
    rows = counted(stochastic_study.compared(), 2 * len(stochastic_study.SUBJECTS), "comparing laws")
    _show(stochastic_study.StochasticStudy(tuple(rows)), as_json)


@study.command("diversity")
def diversity(runs: Runs, runs_dir: RunsDir = RUNS, figures: Figures = None, as_json: AsJson = False) -> None:
    """How similar programs are inside islands and between them, over time."""
    found = diversity_study.study([_loaded(runs_dir, run) for run in runs])
    _show(found, as_json)
    _draw(found, figures)


@study.command("clustering")
def clustering(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, or its folder.")],
    metric: Annotated[
        str, typer.Option("--metric", help=f"What BehaveSim is held against: {', '.join(NAMES)}.")
    ] = "codebleu",
    runs_dir: RunsDir = RUNS,
    figures: Figures = None,
    as_json: AsJson = False,
) -> None:
    """Clusters of thirty programs of a run: by behaviour, and by text."""
    if metric not in NAMES:
        raise UsageError(f"--metric takes one of {', '.join(NAMES)}, not {metric!r}")
    found = clustering_study.study(_loaded(runs_dir, run), metric)
    _show(found, as_json)
    _draw(found, figures)


@study.command("prediction")
def prediction(runs: Runs, runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """How well the similarity of programs predicts their scores on unseen instances."""
    busy("trying the best programs of each run on held-out instances, and comparing them by every metric")
    loaded = [_loaded(runs_dir, run) for run in runs]
    unseen = asyncio.run(held_out_scores(loaded, list(map(prediction_study.chosen, loaded))))
    _show(prediction_study.study(loaded, unseen), as_json)


@study.command("portfolio")
def portfolio(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where kept runs and their scores on fresh instances lie.")
    ] = Path("experiments/portfolio"),
    as_json: AsJson = False,
) -> None:
    """Whether sets of programs that behave differently are better than other sets, from finished runs."""
    busy("choosing sets of programs from kept runs")
    _show(portfolio_study.study(folder), as_json)


@study.command("main")
def main() -> None:
    """Four methods on three tasks (the paper's main table): an experiment."""
    _point_to("main", "the paper's budgets with a paid model", "seeds and tasks that a laptop does in two hours")


@study.command("ablation")
def ablation() -> None:
    """What each part of FunSearch+BehaveSim does (the paper's ablations): an experiment."""
    _point_to("ablation", "the paper's budgets with a paid model", "the same variants on a laptop")


def _loaded(runs_dir: Path, run: str) -> Run:
    return Run.load(RunFolder.find(runs_dir, run).path)


def _point_to(name: str, paid: str, free: str) -> None:
    for kind, what in (("model", paid), ("offline", f"{free}, no key needed")):
        typer.echo(f"behavesim experiment experiments/{name}-{kind}.toml   # {what}")


class Study(Protocol):
    """The result of a study."""

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON document."""

    def tables(self) -> tuple[Table, ...]:
        """Return the result as tables for people."""


class Drawable(Protocol):
    """A result that can be drawn."""

    def draw(self, folder: Path) -> list[Path]:
        """Write the figures into a folder and return the files' paths."""


def _draw(found: Drawable, folder: Path | None) -> None:
    if folder is not None:
        for file in found.draw(folder):
            tell(f"wrote {file}")


def _show(found: Study, as_json: bool) -> None:
    if as_json:
        print_json(found.document())
    else:
        show(found.tables())
