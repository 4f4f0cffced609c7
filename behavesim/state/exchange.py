"""What passes between a run and a model: the prompt, the reply, and batches of prompts."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.base.tokens import Usage


@dataclass(frozen=True)
class Prompt:
    """What a model is asked; the example programs are the fenced blocks of the text, worst first, best last.

    When a rejected candidate is asked for again, its own program or reply comes after them. `operator` is the method's
    name for the kind of request, such as "improve" or "e1". If `asks_thought`, a sentence about the program is
    looked for in the reply and stored as its thought. `left_out` says in words what was left out to fit the budget of
    tokens (`prompt_tokens`), the least important first. `model` is the model to ask, "" if the proposer chooses it.
    """

    text: str
    operator: str
    asks_thought: bool = False
    left_out: tuple[str, ...] = ()
    model: str = ""


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


@dataclass(frozen=True)
class BatchSent:
    """The prompts with these `numbers` are asked as one batch: of candidates, and of notes as `note_number` gives them.

    It is stored twice: with the `id` "" before anything is sent, and with the endpoint's id before a reply is waited
    for. `name` stands in the batch's metadata: by it a resumed run finds a batch whose id was not stored before a kill.
    """

    name: str
    numbers: tuple[int, ...]
    id: str = ""


def note_number(note: int) -> int:
    """Return the number that `propose` gets for note number `note` (from 0): -2 and below, unlike any candidate's."""
    return -2 - note
