"""The outcome of a candidate, derived from its reply and its verdict by pure functions.

The search records the outcome; an audit derives it again from the journal.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from behavesim.programs.extract import extract, form_of
from behavesim.programs.fences import fenced
from behavesim.programs.reading import Program, Request
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import INJECTED, Asked, CandidateId, Evaluated, NoteAsked, Rejected, Reply, Responded
from behavesim.state.exchange import note_number
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""An object's address in memory, as Python's `repr` shows it."""


def injected_reply(asked: Asked) -> Responded:
    """Return the reply of a candidate whose program a person injected: the program in a fenced block."""
    return Responded(asked.candidate, Reply(fenced(asked.prompt.text), INJECTED))


def is_paid(asked: Asked | NoteAsked, batched: Collection[int]) -> bool:
    """Whether a prompt without a reply costs nothing more: it is a person's program, or `batched` has its number."""
    number = note_number(asked.number) if isinstance(asked, NoteAsked) else asked.candidate
    return asked.prompt.operator == INJECTED or number in batched


def extracted(task: Task, asked: Asked, reply: Reply, shown: str, idea: str = "") -> Program | Rejected:
    """Return the program of a reply, or a rejection if it has none.

    `shown` is the program to which edits apply. `idea` is kept as the program's thought in place of the reply's; "" for
    none. If `reply.fault` says that the request was given up, the reason of the rejection is "given-up".
    """
    if reply.fault:
        return Rejected(asked.candidate, "extraction", "given-up", reply.fault)
    thought = asked.prompt.asks_thought
    is_own = asked.prompt.operator == INJECTED
    program = extract(form_of(task), Request(reply.text, shown, reply.finish_reason, thought, is_own))
    if isinstance(program, Failure):
        return Rejected(asked.candidate, "extraction", program.reason, program.message)
    return replace(program, thought=idea) if idea else program


def with_comparison_checked(verdict: Verdict | Failure, behaviours: Behaviours) -> Verdict | Failure:
    """Return the verdict, or Failure "incomparable" if its trajectories cannot be compared with the template's.

    A method that compares could not decide on such a program: the comparison would raise an error.
    """
    why = behaviours.refusal(verdict.trajectories) if isinstance(verdict, Verdict) else ""
    return Failure("incomparable", why, verdict.cpu_s, verdict.metrics, verdict.feedback) if why else verdict


def without_addresses(message: str) -> str:
    """Return the message with "at 0x…" in place of each "at 0x" and hexadecimal digits, as `repr` shows an address."""
    return _ADDRESS.sub("at 0x…", message)


def judged(candidate: CandidateId, program: Program, verdict: Verdict | Failure) -> Evaluated | Rejected:
    """Return the outcome of a program with this verdict: Evaluated for a Verdict, Rejected for a Failure.

    Addresses in memory are taken out of its message and feedback.
    """
    known: dict[str, Any] = {
        "source": program.source,
        "thought": program.thought,
        "program_hash": program.hash,
        "cpu_s": verdict.cpu_s,
        "metrics": verdict.metrics,
        "feedback": without_addresses(verdict.feedback),  # else prompts would differ from process to process
    }
    if isinstance(verdict, Failure):
        message = without_addresses(verdict.message)  # else repair prompts would differ from process to process
        return Rejected(candidate, "evaluation", verdict.reason, message, **known)
    known |= {"score": verdict.score, "scores": verdict.scores, "trajectories": verdict.trajectories}
    return Evaluated(candidate, counted_s=verdict.counted_s, **known)


def copied(candidate: CandidateId, program: Program, first: Evaluated | Rejected) -> Evaluated | Rejected:
    """Return the outcome of a program whose text was evaluated before: that of `first`, with this candidate's thought.

    Its `copy_of` is the first candidate.
    """
    return replace(first, candidate=candidate, source=program.source, thought=program.thought, copy_of=first.candidate)
