"""The prompts of a run: what its task and its settings say, in the wording that was chosen."""

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
"""Characters of a hint that are shown again, however long it came."""
REPLY_SHOWN = 4000
"""Characters of a failed reply that are shown again where no program could be taken from it."""


@dataclass(frozen=True)
class Prompts:
    """Words every prompt of a task in the same way."""

    wording: Wording
    task: Mapping[str, str]
    """What every prompt may say of the task: its description, contract, template (fenced) and entry_point."""
    objective: Objective
    in_words: InWords
    """What a decision on the search's instance of an index means."""
    feedback: Literal["none", "scores", "behaviour"]
    """What is said of the programs that are shown, where the wording has a place for it."""
    times: bool
    """Whether what programs took of the time limit is said with their scores."""
    angles: bool
    """Whether first prompts differ in the place they begin from."""

    @classmethod
    def of_run(cls, settings: Settings, task: Task) -> Prompts:
        """The prompts of a run; raises UsageError where the wording cannot be had."""
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
        """A prompt that shows the template alone; `number` is the candidate, by which angles take turns.

        `template` is the program as the archive knows it (`RunState.template`), for its score.
        """
        known = self.wording.angles if self.angles else []
        score = "" if template is None or self.feedback == "none" else said_score(template, self.objective)
        parts = {"angle": known[number % len(known)] if known else "", "template_score": score}
        return self._prompt(name, parts, operator)

    def of(self, name: str, programs: Sequence[Member], **words: str) -> Prompt:
        """A prompt that shows programs in ascending order of score; `name` says what is asked, as "improve" or "e1".

        `words` are further parts of the text by their names.
        """
        says = self.feedback != "none"
        known = parts_of(programs, self.objective, scores=says, times=says and self.times)
        tells = self.feedback == "behaviour" and len(programs) > 1
        return self._prompt(name, {"behaviour": PLACE if tells else "", **known, **words})

    def completed(self, asked: Asked | NoteAsked, state: RunState) -> Asked | NoteAsked | Parting:
        """A question as it is sent: where its prompt has a place for behaviour, that is to be found first."""
        if PLACE not in asked.prompt.text:
            return asked
        worse, *_, better = (state.members[program].scores for program in shown_in(asked))
        gains = [abs(left - right) for left, right in zip(worse, better, strict=True)]
        order = sorted(range(len(gains)), key=lambda index: (-gains[index], index))
        return Parting(asked, tuple(order), self.in_words, tuple(state.members))

    def hinted(self, name: str, programs: Sequence[Member], hint: str) -> Prompt:
        """The same, with a hint that a model gave."""
        said = prose(hint, HINT_SHOWN)
        return self.of(name, programs, hint=f"A hint: {said}" if said else "")

    def summary(self, name: str, before: str, hints: Sequence[str]) -> Prompt:
        """A prompt for one text from that of before and what was said since."""
        known = f"What was learnt before: {prose(before, HINT_SHOWN)}" if before else "Nothing was learnt before."
        return self._prompt(
            name, {"known": known, "hints": "\n".join(f"- {prose(hint, HINT_SHOWN)}" for hint in hints)}
        )

    def repair(self, asked: Asked, reply: str, rejected: Rejected) -> Asked:
        """The question that gives a rejected candidate another try: the same once more, with what went wrong."""
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
