"""The outcome of a candidate: what its reply and its verdict come to, as pure functions of both.

The search records it; an audit derives the same again from a journal.
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
"""Where an object lies in memory, as Python's `repr` shows it."""


def put_in(asked: Asked) -> Responded:
    """Return the reply of a candidate that a person put in: its program in a fenced block."""
    return Responded(asked.candidate, Reply(fenced(asked.prompt.text), INJECTED))


def extracted(task: Task, asked: Asked, reply: Reply, at_once: bool = False) -> Program | Rejected:
    """The program of a reply, or why it holds none; raises NeedsLimits as `extract` does."""
    if reply.fault:
        return Rejected(asked.candidate, "extraction", "given-up", reply.fault)
    thought = asked.prompt.asks_thought
    program = extract(reply.text, task.template, task.entry_point, reply.finish_reason, thought, at_once)
    if isinstance(program, Failure):
        return Rejected(asked.candidate, "extraction", program.reason, program.message)
    return program


def comparable(verdict: Verdict | Failure, behaviours: Behaviours) -> Verdict | Failure:
    """Return the verdict, or a failure if its behaviour cannot be compared: later decisions would raise an error."""
    why = behaviours.refusal(verdict.trajectories) if isinstance(verdict, Verdict) else ""
    return Failure("incomparable", why, verdict.cpu_s) if why else verdict


def without_addresses(message: str) -> str:
    """A message with `at 0x…` in place of each object's address in memory."""
    return _ADDRESS.sub("at 0x…", message)


def judged(candidate: CandidateId, program: Program, verdict: Verdict | Failure) -> Evaluated | Rejected:
    """Return the outcome of a program with this verdict."""
    known: dict[str, Any] = {
        "source": program.source,
        "thought": program.thought,
        "program_hash": program.hash,
        "cpu_s": verdict.cpu_s,
    }
    if isinstance(verdict, Failure):
        message = without_addresses(verdict.message)  # or prompts would depend on the process that ran it
        return Rejected(candidate, "evaluation", verdict.reason, message, **known)
    return Evaluated(candidate, score=verdict.score, scores=verdict.scores, trajectories=verdict.trajectories, **known)


def copied(candidate: CandidateId, program: Program, first: Evaluated | Rejected) -> Evaluated | Rejected:
    """Return the outcome of a program whose text was evaluated before, with the outcome `first`."""
    return replace(
        first,
        candidate=candidate,
        source=program.source,
        thought=program.thought,
        copy_of=first.candidate,
    )
