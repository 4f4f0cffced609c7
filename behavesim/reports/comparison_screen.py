"""The comparison of several runs on a terminal: one screen with the results, or all its sections."""

from __future__ import annotations

from behavesim.analysis.comparison import RunComparison
from behavesim.reports.comparison_tables import comparison_tables
from behavesim.reports.next_steps import next_steps_of_several
from behavesim.reports.sections import Section, named_sections, of_tables
from behavesim.reports.summary_tables import DISPENSABLE, runs_table
from behavesim.reports.terminal import show_lines, show_rows
from behavesim.store.folder import RunFolder

COMPARISON_SECTIONS = (
    *("groups_search", "groups_held-out", "groups_behaviour", "tests", "over_time", "choice", "ranks"),
    *("runs", "next"),
)
"""The names of all sections of a comparison; those without rows are left out."""
FIRST = frozenset({"groups_search", "groups_held-out", "tests", "ranks", "runs", "next"})
"""The names of the sections that a report of several runs has unless others are asked for."""


def first_screen(found: RunComparison) -> list[Section]:
    """Return what the report of several runs says first: the groups' results, the tests, and a row for each run."""
    return named_sections(full_report(found), FIRST)


def full_report(found: RunComparison) -> list[Section]:
    """Return all sections of the report of several runs: the comparison first, then a row for each run."""
    names = [RunFolder(run.origin.folder).argument for run in found.runs]
    rows = runs_table([run.summary for run in found.runs])
    return [
        *of_tables(comparison_tables(found)),
        Section("runs", lambda: show_rows(rows, DISPENSABLE), rows),
        Section("next", lambda: show_lines("", next_steps_of_several(names))),
    ]
