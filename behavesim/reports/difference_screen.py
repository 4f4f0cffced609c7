"""Print how two programs differ."""

from __future__ import annotations

from behavesim.analysis.difference import DiffedProgram, ProgramDifference
from behavesim.analysis.table import DISTANCE, facts_table
from behavesim.reports.terminal import show, show_lines, show_text
from behavesim.reports.words import named, unless_trusted, worth


def show_difference(found: ProgramDifference) -> None:
    """Print on stdout the diff of two programs' texts, their scores and similarity, and where their behaviours part.

    A program without a score is shown with its status. The similarity is unknown unless both are feasible.
    """
    show_text(found.diff or "the two programs have the same text", "diff")
    show_lines("", [""])
    alike = "unknown: not both are feasible" if found.similarity is None else DISTANCE.text(found.similarity)
    facts = {"a": _worth(found.a), "b": _worth(found.b), "similarity": alike, **unless_trusted(found.score_source)}
    title = f"run {found.run}: {named(found.a.candidate)} (a) and {named(found.b.candidate)} (b)"
    show([facts_table("programs", title, facts), *([found.table()] if found.instances else [])])


def _worth(program: DiffedProgram) -> str:
    if program.score is None:
        return f"{program.status} ({named(program.candidate)})"
    return worth(program.candidate, program.score, program.gap)
