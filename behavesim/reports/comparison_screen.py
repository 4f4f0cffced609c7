"""The comparison of several runs on a terminal: one screen with the results, or all its sections."""

from __future__ import annotations

from behavesim.analysis.comparison import RunComparison
from behavesim.reports.comparison_tables import comparison_tables, verdict_lines
from behavesim.reports.next_steps import command_lines, next_steps_of_several
from behavesim.reports.sections import Section, named_sections, of_tables
from behavesim.reports.summary_tables import DISPENSABLE, runs_table
from behavesim.reports.terminal import show_lines, show_rows, show_sentences, width
from behavesim.store.folder import RunFolder

COMPARISON_SECTIONS = (
    *("verdicts", "groups_search", "groups_held-out", "groups_behaviour", "tests", "over_time", "choice", "ranks"),
    *("runs", "next"),
)
"""The names of all sections that a comparison may have; one without rows is left out."""
FIRST = frozenset({"groups_search", "groups_held-out", "verdicts", "tests", "ranks", "runs", "next"})
"""The names of the sections that a report of several runs has unless others are asked for."""


def first_screen(found: RunComparison) -> list[Section]:
    """Return the sections of the first screen on several runs: tests in words, the groups' results, and the runs."""
    return named_sections(_sections(found, is_full=False), FIRST)


def full_report(found: RunComparison) -> list[Section]:
    """Return all sections of the report of several runs: what the tests say, the comparison, and a row for each run."""
    return _sections(found, is_full=True)


def _sections(found: RunComparison, is_full: bool) -> list[Section]:
    """Return all sections; the commands to use next ask for the full report unless it `is_full` already."""
    names = [RunFolder(run.origin.folder).argument for run in found.runs]
    rows = runs_table([run.summary for run in found.runs])
    return [
        *_verdicts(found),
        *of_tables(comparison_tables(found)),
        Section("runs", "", lambda: show_rows(rows, DISPENSABLE), rows),
        Section("next", "", lambda: show_lines("", command_lines(next_steps_of_several(names, is_full), width()))),
    ]


def _verdicts(found: RunComparison) -> list[Section]:
    """Return the section of what the tests say; none without any test."""
    said = verdict_lines(found)
    return [Section("verdicts", "what the tests say", lambda: show_sentences(said))] if said else []
