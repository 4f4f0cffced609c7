"""The outcome of a candidate, derived from its reply and its verdict by pure functions.

The search records the outcome; an audit derives it again from the journal.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from behavesim.programs.extract import Program, extract
from behavesim.programs.fences import fenced
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import INJECTED, Asked, CandidateId, Evaluated, Rejected, Reply, Responded
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Task

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""An object's address in memory, as Python's `repr` shows it."""


def injected_reply(asked: Asked) -> Responded:
    """Return the reply of a candidate whose program a person injected: the program in a fenced block."""
    return Responded(asked.candidate, Reply(fenced(asked.prompt.text), INJECTED))


def extracted(task: Task, asked: Asked, reply: Reply, at_once: bool = False) -> Program | Rejected:
    """Return the program of a reply, or a rejection if it has none. Raises NeedsLimits if `at_once`, as `extract` does.

    A reply that was given up is rejected for the reason "given-up".
    """
    if reply.fault:
        return Rejected(asked.candidate, "extraction", "given-up", reply.fault)
    thought = asked.prompt.asks_thought
    program = extract(reply.text, task.template, task.entry_point, reply.finish_reason, thought, at_once)
    if isinstance(program, Failure):
        return Rejected(asked.candidate, "extraction", program.reason, program.message)
    return program


def with_comparison_checked(verdict: Verdict | Failure, behaviours: Behaviours) -> Verdict | Failure:
    """Return the verdict, or Failure "incomparable" if its trajectories cannot be compared with the template's.

    A method that compares could not decide on such a program: the comparison would raise an error.
    """
    why = behaviours.refusal(verdict.trajectories) if isinstance(verdict, Verdict) else ""
    return Failure("incomparable", why, verdict.cpu_s) if why else verdict


def without_addresses(message: str) -> str:
    """Return the message with `at 0x…` in place of each address in memory."""
    return _ADDRESS.sub("at 0x…", message)


def judged(candidate: CandidateId, program: Program, verdict: Verdict | Failure) -> Evaluated | Rejected:
    """Return the outcome of a program with this verdict: Evaluated for a Verdict, Rejected for a Failure."""
    known: dict[str, Any] = {
        "source": program.source,
        "thought": program.thought,
        "program_hash": program.hash,
        "cpu_s": verdict.cpu_s,
    }
    if isinstance(verdict, Failure):
        message = without_addresses(verdict.message)  # else repair prompts would differ from process to process
        return Rejected(candidate, "evaluation", verdict.reason, message, **known)
    return Evaluated(candidate, score=verdict.score, scores=verdict.scores, trajectories=verdict.trajectories, **known)


def copied(candidate: CandidateId, program: Program, first: Evaluated | Rejected) -> Evaluated | Rejected:
    """Return the outcome of a program whose text was evaluated before: that of `first`, with this candidate's thought.

    Its `copy_of` is the first candidate.
    """
    return replace(
        first,
        candidate=candidate,
        source=program.source,
        thought=program.thought,
        copy_of=first.candidate,
    )
