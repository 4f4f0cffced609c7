"""The prompts of a run: the task and the programs, in the wording that the settings choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from behavesim.base.config import Settings
from behavesim.programs.fences import fenced
from behavesim.prompts.contract import contract
from behavesim.prompts.parting import PLACE, InWords, Parting, shown_in
from behavesim.prompts.shown import parts_of, prose, said_score
from behavesim.prompts.wording import PARTS, Wording
from behavesim.state.events import Asked, NoteAsked, Prompt, Rejected
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.task import Objective, Task, instances_of

HINT_SHOWN = 600
"""Longest hint that prompts show, in characters: 50 words were asked for, and some models write pages."""
REPLY_SHOWN = 4000
"""Longest part of a failed reply that a repair shows if no program could be read from it, in characters."""


@dataclass(frozen=True)
class Prompts:
    """Writes the prompts of a run."""

    wording: Wording
    task: Mapping[str, str]
    """The parts of a text that are about the task: description, contract, template (fenced) and entry_point."""
    objective: Objective
    in_words: InWords
    """Returns a decision on the search's instance of an index in words."""
    feedback: Literal["none", "scores", "behaviour"]
    """What prompts say of their programs beside the code, if the wording has a place for it."""
    times: bool
    """Whether prompts say with a program's score how much CPU time it took."""
    angles: bool
    """Whether first prompts take turns with the wording's angles, the ideas to begin from."""

    @classmethod
    def of_run(cls, settings: Settings, task: Task) -> Prompts:
        """Return the prompts of a run; raises UsageError if its wording cannot be loaded."""
        said = {
            "description": task.description,
            "contract": contract(task, settings.timeout_s, settings.memory_mb),
            "template": fenced(task.template),
            "entry_point": task.entry_point,
        }
        instances = instances_of(task, "search")

        def in_words(index: int, decision: int) -> str:
            return task.in_words(instances[index], decision)

        return cls(
            Wording.load(settings.prompts),
            said,
            task.objective_on("search"),
            in_words,
            feedback=settings.prompt_feedback,
            times=settings.prompt_times,
            angles=settings.prompt_angles,
        )

    def first(self, name: str, number: int, template: Member | None = None, operator: str = "") -> Prompt:
        """Return a prompt that shows the template alone.

        `number` is the candidate's; it chooses the angle. `template` is `RunState.template`, for its score.
        """
        # by the candidate's number: the same candidate gets the same angle in a resumed run
        known = self.wording.angles if self.angles else []
        score = "" if template is None or self.feedback == "none" else said_score(template, self.objective)
        parts = {"angle": known[number % len(known)] if known else "", "template_score": score}
        return self._prompt(name, parts, operator)

    def of(self, name: str, programs: Sequence[Member], **words: str) -> Prompt:
        """Return the prompt `name`, such as "improve" or "e1", that shows programs, given in ascending order of score.

        `words` are further parts of the text by their names.
        """
        says = self.feedback != "none"
        known = parts_of(programs, self.objective, scores=says, times=says and self.times)
        tells = self.feedback == "behaviour" and len(programs) > 1
        return self._prompt(name, {"behaviour": PLACE if tells else "", **known, **words})

    def completed(self, asked: Asked | NoteAsked, state: RunState) -> Asked | NoteAsked | Parting:
        """Return a question as it can be sent, or the measurement that its words on behaviour need first."""
        if PLACE not in asked.prompt.text:
            return asked
        worse, *_, better = (state.members[program].scores for program in shown_in(asked))
        # where scores differ most, behaviour says most about why
        gains = [abs(left - right) for left, right in zip(worse, better, strict=True)]
        order = sorted(range(len(gains)), key=lambda index: (-gains[index], index))
        return Parting(asked, tuple(order), self.in_words, tuple(state.members))

    def hinted(self, name: str, programs: Sequence[Member], hint: str) -> Prompt:
        """Return the prompt `name` that shows programs and a hint written by a model; "" for no hint."""
        said = prose(hint, HINT_SHOWN)
        return self.of(name, programs, hint=f"A hint: {said}" if said else "")

    def summary(self, name: str, before: str, hints: Sequence[str]) -> Prompt:
        """Return the prompt for a text that sums up the one `before` ("" for none) and the hints since."""
        # a model's words are shown as prose, or they could open a block that is read as a program
        known = f"What was learnt before: {prose(before, HINT_SHOWN)}" if before else "Nothing was learnt before."
        return self._prompt(
            name, {"known": known, "hints": "\n".join(f"- {prose(hint, HINT_SHOWN)}" for hint in hints)}
        )

    def repair(self, asked: Asked, reply: str, rejected: Rejected) -> Asked:
        """Return the question that asks a rejected candidate for again, with its reply and what went wrong."""
        parts = {
            "prompt": asked.prompt.text,
            "reply": fenced(rejected.source) if rejected.source else reply[:REPLY_SHOWN].strip(),
            "reason": rejected.reason,
            "message": rejected.message,
        }
        text = self.wording.text("repair", {**self._blank, **parts})
        return replace(asked, prompt=Prompt(text, "repair", asks_thought=True))

    @property
    def _blank(self) -> dict[str, str]:
        return {**dict.fromkeys(PARTS, ""), **self.task}

    def _prompt(self, name: str, parts: Mapping[str, str], operator: str = "") -> Prompt:
        text = self.wording.text(name, {**self._blank, **parts})
        return Prompt(text, operator or name, self.wording.asks_thought(name))
