"""Extracts the program from a model's reply, or the reason why there is none, within limits of time and memory."""

from __future__ import annotations

from behavesim.programs.limited import read_within_limits
from behavesim.programs.parsing import NeedsLimits, Parser
from behavesim.programs.reading import REASONS, Program, Request, read
from behavesim.state.verdict import Failure

__all__ = ["REASONS", "NeedsLimits", "Program", "extract"]

READ_HERE = 40_000
"""Replies of more characters are read in another process, because reading them here would block the event loop."""


def extract(
    text: str,
    template_source: str,
    entry_point: str,
    finish_reason: str | None = None,
    thought: bool = False,
    at_once: bool = False,
) -> Program | Failure:
    """Return the program in a reply by the rules of `reading.read`, or a Failure whose reason is one of REASONS.

    `finish_reason` is the endpoint's word for why the reply ended. If `thought`, the sentence about the program is
    returned too. A short reply with plain code is read here, any other in a process with limits, which takes 0.2 s
    more. If `at_once`, raises NeedsLimits instead of starting one. Raises TaskError if the template does not define the
    entry point, BehavesimError if no process can be started.
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
