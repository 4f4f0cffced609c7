"""An evaluator that does nothing, to try the sandbox of evaluators and to measure what it costs."""

from __future__ import annotations

from collections.abc import Callable


def load(given: str) -> Callable[[str], bytes]:
    """Return a function that returns `given` and a line break, in UTF-8, for every program."""
    answer = f"{given}\n".encode()
    return lambda program: answer
