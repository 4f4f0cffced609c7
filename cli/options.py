"""Options that several commands share, and functions that read their texts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from behavesim.base.errors import UsageError
from behavesim.store.folder import RunFolder

from .output import busy, tell

if TYPE_CHECKING:
    from behavesim.analysis.run import Run
    from behavesim.task import Split

# The default of `--runs-dir`.
RUNS = Path("runs")
# Proposers of ours whose names are followed by a colon and a command, a folder, a port or a run.
TAKING_ARGUMENTS = frozenset({"command", "folder", "http", "replay"})


def figures_option(help_text: str, check: Callable[[], None]) -> Any:
    """Return the option --figures DIR; if it is given, `check` raises UsageError unless figures can be drawn."""

    def drawable(folder: Path | None) -> Path | None:
        if folder is not None:
            check()
        return folder

    return typer.Option("--figures", metavar="DIR", callback=drawable, help=help_text)


def metric_of_text(name: str) -> str:
    """Return the name of a metric of programs' text; raises UsageError if there is none of that name."""
    from behavesim.code_similarity.metric import NAMES  # imported late: most commands do not need it

    if name not in NAMES:
        raise UsageError(f"--metric takes one of {', '.join(NAMES)}, not {name!r}")
    return name


# Functions for a shell's completion return all that may stand in a place: Typer keeps what begins with the typed text.
# They import late, since a command without completion needs none of it.


def complete_tasks() -> list[str]:
    """Return the installed tasks, for shell completion; the shell adds paths itself."""
    from behavesim.task import installed_tasks

    return installed_tasks()


def complete_methods() -> list[str]:
    """Return the installed methods, for shell completion."""
    from behavesim.state.settings import METHODS

    return METHODS.installed()


def complete_proposers() -> list[str]:
    """Return "auto" and the installed proposers, for shell completion; a colon ends those that take a value."""
    from behavesim.state.settings import PROPOSERS

    return ["auto", *(f"{name}:" if name in TAKING_ARGUMENTS else name for name in PROPOSERS.installed())]


def complete_settings(ctx: typer.Context) -> list[str]:
    """Return "NAME=" for the settings of every run, and of its method and proposer, for shell completion.

    They are those of all methods and proposers if the command names none before.
    """
    from behavesim.state.settings import owners

    method, proposer = (ctx.params.get(name) for name in ("method", "proposer"))
    try:
        found = owners(method, None if proposer == "auto" else proposer)
    except UsageError:  # a shell has no place for a message
        return []
    return list(dict.fromkeys(f"{name}=" for owner in found for name in sorted(owner.settings)))


def complete_runs(ctx: typer.Context) -> list[str]:
    """Return the ids of the runs in the folder of --runs-dir, newest first, for shell completion."""
    return [folder.run for folder in reversed(RunFolder.all(Path(ctx.params.get("runs_dir") or RUNS)))]


TaskName = Annotated[
    str,
    typer.Argument(metavar="TASK", help="A task's name, or the path of a task file.", autocompletion=complete_tasks),
]
Programs = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Programs; `template` is the task's own.")]
_RUN = "A run's id, its beginning, or its folder"
OneRun = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help=f"{_RUN} (default: the newest).", autocompletion=complete_runs),
]
NamedRun = Annotated[str, typer.Argument(metavar="RUN", help=f"{_RUN}.", autocompletion=complete_runs)]
Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help="Ids, their beginnings, or folders (default: the newest run).",
        autocompletion=complete_runs,
    ),
]
Budget = Annotated[int | None, typer.Option(help="Programs to generate, rejected ones too (default: the task's).")]
RunName = Annotated[str | None, typer.Option(help="The run's id (default: task and time).")]
RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Folder of the run folders.")]


def _print_aside(ctx: typer.Context, as_json: bool) -> bool:
    """Return `as_json`; if it is true, redirect stdout to stderr, so that a task's own prints do not spoil the JSON."""
    if as_json:
        ctx.with_resource(redirect_stdout(sys.stderr))
    return as_json


AsJson = Annotated[
    bool,
    typer.Option("--json", callback=_print_aside, help="Print one JSON document on stdout and nothing else there."),
]


def workers_from(text: str) -> int | str:
    """Return a number of workers, or the name of a cluster; raises UsageError for other texts."""
    from pydantic import TypeAdapter, ValidationError  # imported late: most commands do not need it

    from behavesim.base.config import Workers as Setting

    try:
        return TypeAdapter[int | str](Setting).validate_python(text)
    except ValidationError as error:
        wanted = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"--workers {wanted}, not {text!r}") from None


def workers_option(default: str) -> Any:
    """Return the option --workers; `default` says in its help how many programs are evaluated at once without it."""
    return typer.Option(
        metavar="N|CLUSTER",
        parser=workers_from,
        help=f"Programs evaluated at once (default: {default}); or a Dask cluster, which starts here with dask or "
        "dask:N, and serves at dask://HOST:PORT.",
    )


Workers = Annotated[Any, workers_option("the cores of this machine")]
OneWorker = Annotated[Any, workers_option("1")]
RunsWorkers = Annotated[Any, workers_option("as many as in the run")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting; repeatable.", autocompletion=complete_settings),
]
ConfigFile = Annotated[
    Path | None, typer.Option(metavar="FILE.toml", help="Settings from a file; options and --set override them.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model, or NAME:WEIGHT (its share of requests); repeatable.")
]
HeldOut = Annotated[
    bool, typer.Option("--held-out", help="Use the held-out instances; `--held-out shifted` uses the shifted ones.")
]
Shifted = Annotated[bool, typer.Option("--shifted", hidden=True, help="What `--held-out shifted` is read as.")]


def chosen_split(held_out: bool, shifted: bool) -> Split:
    """Return the split that a command uses: "shifted" or "held-out" if that option was given, else "search"."""
    return "shifted" if shifted else "held-out" if held_out else "search"


AllowWeakIsolation = Annotated[
    bool | None, typer.Option("--allow-weak-isolation", help="Run even if the sandbox isolates weakly.")
]

# Number of seconds in each unit of time that `seconds` reads.
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run_folder(runs_dir: Path, run: str | None) -> RunFolder:
    """Return the folder of a run given by its id, the beginning of its id, or its path; None means the newest run.

    The newest run's id is printed on stderr. Raises UsageError if no run matches, or several do.
    """
    if run is not None:
        return RunFolder.find(runs_dir, run)
    newest = RunFolder.newest(runs_dir)
    tell(f"the newest run is {newest.run}")
    return newest


def run_folders(runs_dir: Path, runs: list[str] | None) -> list[RunFolder]:
    """Return the folders of runs given as in `run_folder`; None or an empty list means the newest run alone.

    Raises UsageError if a text matches no run, or several.
    """
    return [RunFolder.find(runs_dir, run) for run in runs] if runs else [run_folder(runs_dir, None)]


def folders_of(runs_dir: Path, texts: list[str] | None) -> list[RunFolder]:
    """Return the folders of runs given as in `run_folders`, or as folders of runs, such as that of an experiment.

    A folder's runs are sorted by when they began, the oldest first. A run that is named twice counts once. Raises
    UsageError if a text matches no run, or several.
    """
    found: list[RunFolder] = []
    for text in texts or ():
        found += RunFolder.held_by(runs_dir, text) or [RunFolder.find(runs_dir, text)]
    once = {folder.path.resolve(): folder for folder in found}
    return list(once.values()) or [run_folder(runs_dir, None)]


def read_run(runs_dir: Path, run: str) -> Run:
    """Read the run named by `run`, as in `run_folder`, from its journal; say so on stderr if that is a terminal.

    Raises UsageError if no run matches, or several do; JournalError if the journal cannot be read.
    """
    from behavesim.analysis.run import Run  # imported late: most commands do not need it

    folder = RunFolder.find(runs_dir, run)
    busy(f"reading {folder.run}")
    return Run.load(folder)


CandidateName = Annotated[
    str, typer.Argument(metavar="CANDIDATE", help="Its number (-1: the template), best, recommended or template.")
]


def candidate_number(run: Run, name: str) -> int:
    """Return a candidate's number, given that number as text, or "best", "recommended" or "template".

    The best is the program in best.py. A number is not looked up in the run. Raises UsageError for other names, or if
    the run has no such program yet.
    """
    if re.fullmatch(r"[-−]?\d+", name):  # pages write −1 with a minus sign, which a person may copy
        return int(name.replace("−", "-"))
    known = {"best": run.state.leader, "recommended": run.recommended, "template": run.template}
    if name not in known:
        raise UsageError(f"a candidate is called by its number, or {', '.join(known)}, not {name!r}")
    found = known[name]
    if found is None:
        raise UsageError(f"run {run.folder.run} has no {name} program yet")
    return found.candidate


def seconds(text: str) -> float:
    """Return a duration such as 90, 90s, 30m, 2h or 1d in seconds; raises UsageError for other texts."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if match is None:
        raise UsageError(
            f"--max-time takes a duration such as 90s, 30m or 2h (seconds where no unit stands), not {text!r}"
        )
    return float(match[1]) * _UNITS[match[2] or "s"]


def parse_models(texts: list[str] | None) -> dict[str, float] | None:
    """Return the weights of models by name, from texts `NAME` (weight 1) or `NAME:WEIGHT`; None if there are no texts.

    Raises UsageError if a weight is 0.
    """
    if not texts:
        return None
    models: dict[str, float] = {}
    for text in texts:
        name, separator, weight = text.rpartition(":")  # a model's own name may hold a colon: "llama3:8b"
        if separator and re.fullmatch(r"\d+(\.\d+)?", weight):
            models[name] = float(weight)
        else:
            models[text] = 1.0
    if not all(weight > 0 for weight in models.values()):
        raise UsageError("--model takes NAME or NAME:WEIGHT with a positive weight")
    return models
