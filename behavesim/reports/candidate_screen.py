"""Print one candidate, or how two differ."""

from __future__ import annotations

from behavesim.analysis.candidate_details import CandidateDetails
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.difference import DiffedProgram, ProgramDifference
from behavesim.analysis.table import DISTANCE, SECONDS, Table, facts_table
from behavesim.reports.terminal import show, show_lines, show_text
from behavesim.reports.words import SCORES, named, unless_trusted, worth


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
    """Return a table of a candidate's facts; unknown ones are left out."""
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
    return facts_table("candidate", f"run {shown.run}: {named(of.candidate)}", facts)


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
    """Return a program's score, gap and name as one line; its status and name if it has no score."""
    if program.score is None:
        return f"{program.status} ({named(program.candidate)})"
    return worth(program.candidate, program.score, program.gap)
