"""What EoH asks: a thought and a program, first from nothing, then from programs and the thoughts behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from behavesim.programs.fences import fenced

Operator = Literal["e1", "e2", "m1", "m2", "m3", "s1"]
"""E1 explores, E2 crosses, M1 modifies, M2 tunes, M3 simplifies, S1 (MCTS-AHD) reads the way to a program."""


@dataclass(frozen=True)
class Example:
    """A program and, where its author gave one, the thought behind it."""

    source: str
    thought: str = ""


WISHES: Mapping[Operator, str] = {
    "e1": "Design a new algorithm whose idea is as unlike the given ones as possible.",
    "e2": (
        "Find the idea that the given algorithms share, the backbone of what makes them work. Then design a new "
        "algorithm that is motivated by this backbone and differs from all of them in how it goes on from there."
    ),
    "m1": "Design a modified version of the given algorithm: keep its idea, and change how it is carried out.",
    "m2": (
        "Find the main parameters of the given algorithm, the numbers its choices depend on, and design a version "
        "with other settings of them."
    ),
    "m3": (
        "Find the parts of the given algorithm that may be fitted to the instances it was tried on, or do nothing, and "
        "design a simpler version without them that should do better on new instances."
    ),
    "s1": (
        "Each of the given algorithms grew from an earlier one of them. Find what helped along the way, and design an "
        "algorithm that takes all of it further."
    ),
}
"""What each operator asks for."""


@dataclass(frozen=True)
class EohPrompts:
    """The prompts of one task; every program stands in a fenced block of its own, its thought in prose before it."""

    description: str
    template_source: str
    entry_point: str

    def first(self) -> str:
        """i1: ask for a first algorithm; the template shows the function's form."""
        return "\n\n".join(
            [
                self.description,
                "This program shows the function to be designed, its arguments and its result:",
                fenced(self.template_source),
                "Design a new algorithm for it.",
                self._demand(),
            ]
        )

    def vary(self, operator: Operator, examples: Sequence[Example]) -> str:
        """E1 to M3: ask for a variation of the examples, which come in ascending order of score."""
        return "\n\n".join([self.description, *_shown(examples), WISHES[operator], self._demand()])

    def _demand(self) -> str:
        return (
            "First describe the idea of your algorithm and its main steps in one sentence within braces, {like this}. "
            f"Then write it as the Python function `{self.entry_point}`, with the same arguments and the same kind of "
            "result: the complete program, imports included, in one fenced Python block, and no other explanation."
        )


def _shown(examples: Sequence[Example]) -> list[str]:
    if len(examples) == 1:
        return [f"Here is an algorithm that solves the problem. {_idea(examples[0])}", fenced(examples[0].source)]
    shown = [f"Here are {len(examples)} algorithms that solve the problem, from worse to better."]
    for number, example in enumerate(examples, 1):
        shown += [f"Algorithm {number}. {_idea(example)}", fenced(example.source)]
    return shown


def _idea(example: Example) -> str:
    """The thought on one line, unable to open a block."""
    thought = " ".join(example.thought.replace("`", "'").split())
    return f"Its idea: {thought}\nIts code:" if thought else "Its code:"
