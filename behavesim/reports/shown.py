"""Print one candidate."""

from __future__ import annotations

from behavesim.analysis.shown import CandidateDetails
from behavesim.analysis.table import Table
from behavesim.reports.facts import facts_table
from behavesim.reports.program import named, worth
from behavesim.reports.terminal import show, show_text


def show_candidate(shown: CandidateDetails, with_prompt: bool = False, with_reply: bool = False) -> None:
    """Print a candidate on stdout: its program, its facts, its tables and, if wanted, its prompt and its reply."""
    if shown.source is not None:
        show_text(shown.source, "python")
    show((candidate_table(shown), *shown.tables()))
    for title, text, is_wanted in (("prompt", shown.prompt, with_prompt), ("reply", shown.reply, with_reply)):
        if is_wanted:
            show_text(f"--- {title} ---", "text")
            show_text(f"there is no {title}" if text is None else text, "markdown")


def candidate_table(shown: CandidateDetails) -> Table:
    """Return a table of the known facts on a candidate, such as its score and operator; unknown facts are left out."""
    facts = {
        "status": shown.status,
        "score": None if shown.score is None else worth(shown.candidate, shown.score, shown.gap),
        "rejected": _rejected(shown),
        "operator": shown.operator,
        "group": shown.group,
        "model": shown.model,
        "copy of": None if shown.copy_of is None else named(shown.copy_of),
        "CPU": None if shown.cpu_s is None else f"{shown.cpu_s:.3f} s",
        "thought": shown.thought or None,
    }
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return facts_table("candidate", f"run {shown.run}: {named(shown.candidate)}", known)


def _rejected(shown: CandidateDetails) -> str | None:
    if shown.reason is None:
        return None
    why = f": {shown.message}" if shown.message else ""
    return f"in {shown.stage}, {shown.reason}{why}"
