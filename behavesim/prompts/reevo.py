"""What ReEvo asks: programs, and reflections on what made some of them better (Ye et al. 2024, appendix on prompts)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.programs.fences import fenced

SHORT_WORDS, LONG_WORDS = 20, 50
"""How long a hint is asked to be."""
SHOWN = 600
"""Characters of a hint that are shown again, however long it came."""


@dataclass(frozen=True)
class ReEvoPrompts:
    """The prompts of one task; programs come from worse to better, hints in prose."""

    description: str
    template_source: str
    entry_point: str

    def first(self) -> str:
        """Ask for a program of the initial population; the template is what is known so far."""
        return "\n\n".join(
            [
                self.description,
                "This program solves the problem, and shows the function's form:",
                fenced(self.template_source),
                "Write a program that solves it in another and better way.",
                self._demand(),
            ]
        )

    def reflect(self, worse: str, better: str) -> str:
        """Short-term reflection: ask for a hint from the difference of two programs."""
        return "\n\n".join(
            [
                self.description,
                *self._pair(worse, better),
                f"What makes the second program better? Answer in less than {SHORT_WORDS} words of prose, as a hint on "
                "how to write better programs, and without code.",
            ]
        )

    def summarise(self, before: str, hints: Sequence[str]) -> str:
        """Long-term reflection: ask for one hint from that of before and those of this generation."""
        known = f"What was learnt before: {_prose(before)}" if before else "Nothing was learnt before."
        return "\n\n".join(
            [
                self.description,
                known,
                "What was learnt since:",
                "\n".join(f"- {_prose(hint)}" for hint in hints),
                f"Sum this up in less than {LONG_WORDS} words of prose, as advice to who writes the next programs, and "
                "without code.",
            ]
        )

    def cross(self, worse: str, better: str, hint: str) -> str:
        """Crossover: ask for a child of two programs, with the hint that their difference gave."""
        return "\n\n".join(
            [
                self.description,
                *self._pair(worse, better),
                *_advice(hint),
                "Write a program that takes what is good in both and goes beyond them.",
                self._demand(),
            ]
        )

    def mutate(self, elite: str, hint: str) -> str:
        """Elitist mutation: ask for a variation of the best program, with what was learnt so far."""
        return "\n\n".join(
            [
                self.description,
                "This is the best program so far:",
                fenced(elite),
                *_advice(hint),
                "Write a variation of it that is better.",
                self._demand(),
            ]
        )

    def _pair(self, worse: str, better: str) -> list[str]:
        return ["This program solves the problem:", fenced(worse), "This one solves it better:", fenced(better)]

    def _demand(self) -> str:
        return (
            f"Keep the name `{self.entry_point}`, its arguments and the kind of its result. Answer with the complete "
            "program, imports included, in one fenced Python block and nothing else."
        )


def _advice(hint: str) -> list[str]:
    return [f"A hint: {_prose(hint)}"] if hint.strip() else []


def _prose(text: str) -> str:
    """A hint on one line, unable to open a block."""
    return " ".join(text[:SHOWN].replace("`", "'").split())
