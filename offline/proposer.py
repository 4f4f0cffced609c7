"""The offline proposer: it takes the place of a model, reads the same prompts and answers in the same form."""

from __future__ import annotations

from typing import Self

import numpy as np

from behavesim.prompts.shown import programs_to_vary
from behavesim.proposers.proposer import ProgramWriter, Proposer, ProposerContext, ProposerSettings
from behavesim.state.events import Prompt, Reply
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask

from .breeding import Breeder, Habit
from .grammar import suits
from .mutator import Mutator

# The name of the model in replies.
MODEL = "genetic"


def changes_text(task: Task) -> bool:
    """Whether a task's programs are written by changing the text of earlier ones, not from a grammar.

    That holds for tasks with an evaluator, and for those without a grammar whose function returns what
    `generic_grammar` cannot write.
    """
    if isinstance(task, EvaluatorTask):
        return True
    return not task.grammar and not suits(task.template, task.entry_point)


class GeneticSettings(ProposerSettings):
    """The settings of the offline proposer."""

    genetic_habit: Habit = "none"
    """Make the offline proposer more like a model: `timid` mostly changes only a program's text, not its behaviour;
    `biased` prefers the first rule of each type; `none` does neither. No effect on tasks whose programs are changed in
    place."""


class GeneticProposer(Proposer[GeneticSettings]):
    """Writes programs offline, by genetic programming, without a model.

    It varies the examples of a prompt: the programs in its fenced blocks, the best one last, and not the best of the
    run that stands beside them: it reads no code to compare with. The reply depends only on
    the prompt, the seed and the candidate's number. The proposer sees no scores and keeps nothing between prompts. It
    builds programs from the task's grammar, or from the template's parameters if the task has none; see `changes_text`
    for programs that are changed in place. Do not compare its results with a model's: the building blocks contain
    expert knowledge.
    """

    settings_type = GeneticSettings
    costs_money = False
    is_pure = True
    writes_text = False

    def __init__(self, task: Task, seed: int, habit: Habit = "none") -> None:
        self._seed = seed
        self._writer = self.grammar_writer(task, habit) or self.text_writer(task)

    @classmethod
    def of(cls, settings: GeneticSettings, context: ProposerContext) -> Self:
        """Return the offline proposer of a run; raises TaskError if the task's grammar is not valid."""
        return cls(context.task, context.seed, settings.genetic_habit)

    @staticmethod
    def grammar_writer(task: Task, habit: Habit = "none") -> ProgramWriter | None:
        """Return what breeds programs of the task's grammar; None if their text is changed instead."""
        return None if changes_text(task) else Breeder(task, habit)

    @staticmethod
    def text_writer(task: Task) -> ProgramWriter:
        """Return what changes the text of programs."""
        return Mutator(task)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return a reply with a sentence and one program; `number` is the candidate's, and seeds the draws."""
        random = np.random.default_rng([self._seed, number])
        thought, program = self._writer.write(prompt.operator, programs_to_vary(prompt.text), random)
        opening = f"{{{thought}}}" if prompt.asks_thought else thought
        return Reply(f"{opening}\n\n{program}\n", MODEL)
