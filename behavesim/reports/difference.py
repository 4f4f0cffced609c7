"""Print how two programs differ."""

from __future__ import annotations

from behavesim.analysis.difference import DiffedProgram, ProgramDifference
from behavesim.analysis.table import DISTANCE, Table
from behavesim.reports.facts import facts_table
from behavesim.reports.program import named, worth
from behavesim.reports.terminal import show, show_text


def show_difference(found: ProgramDifference) -> None:
    """Print on stdout the diff of two programs' texts, their scores and similarity, and where their behaviours part."""
    show_text(found.diff or "the two programs have the same text", "diff")
    show([programs_table(found), *([found.table()] if found.instances else [])])


def programs_table(found: ProgramDifference) -> Table:
    """Return a table with the score of each program, or its status without one, and their similarity."""
    is_known = found.similarity is not None
    alike = DISTANCE.text(found.similarity) if is_known else "unknown: not both are feasible"
    facts = {"from": _worth(found.a), "to": _worth(found.b), "similarity": alike}
    title = f"run {found.run}: from {named(found.a.candidate)} to {named(found.b.candidate)}"
    return facts_table("programs", title, facts)


def _worth(program: DiffedProgram) -> str:
    if program.score is None:
        return f"{program.status} ({named(program.candidate)})"
    return worth(program.candidate, program.score, program.gap)
