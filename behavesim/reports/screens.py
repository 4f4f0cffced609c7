"""What a terminal shows of one candidate, and of how two differ."""

from __future__ import annotations

from behavesim.analysis.candidate_details import CandidateDetails
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.difference import DiffedProgram, ProgramDifference
from behavesim.analysis.table import DISTANCE, SECONDS, Table, facts_table
from behavesim.reports.terminal import show, show_lines, show_text
from behavesim.reports.words import REJECTED, SCORES, program_name, score_source_row, worth


def show_candidate(shown: CandidateDetails, with_prompt: bool = False, with_reply: bool = False) -> None:
    """Print a candidate on stdout: facts and tables, program and feedback and, if wanted, its prompt and its reply."""
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
        "rejected": _rejection_text(of),
        "operator": of.operator,
        "island": of.group,
        "model": of.model,
        "copy of": None if of.copy_of is None else program_name(of.copy_of),
        "CPU": _cpu(of, shown.limit_s),
        "thought": of.thought or None,
        "left out of the prompt": ", ".join(shown.left_out) or None,
        "notes": "\n".join(shown.notes) or None,
    }
    return facts_table("candidate", f"run {shown.run}: {program_name(of.candidate)}", facts)


def _cpu(candidate: Candidate, limit_s: float | None) -> str | None:
    if candidate.cpu_s is None:
        return None
    took = f"{SECONDS.text(candidate.cpu_s)} s"
    if candidate.counted_s is None or limit_s is None:
        return took
    return f"{took}; {SECONDS.text(candidate.counted_s)} of the {limit_s:g} s that count"


def _rejection_text(candidate: Candidate) -> str | None:
    if candidate.reason is None:
        return None
    why = f": {candidate.message}" if candidate.message else ""
    words = f" ({REJECTED[candidate.reason]})" if candidate.reason in REJECTED else ""  # as in lists of reasons
    return f"in {candidate.stage}, {candidate.reason}{words}{why}"


def show_difference(found: ProgramDifference) -> None:
    """Print on stdout the diff of two programs, their scores and similarity, and where their behaviours part."""
    show_text(found.diff or "the two programs have the same text", "diff")
    show_lines("", [""])
    alike = "unknown: not both are feasible" if found.similarity is None else DISTANCE.text(found.similarity)
    facts = {
        "a": _score_text(found.a),
        "b": _score_text(found.b),
        "similarity": alike,
        **score_source_row(found.score_source),
    }
    title = f"run {found.run}: {program_name(found.a.candidate)} (a) and {program_name(found.b.candidate)} (b)"
    show([facts_table("programs", title, facts), *([found.table()] if found.instances else [])])


def _score_text(program: DiffedProgram) -> str:
    if program.score is None:
        return f"{program.status} ({program_name(program.candidate)})"
    return worth(program.candidate, program.score, program.gap)
