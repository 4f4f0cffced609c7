"""What FunSearch asks: the task, the template alone or examples in ascending order, and for a better program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.programs.fences import fenced


@dataclass(frozen=True)
class FunSearchPrompts:
    """The prompts of one task; every program stands in a fenced block of its own, and no other text is fenced."""

    description: str
    template_source: str
    entry_point: str

    def template(self) -> str:
        """Ask for a first program: the template alone."""
        return "\n\n".join(
            [
                self.description,
                "This program shows the function to be designed, its arguments and its result:",
                fenced(self.template_source),
                f"Design a new and better `{self.entry_point}`. {self._demand()}",
            ]
        )

    def improve(self, examples: Sequence[str]) -> str:
        """Ask for a better program than the examples, which come in ascending order of score."""
        return "\n\n".join([self.description, *self._shown(examples), self._request(len(examples))])

    def _shown(self, examples: Sequence[str]) -> list[str]:
        if len(examples) == 1:
            return ["Here is a program that solves the problem:", fenced(examples[0])]
        shown = [f"Here are {len(examples)} programs that solve the problem, from worse to better."]
        for number, source in enumerate(examples, 1):
            shown += [f"Program {number}:", fenced(source)]
        return shown

    def _request(self, count: int) -> str:
        last = "second" if count == 2 else "last"
        compared = "" if count == 1 else f"The {last} program is better than those before it. "
        aim = "it" if count == 1 else "all of them"
        return f"{compared}Write an improved `{self.entry_point}` that is better than {aim}. {self._demand()}"

    def _demand(self) -> str:
        return (
            "Keep its name, its arguments and the kind of its result. "
            "Answer with the complete program, imports included, in one fenced Python block and nothing else."
        )
