"""Print one candidate."""

from __future__ import annotations

from behavesim.analysis.candidate_details import CandidateDetails
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.table import SECONDS, Table, facts_table
from behavesim.reports.terminal import show, show_lines, show_text
from behavesim.reports.words import SCORES, named, worth


def show_candidate(shown: CandidateDetails, with_prompt: bool = False, with_reply: bool = False) -> None:
    """Print a candidate on stdout: facts and tables, any program and feedback and, if wanted, its prompt and its reply.

    "there is no prompt" (or reply) stands for a wanted text that does not exist.
    """
    if shown.of.source is not None:
        show_text(shown.of.source, "python")
        show_lines("", [""])
    show((_facts(shown), *shown.tables()))
    if shown.of.feedback:
        show_text("--- feedback ---", "text")
        show_text(shown.of.feedback, "text")
    for title, text, is_wanted in (("prompt", shown.prompt, with_prompt), ("reply", shown.reply, with_reply)):
        if is_wanted:
            show_text(f"--- {title} ---", "text")
            show_text(f"there is no {title}" if text is None else text, "markdown")


def _facts(shown: CandidateDetails) -> Table:
    of = shown.of
    facts = {
        "status": of.status,
        "score": None if of.score is None else worth(of.candidate, of.score, shown.gap),
        "scores": SCORES[shown.score_source],
        "rejected": _rejected(of),
        "operator": of.operator,
        "island": of.group,
        "model": of.model,
        "copy of": None if of.copy_of is None else named(of.copy_of),
        "CPU": _cpu(of, shown.limit_s),
        "thought": of.thought or None,
        "left out of the prompt": ", ".join(shown.left_out) or None,
    }
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return facts_table("candidate", f"run {shown.run}: {named(of.candidate)}", known)


def _cpu(candidate: Candidate, limit_s: float | None) -> str | None:
    """Return a candidate's CPU time, and what of it counts towards the limit where both are known; None if unknown."""
    if candidate.cpu_s is None:
        return None
    took = f"{SECONDS.text(candidate.cpu_s)} s"
    if candidate.counted_s is None or limit_s is None:
        return took
    return f"{took}; {SECONDS.text(candidate.counted_s)} of the {limit_s:g} s that count"


def _rejected(candidate: Candidate) -> str | None:
    """Return where and why a candidate was rejected, such as "in evaluation, timeout: …"; None if it was not."""
    if candidate.reason is None:
        return None
    why = f": {candidate.message}" if candidate.message else ""
    return f"in {candidate.stage}, {candidate.reason}{why}"
