"""What is asked of a model whose program came to nothing: the same once more, with what went wrong."""

from __future__ import annotations

from dataclasses import replace

from behavesim.events import Asked, Prompt, Rejected
from behavesim.programs.fences import fenced

SHOWN = 4000
"""Characters of a failed reply that are shown again where no program could be taken from it."""


def repair(asked: Asked, reply: str, rejected: Rejected) -> Asked:
    """The question that gives a rejected candidate another try; parents and group stay as they were."""
    failed = fenced(rejected.source) if rejected.source else reply[:SHOWN].strip()
    text = "\n\n".join(
        [
            asked.prompt.text,
            "Your answer to this was:",
            failed,
            f"It was rejected ({rejected.reason}): {rejected.message}",
            "Mend what is wrong, and answer with the complete program in one fenced Python block.",
        ]
    )
    return replace(asked, prompt=Prompt(text, "repair", asks_thought=True))
