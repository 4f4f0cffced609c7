"""From a model's reply to a program, or to the reason why there is none, at a cost that is bounded."""

from __future__ import annotations

from behavesim.programs.limited import read_within_limits
from behavesim.programs.parsing import NeedsLimits, Parser
from behavesim.programs.reading import REASONS, Program, Request, read
from behavesim.state.verdict import Failure

__all__ = ["REASONS", "NeedsLimits", "Program", "extract"]

READ_HERE = 40_000
"""Characters of a reply that this process reads: a pass over more would hold up the event loop."""


def extract(
    text: str,
    template_source: str,
    entry_point: str,
    finish_reason: str | None = None,
    thought: bool = False,
    at_once: bool = False,
) -> Program | Failure:
    """The program in a reply, by the rules of `reading.read`; the reason of a Failure is one of REASONS.

    A short reply with plain code is read here, any other in a process with limits, which takes 0.2 s more. Raises
    NeedsLimits instead of starting one if the program is wanted `at_once`.
    """
    request = Request(text, template_source, entry_point, finish_reason, thought)
    try:
        if len(text) <= READ_HERE:
            return read(request, Parser(has_limits=False))
        raise NeedsLimits
    except NeedsLimits:
        if at_once:
            raise
    return read_within_limits(request)
