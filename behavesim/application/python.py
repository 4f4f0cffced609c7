"""Runs from a script or a notebook: search, load and compare them; journals and results are the command's."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behavesim.analysis.comparison import GroupTest, RunComparison, TaskComparison, Verdict, comparison, verdicts
from behavesim.analysis.groups import Ranks
from behavesim.analysis.metrics import Metric, available_metrics
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.application import session
from behavesim.application.console import moment_of_search
from behavesim.application.evaluation import read_program, reports_of
from behavesim.application.launch import new_launch, next_launch, task_settings
from behavesim.application.session import in_a_loop_of_its_own
from behavesim.application.tuning import EVALUATIONS, TunedProgram, tune_program
from behavesim.base.config import cores
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.methods.method import Method
from behavesim.proposers.proposer import Proposer
from behavesim.reports.panels import line
from behavesim.state.events import Event
from behavesim.state.settings import METHODS, PROPOSERS
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.task import Task
from behavesim.task.reference import TASKS

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.convergence import Checkpoint
    from behavesim.analysis.summary import Summary
    from behavesim.reports.chart import Chart
    from behavesim.reports.figures import Plots
    from behavesim.reports.sections import Section


# A run for scripts and notebooks: with its summary, its convergence and plots.


class LoadedRun(Run):
    """A run with figures; a notebook shows it as the first screen of its report. Its length is `state.asked`."""

    def __len__(self) -> int:
        """Return the number of candidates asked for, without the template."""
        return self.state.asked

    def __bool__(self) -> bool:
        """Return True: a run without candidates is a run."""
        return True

    @property
    def summary(self) -> Summary:
        """State, results and costs as `behavesim report` shows them; raises UsageError if its prices are invalid."""
        from behavesim.analysis.summary import summary

        return summary(self)

    @property
    def convergence(self) -> tuple[Checkpoint, ...]:
        """The best score, its gap and the mean gap of the ten best after up to fifty numbers of candidates."""
        from behavesim.analysis.convergence import convergence  # a slow import, as above

        return convergence(self)

    @property
    def plot(self) -> Plots:
        """The run's charts, such as `run.plot.convergence()`: notebooks show them, `write` makes files of them."""
        from behavesim.reports.figures import Plots  # a slow import, which a run without plots does not need

        return Plots(self)

    def section(self, name: str) -> Section:
        """Return a section of the run's report, such as "operators", "map" or "throughput"; a notebook shows it.

        Raises UsageError if there is none of that name.
        """
        from behavesim.reports.sections import RUN, OneRun, section_named

        return section_named(name, RUN, OneRun(report(self)))

    def _repr_html_(self) -> str:
        from behavesim.reports.sections import first_screen

        shown = (each for each in first_screen(report(self), {}) if each.name != "next")  # which is for a terminal
        return "".join(each._repr_mimebundle_()["text/html"] for each in shown)


def load_run(path: str | Path) -> LoadedRun:
    """Load a run, ended or going on, by its folder, or by its id (or the beginning of it) in the folder `runs`.

    Raises UsageError if no run matches, or several do, JournalError if its journal cannot be read.
    """
    return LoadedRun.load(path)


# Several runs compared, for scripts and notebooks: groups, tests, ranks and plots.


@dataclass(frozen=True)
class ComparedRuns:
    """A comparison of `runs`: those that differ only in their seeds are a group. A notebook shows it as its tables.

    `found` has everything: the reports, the groups with their results, and the tests.
    """

    runs: tuple[Run, ...]
    found: RunComparison

    @property
    def tasks(self) -> tuple[TaskComparison, ...]:
        """The groups' results and the tests, for each task and its instances."""
        return self.found.tasks

    @property
    def tests(self) -> tuple[GroupTest, ...]:
        """All tests between groups; `p_holm` is p corrected for all tests of a metric."""
        return tuple(test for task in self.found.tasks for test in task.tests)

    @property
    def ranks(self) -> Ranks | None:
        """The groups' mean ranks over tasks (`RunComparison.ranks`); None if they share fewer than two."""
        return self.found.ranks

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the tests say, in words: on held-out instances if these were tried, else on those of the search."""
        return verdicts(self.found)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with a row per run, by its id: its task, group, seed and the value of each metric.

        Runs that repeat another are left out. Raises ImportError without pandas.
        """
        import pandas

        rows = [
            {"run": run.summary.run, "task": run.summary.task, "group": group.label, "seed": run.summary.seed}
            | dict(run.metrics)
            for group in self.found.groups
            for run in group.runs
        ]
        columns = ["run", "task", "group", "seed", *(metric.name for metric in self.found.metrics)]
        return pandas.DataFrame(rows, columns=columns).set_index("run")

    def convergence(self, axis: str = "candidates") -> Chart:
        """Return a chart of each group's mean best gap, with a 95 % band from six runs on; scores if a gap is unknown.

        `axis` as for a run's `plot.convergence`. Raises UsageError if the groups are not all on one task and its
        instances, if none has a value, or if a run does not know what the axis counts.
        """
        from behavesim.reports.comparison_sections import curves_chart

        if len(self.found.tasks) != 1:
            raise UsageError(f"a plot of convergence takes groups on one task; these runs have {len(self.found.tasks)}")
        chart = curves_chart(self.found, self.found.tasks[0], axis=axis)
        if chart is None:
            raise UsageError("no group has a feasible program in all of its runs, so there is no curve to draw")
        return chart

    def section(self, name: str) -> Section:
        """Return a section of the comparison, such as "curves", "tests" or "map"; a notebook shows it.

        Raises UsageError if there is none of that name.
        """
        from behavesim.reports.comparison_sections import COMPARISON, SeveralRuns
        from behavesim.reports.sections import section_named

        return section_named(name, COMPARISON, SeveralRuns(self.found))

    def __repr__(self) -> str:
        said = "; ".join(verdict.sentence for verdict in self.verdicts) or "no groups to test"
        return f"<comparison of {len(self.found.runs)} runs in {len(self.found.groups)} groups: {said}>"

    def _repr_html_(self) -> str:
        from behavesim.reports.comparison_sections import comparison_tables
        from behavesim.reports.markup import html_tables, in_html

        said = "".join(f"<li>{in_html(verdict.sentence)}</li>" for verdict in self.verdicts)
        return f"<ul>{said}</ul>{html_tables(comparison_tables(self.found))}"


def compare(
    runs: Sequence[Run | str | Path],
    *,
    held_out: bool = False,
    metrics: Sequence[str | Metric] = (),
    tests_unfinished: bool = False,
) -> ComparedRuns:
    """Compare runs as `behavesim report RUN…` does: those that differ only in their seeds are a group.

    Args:
        runs: Loaded runs, folders, or ids in the folder `runs`; the folder of an experiment stands for all its runs.
        held_out: Whether best and recommended programs are evaluated on held-out instances, unless earlier reports did
            that. It needs the sandbox. Without it, no result on held-out instances is used.
        metrics: Added to the built-in ones: metric files, names such as `candidates_to_gap_5`, or metrics.
        tests_unfinished: Whether tests use runs that ended before their budget was spent.

    Raises UsageError if `runs` is one run and no list, or if a run or metric is not found; JournalError if a journal
    cannot be read.
    """
    if isinstance(runs, str | Path | Run):
        raise UsageError("compare takes a list of runs; one alone stands in brackets, as in compare([run])")
    loaded = list[Run]()
    for run in runs:
        held = [] if isinstance(run, Run) else RunFolder.held_by(Path("runs"), str(run))
        loaded += map(Run.load, held) if held else [run if isinstance(run, Run) else Run.load(run)]
    named = available_metrics([each for each in metrics if isinstance(each, str)])
    own = [each for each in metrics if isinstance(each, Metric) and each not in named]
    if held_out:
        reports = in_a_loop_of_its_own(reports_of(loaded, lambda line: None, ["held-out"]))
    else:
        reports = [report(run) for run in loaded]
    return ComparedRuns(tuple(loaded), comparison(reports, metrics=(*named, *own), tests_unfinished=tests_unfinished))


# Called with each new event after its commit, and the run's state with that event; it must not change the state.
OnEvent = Callable[[Event, RunState], None]
# The value of a setting, as a settings file may hold it.
SettingValue = str | int | float | bool | Sequence[str] | Mapping[str, object] | None

# Seconds between two updates of the line that a notebook shows below its cell.
PROGRESS_S = 1.0


async def search(
    task: str | Task,
    *,
    budget: int | None = None,
    method: str | type[Method[Any]] | None = None,
    proposer: str | type[Proposer[Any]] = "auto",
    runs_dir: str | Path = "runs",
    name: str | None = None,
    on_event: OnEvent | None = None,
    **settings: SettingValue,
) -> LoadedRun:
    """Search for a program as `behavesim run` does, and return the run once it has ended.

    A task, method or proposer is a name, a file's path, or an object that a file assigns to `task`, `method` or
    `proposer`. Other processes load such an object again from its file. The proposer "auto" is "openai" if `settings`
    name models or the environment has an endpoint, else "genetic". None means the task's budget and the default method.
    The run's folder is `name` in `runs_dir`; None means the task's name and the time. `on_event` gets each new event.
    `settings` are those that `behavesim list settings` lists. Cancelling keeps all that has arrived; `resume` goes on.

    Raises UsageError if a task, method, proposer or setting does not fit, the folder exists or isolation is too weak.
    Raises TaskError if the task cannot be loaded or its template fails. Raises SandboxError if the sandbox fails, and
    ProposerError if the endpoint fails in a way that retries do not solve; a run that has begun can then be resumed.
    """
    given = {
        "budget": budget,
        "method": None if method is None else _reference(METHODS, method),
        "proposer": _reference(PROPOSERS, proposer),
        **settings,
    }
    launch = new_launch(_reference(TASKS, task), Path(runs_dir), given, name=name)
    return (await session.begin(launch, _view(on_event), _quiet)).run


async def resume(run: str | Path | Run, *, on_event: OnEvent | None = None, **changes: SettingValue) -> LoadedRun:
    """Continue a run from its last event, as `behavesim resume` does, and return it once it has ended.

    `run` is a loaded run, a run's folder, or its id in the folder `runs`. `changes` are settings by name, such as a
    larger `budget`; None leaves one as it is. Raises UsageError if there is no such run, or if a change would alter
    what the run finds; and as `search` does.
    """
    folder = run.folder if isinstance(run, Run) else RunFolder.find(Path("runs"), str(run))
    return (await session.resume(next_launch(folder, changes), _view(on_event), _quiet)).run


def search_sync(
    task: str | Task,
    *,
    budget: int | None = None,
    method: str | type[Method[Any]] | None = None,
    proposer: str | type[Proposer[Any]] = "auto",
    runs_dir: str | Path = "runs",
    name: str | None = None,
    on_event: OnEvent | None = None,
    **settings: SettingValue,
) -> LoadedRun:
    """Call `search` without `await`, even if an event loop is already running, as in a notebook.

    The arguments are those of `search`. Ctrl-C or a notebook's stop button stops the search in order and raises
    KeyboardInterrupt; `resume_sync` goes on.
    """
    return in_a_loop_of_its_own(
        search(
            task,
            budget=budget,
            method=method,
            proposer=proposer,
            runs_dir=runs_dir,
            name=name,
            on_event=on_event,
            **settings,
        )
    )


def resume_sync(run: str | Path | Run, *, on_event: OnEvent | None = None, **changes: SettingValue) -> LoadedRun:
    """Call `resume` without `await`, even if an event loop is running; Ctrl-C acts as in `search_sync`."""
    return in_a_loop_of_its_own(resume(run, on_event=on_event, **changes))


def tune(
    task: str | Task, source: str | Path, *, evaluations: int = EVALUATIONS, seed: int = 0, **settings: SettingValue
) -> TunedProgram:
    """Tune the numbers of a program as `behavesim tune` does, and return what came of it; nothing is written.

    Args:
        task: A task's name or file, or an object that a file assigns to `task`.
        source: The program's text, or the path of its file as a `Path`.
        evaluations: Most trials with other numbers.
        seed: Seed of the trials.
        settings: Those that `behavesim list settings` lists, such as `workers`; None means the cores of this machine.

    It needs no `await`, even in a notebook. Raises UsageError if the program has no numbers that may be tuned, or a
    setting does not fit. Raises BehavesimError if it is rejected as it is; TaskError and SandboxError as `search` does.
    """
    if not isinstance(evaluations, int) or evaluations < 1:
        raise UsageError(f"`evaluations` must be a whole number, 1 or more, not {evaluations!r:.100}")
    if isinstance(source, str) and source.endswith(".py"):
        raise UsageError(f"`source` is a program's text; give the path of its file as Path({source!r:.200})")
    given = {"workers": cores(), **settings, "seed": seed}
    chosen, loaded = task_settings(_reference(TASKS, task), given)
    file = str(source) if isinstance(source, Path) else "the program"
    text = read_program(source, loaded) if isinstance(source, Path) else source
    return in_a_loop_of_its_own(tune_program(chosen, loaded, file, text, evaluations))


def _reference(kind: Kind, part: object) -> str:
    # A text is returned as it is. For an object it is its installed name, else the path of the file with its class, if
    # that file assigns to `task`, `method` or `proposer`.
    if isinstance(part, str):
        return part
    for point in entry_points(group=kind.group):  # only loaded modules: the part is an object of one of them
        module, _, attribute = point.value.partition(":")
        if module in sys.modules and getattr(sys.modules[module], attribute, None) is part:
            return point.name
    home = sys.modules[part.__module__ if isinstance(part, type) else type(part).__module__]
    path = getattr(home, "__file__", None)
    if path is None or not hasattr(home, kind.noun):
        raise UsageError(
            f"a {kind.noun} given as an object has to stand in a file that names it `{kind.noun}`, by which the "
            f"sandbox and a resumed run load it again; {part!r} does not: write it to a file, and give its path"
        )
    return str(path)


def _view(on_event: OnEvent | None) -> session.View:
    if on_event is not None and (not callable(on_event) or iscoroutinefunction(on_event)):  # nothing would await it
        raise UsageError(f"`on_event` must be a plain function of an event and a state, not {on_event!r:.100}")

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        if on_event is not None:
            first, then = search.observe, on_event

            def observe(event: Event, state: RunState) -> None:
                first(event, state)
                then(event, state)

            search.observe = observe
        drawing = asyncio.create_task(_line(launch, search)) if "ipykernel" in sys.modules else None
        try:
            yield
        finally:
            if drawing is not None:
                drawing.cancel()

    return view


async def _line(launch: Launch, search: Search) -> None:
    display = import_module("IPython.display").display
    moment = moment_of_search(launch, search)
    shown = display({"text/plain": line(moment())}, raw=True, display_id=True)
    try:
        while True:
            await asyncio.sleep(PROGRESS_S)
            shown.update({"text/plain": line(moment())}, raw=True)
    finally:
        shown.update({"text/plain": line(moment())}, raw=True)


def _quiet(text: str) -> None:
    """Drop a text for a terminal: a script or notebook has none, and the run's log holds what matters."""
