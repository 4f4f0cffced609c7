"""Several runs compared, for scripts and notebooks: groups, tests, ranks and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.comparison import RunComparison, TaskComparison, comparison
from behavesim.analysis.group_tests import GroupTest
from behavesim.analysis.groups import Ranks
from behavesim.analysis.metrics import Metric, known_metrics
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.analysis.verdicts import Verdict, verdicts
from behavesim.application.event_loop import in_a_loop_of_its_own
from behavesim.application.held_out import reports_of
from behavesim.base.errors import UsageError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


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
        """All Mann–Whitney tests between groups; `p_holm` is p corrected for all tests of a metric."""
        return tuple(test for task in self.found.tasks for test in task.tests)

    @property
    def ranks(self) -> Ranks | None:
        """The groups' mean ranks by best gap over pairs of task and seed; None if they share fewer than two such pairs.

        It is also None if fewer than two groups have gaps.
        """
        return self.found.ranks

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the tests say, in words: on held-out instances if these were tried, else on those of the search."""
        return verdicts(self.found)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with a row per run, by its id: its task, group, seed and the value of each metric.

        Runs that repeat another are left out; if fewer than two are left, there are no rows. Raises ImportError without
        pandas.
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

    def convergence(self, axes: Axes | None = None) -> Axes:
        """Draw each group's mean best gap, with a 95 % band for two runs or more, on the given axes or new ones.

        If a gap is unknown, it is the mean best score. Raises UsageError if the groups are not all on one task and its
        instances, if there is no group, or if matplotlib is not installed.
        """
        from behavesim.reports.figures import draw_groups
        from behavesim.reports.plots import axes_or_new

        if len(self.found.tasks) != 1:
            raise UsageError(f"a plot of convergence takes groups on one task; these runs have {len(self.found.tasks)}")
        axes = axes_or_new(axes)
        draw_groups(axes, self.found.groups)
        return axes

    def __repr__(self) -> str:
        said = "; ".join(verdict.sentence for verdict in self.verdicts) or "no groups to test"
        return f"<comparison of {len(self.found.runs)} runs in {len(self.found.groups)} groups: {said}>"

    def _repr_html_(self) -> str:
        from behavesim.reports.comparison_tables import comparison_tables
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

    `runs` are loaded runs, folders, or ids in the folder `runs`. With `held_out`, their best and recommended programs
    are evaluated on held-out instances, unless earlier reports did that; it also works in a running event loop, and
    needs the sandbox. Without it, no result on held-out instances is used. `metrics` are added to the built-in ones:
    metric files, names such as `candidates_to_5`, or metrics. `tests_unfinished` includes runs in the tests that ended
    before their budget was spent. Raises UsageError if `runs` is one run and no list, or if a run or metric is not
    found. Raises JournalError if a journal cannot be read, and another BehavesimError if programs cannot be evaluated.
    """
    if isinstance(runs, str | Path | Run):
        raise UsageError("compare takes a list of runs; one alone stands in brackets, as in compare([run])")
    loaded = [run if isinstance(run, Run) else Run.load(run) for run in runs]
    named = known_metrics([each for each in metrics if isinstance(each, str)])
    own = [each for each in metrics if isinstance(each, Metric) and each not in named]
    if held_out:
        reports = in_a_loop_of_its_own(reports_of(loaded, lambda line: None, ["held-out"]))
    else:
        reports = [report(run) for run in loaded]
    return ComparedRuns(tuple(loaded), comparison(reports, metrics=(*named, *own), tests_unfinished=tests_unfinished))
