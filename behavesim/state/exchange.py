"""What passes between a run and a model: the prompt and the reply."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.base.tokens import Usage


@dataclass(frozen=True)
class Prompt:
    """What a model is asked; the example programs are the fenced blocks of the text, worst first, best last.

    When a rejected candidate is asked for again, its own program or reply comes after them. `operator` is the method's
    name for the kind of request, such as "improve" or "e1". If `asks_thought`, a sentence about the program is
    looked for in the reply and stored as its thought.
    """

    text: str
    operator: str
    asks_thought: bool = False


@dataclass(frozen=True)
class Reply:
    """What a proposer answered: the unchanged text, the name of the model that wrote it, and the usage.

    `calls` holds the usage of each request for this reply that the endpoint answered, failed ones included, the reply's
    own last. It is empty if no endpoint was asked. `finish_reason` is the endpoint's word for why the text ended, None
    if it gave none. `unanswered` counts requests without an answer, which may have been billed. `fault` says in one
    line why the prompt was given up, '' if it was answered.
    """

    text: str
    model: str
    calls: tuple[Usage, ...] = ()
    finish_reason: str | None = None
    unanswered: int = 0
    fault: str = ""
