"""The prompts of a run: the task and the programs, in the wording that the settings choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.tokens import estimate_tokens
from behavesim.programs.answer import add_fence
from behavesim.programs.functions import without_docstrings
from behavesim.prompts.behaviour_diff import behaviour_in_words
from behavesim.prompts.feedback import (
    FEEDBACK_SHOWN,
    OTHERS_FEEDBACK,
    feedback_in_words,
    prose,
    quote_lines,
    sendable,
    what_became,
    with_advice,
)
from behavesim.prompts.shown import (
    Code,
    attempts_in_words,
    compare_by_instance,
    describe_run,
    describe_score_and_metrics,
    failures_in_words,
    goal_in_words,
    groups_in_words,
    ideas_in_words,
    leader_beside,
    leader_in_words,
    parts_of,
)
from behavesim.prompts.wording import PARTS, AnswerFormat, Wording, contract, surroundings_in_words
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Asked, NoteAsked, Prompt, Rejected
from behavesim.state.members import Member, Note
from behavesim.state.state import RunState, text_hash
from behavesim.task import InWords, Objective, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask

# Most characters of a hint that prompts show: 50 words were asked for, and some models write pages.
HINT_SHOWN = 600
# Characters of a failed reply, from its start, that a repair shows if no program could be read from it.
REPLY_SHOWN = 4000
# Operators that ask what holds a program back. Of one as good as the best known, the text `reached` asks another thing.
FINDS_FAULTS = frozenset({"improve", "m1", "ls", "mutation"})
# What every prompt can do without, the least important first.
FIRST_LEFT_OUT: tuple[Shorter, ...] = (("angle", {"angle": ""}), ("hint", {"hint": ""}))
# Shares of a program's lines that are kept, tried in this order, if everything else is left out already.
KEPT_SHARES = (1 / 2, 1 / 4, 1 / 8)


@dataclass(frozen=True)
class Prompts:
    """Writes the prompts of a run; programs are given to it worst first."""

    wording: Wording
    # The parts of a text that are equal in all prompts of a run, by their names in `wording.PARTS`.
    task: Mapping[str, str]
    objective: Objective
    # Puts the task's instances and decisions into words.
    in_words: InWords
    # The run's settings; `prompt_feedback`, `prompt_times` and `prompt_angles` say what prompts hold.
    settings: Settings
    # How programs are shown and asked for.
    answering: AnswerFormat
    # The template, whose long docstrings the contract gives once for all programs; "" if programs keep theirs.
    documented: str = ""
    # Whether the best programs are tried on instances that no program has seen, when the search has ended.
    is_tried_unseen: bool = False
    # Whether who answers reads words, as a model does, and not the programs in fenced blocks alone.
    is_read: bool = False

    @classmethod
    def of_run(cls, settings: Settings, task: Task, is_read: bool = False) -> Prompts:
        """Return the prompts of a run; TaskError if the task's instances cannot be made.

        `is_read` is whether who answers reads words, as a model does, and not the programs in fenced blocks alone.
        Raises UsageError if the wording cannot be loaded, or if a first prompt does not fit `prompt_tokens`.
        """
        answering = AnswerFormat.of(task)
        says = settings.prompt_feedback != "none"
        # a wording of one's own may leave the contract out, and then no docstring is to spare
        documented = task.template if settings.prompts == "full" else ""
        said = {
            **{each: placeholder(each) if says else "" for each in DEFERRED},
            "description": sendable(task.description),
            "about": " ".join(sendable(task.description).strip().split("\n\n")[0].split()),
            "contract": _contract(settings, task),
            "template": add_fence(sendable(without_docstrings(task.template, documented)), answering.label),
            "entry_point": task.entry_point,
            "form": answering.form,
            "angle": placeholder(ANGLE) if settings.prompt_angles and settings.prompts != "paper" else "",
            "base": "the program above",  # of first prompts; the others say it themselves
            "files": answering.files,
        }
        wording = Wording.load(settings.prompts, answering.variant)
        objective = task.objective_on("search")
        unseen = settings.recommend and len(instances_of(task, "validation")) > 0
        prompts = cls(wording, said, objective, InWords(task), settings, answering, documented, unseen, is_read)
        prompts._refuse_too_few_tokens()
        return prompts

    @property
    def _limit_s(self) -> float:
        """The limit on CPU time (s), beside which prompts show programs' times; 0 if they show none."""
        shows = self.settings.prompt_times and self.settings.prompt_feedback != "none"
        return self.settings.timeout_s if shows else 0.0

    @property
    def _code(self) -> Code:
        """How programs are shown."""
        # lines of several files say nothing without the names of these
        return Code(self.answering.label, self.documented, self.is_read and self.answering.label != "")

    def showing_template(self, name: str, number: int, template: Member | None = None, operator: str = "") -> Prompt:
        """Return the prompt `name`, such as "initial", that shows the template and no other program.

        `number` is the candidate's. `template` is the evaluated one, whose score and metrics are shown; None leaves
        these out. `operator` is recorded with the prompt; "" means `name`.
        """
        # an angle is an idea to begin from, by the candidate's number: a resumed run gives it the same one
        angle = self.wording.first_angle(number) if self.settings.prompt_angles else ""
        feedback = self.settings.prompt_feedback
        score = "" if template is None or feedback == "none" else describe_score_and_metrics(template, self.objective)
        parts = {"angle": angle, "template_score": score}
        if template is not None and feedback != "none" and (said := feedback_in_words(template, OTHERS_FEEDBACK)):
            parts["template"] = "\n\n".join([self.task["template"], *said])
        return self._prompt(name, parts, operator)

    def showing_programs(self, name: str, programs: Sequence[Member], **words: str) -> Prompt:
        """Return the prompt `name`, such as "improve" or "e1", that shows these programs, worst first.

        `words` are further parts of the text by their names in `wording.PARTS`.
        """
        says = self.settings.prompt_feedback != "none"
        known = dict(parts_of(programs, self.objective, says, self._limit_s, self._code, self.is_tried_unseen))
        if says:
            del known["goal"]  # the run's own goal is filled in when the prompt is sent
        parts = {"spread": compare_by_instance(programs, self.objective) if says else "", **known, **words}
        text = self._text_name(name, programs)
        return self._prompt(text, parts, operator=name, shorter=self._shorter(programs) if programs else ())

    def _text_name(self, operator: str, programs: Sequence[Member]) -> str:
        """Return the name of the text of an operator that shows these programs: "reached" in place of some."""
        says = self.settings.prompt_feedback != "none" and "reached" in self.wording.texts
        is_reached = says and operator in FINDS_FAULTS and bool(programs)
        return "reached" if is_reached and self.objective.is_reached(programs[-1].score) else operator

    def complete(self, asked: Asked | NoteAsked, state: RunState, behaviours: Behaviours) -> Asked | NoteAsked:
        """Return a request as it can be sent: with what follows from the run's state and from behaviours.

        A request for a program ends with the advice in force. Raises TaskError as `InWords` does.
        """
        programs = asked.parents if isinstance(asked, Asked) else asked.about
        members = [state.members[each] for each in programs if each in state.members]
        has_leader = has_placeholder(asked.prompt.text, "leader")
        told = {
            "leader": lambda: (
                leader_in_words(state, members, self._limit_s, self._code, self.is_tried_unseen) if members else ""
            ),
            "run": lambda: describe_run(state, members, self.in_words, has_leader),
            "failures": lambda: failures_in_words(state, programs),
            "goal": lambda: goal_in_words(state),
            "surroundings": lambda: surroundings_in_words(self.in_words.task, state.template),
        }
        if self.settings.prompt_feedback != "behaviour" or not state.tried.ran:
            # a first prompt shows the template alone and has no place for the best program: its idea is all it can tell
            others = members if has_leader else [each for each in members if each.candidate != TEMPLATE]
            told |= {"tried": lambda: ideas_in_words(state, others, asked.prompt.operator), "behaviour": str}
        elif not members:
            told |= {"behaviour": str}
        prompt = fill_within_budget(asked.prompt, told, self.settings.prompt_tokens)
        if isinstance(asked, Asked):
            prompt = replace(prompt, text=with_advice(prompt.text, state, asked.candidate))
        # last, and within the tokens that the rest leaves: these words are the first that a prompt can do without
        scores = tuple(each.scores for each in members)
        # also where no text has $tried: until it is called, all trajectories are held
        groups = behaviours.behaviour_groups()
        told = {
            "tried": lambda: groups_in_words(groups, attempts_in_words(state, members, asked.prompt.operator)),
            "behaviour": lambda: behaviour_in_words(
                programs, scores, state.tried.best_scores, self.objective, self.in_words, behaviours
            ),
        }
        prompt = fill_within_budget(prompt, told, self.settings.prompt_tokens)
        # where the best program beside them cannot be beaten, there is no fault to begin from
        leader = leader_beside(state, members) if has_leader and members else None
        shown = members if leader is None else [*members, leader]
        return replace(asked, prompt=self._at_an_angle(prompt, self._text_name(prompt.operator, shown), asked, state))

    def _at_an_angle(self, prompt: Prompt, text: str, asked: Asked | NoteAsked, state: RunState) -> Prompt:
        """Return a prompt with an angle in its place, the first with which it equals no earlier prompt of the run."""
        if not has_placeholder(prompt.text, ANGLE) or isinstance(asked, NoteAsked):
            return fill_within_budget(prompt, {ANGLE: str}, None)
        for angle in self.wording.later_angles(text, asked.candidate + self.settings.seed, len(asked.parents)):
            angled = fill_within_budget(prompt, {ANGLE: partial(str, angle)}, self.settings.prompt_tokens)
            # one that has no room for an angle stays as it is
            if text_hash(angled.text) not in state.asked_texts or LEFT_OUT[ANGLE] in angled.left_out:
                return angled
        raise AssertionError("there is no end of angles")

    def hinted(self, name: str, programs: Sequence[Member], hint: str) -> Prompt:
        """Return the prompt `name` that shows programs and a model's hint, which is cut; "" is left out."""
        said = prose(hint, HINT_SHOWN)
        return self.showing_programs(name, programs, hint=f"A hint: {said}" if said else "")

    def summary(self, name: str, before: str, hints: Sequence[Note]) -> Prompt:
        """Return the prompt `name` for a text that sums up the text `before` ("" for none) and the notes since."""
        # the paper's prompts say nothing of what became of a hint
        says = self.settings.prompt_feedback != "none" and self.settings.prompts != "paper"
        # a model's words are shown as prose, or they could open a block that is read as a program
        known = f"What was learnt before: {prose(before, HINT_SHOWN)}" if before else "Nothing was learnt before."
        listed = "\n".join(f"- {prose(hint.text, HINT_SHOWN)}{what_became(hint) if says else ''}" for hint in hints)
        fewer = [("older hints", {"hints": "\n".join(listed.splitlines()[-kept:])}) for kept in (8, 4, 2, 1)]
        return self._prompt(name, {"known": known, "hints": listed}, shorter=fewer)

    def repair(self, asked: Asked, reply: str, rejected: Rejected) -> Asked:
        """Return a request for a rejected candidate once more, with the reason, the message and its program."""
        told = (
            ""
            if self.settings.prompt_feedback == "none"
            else quote_lines(rejected.feedback, FEEDBACK_SHOWN, is_end=True)
        )
        parts = {
            "prompt": asked.prompt.text,
            "reply": self._code.whole(rejected.source) if rejected.source else reply[:REPLY_SHOWN].strip(),
            "reason": rejected.reason,
            "message": f"{rejected.message}\n\n{told}" if told else rejected.message,
        }
        shorter: list[Shorter] = [("feedback", {"message": rejected.message})]
        if self.answering.variant != "diff":  # edits apply to a program of the first prompt
            answer = self.wording.text("answer", {**dict.fromkeys(PARTS, ""), **self.task})
            shorter.append(("first prompt", {"prompt": f"{self.task['about']}\n\n{answer}"}))
        shown = rejected.source or reply[:REPLY_SHOWN].strip()
        for share in KEPT_SHARES:  # last of all: the model is to mend what it wrote
            shorter.append(
                ("end of the answer", {"reply": add_fence(cut_to_tokens(shown, share), self.answering.label)})
            )
        prompt = self._prompt("repair", parts, shorter=shorter)
        return replace(asked, prompt=replace(prompt, asks_thought=True, model=asked.prompt.model))

    def _prompt(
        self, name: str, parts: Mapping[str, str], operator: str = "", shorter: Iterable[Shorter] = ()
    ) -> Prompt:
        """Return the prompt with the text `name` and these parts; other parts are blank. `operator` "" means `name`."""
        # If it would exceed `prompt_tokens`, parts are left out: those that any prompt can spare, then those of
        # `shorter`, then parts of the task. It may still be too long.
        known = {**dict.fromkeys(PARTS, ""), **self.task, **_without_placeholders(parts)}
        less = ((what, _without_placeholders(fewer)) for what, fewer in shorter)  # made only where the text is too long
        least = chain(FIRST_LEFT_OUT, less, self._shorter_task())
        text, left_out = fit_to_budget(
            lambda known: self.wording.text(name, known), known, least, self.settings.prompt_tokens
        )
        return Prompt(text, operator or name, self.wording.asks_thought(name), left_out)

    def _shorter(self, programs: Sequence[Member]) -> Iterator[Shorter]:
        """Yield what to leave out about programs: scores, times and feedback, all but the best, most of its code."""
        for behind in range(len(programs)):
            what = f"program {behind} of {len(programs)}" if behind else "scores"
            yield what, parts_of(programs[behind:], self.objective, scores=False, code=self._code)
        yield from self._shorter_task()  # before the best program is cut: code says more than rules
        for share in KEPT_SHARES:
            best = replace(programs[-1], source=cut_to_tokens(programs[-1].source, share), thought="")
            yield "end of the program", parts_of([best], self.objective, scores=False, code=self._code)

    def _shorter_task(self) -> tuple[Shorter, ...]:
        """Return what to leave out about the task: its rules, then all but the first paragraph of its description."""
        interface, rules, _ = self.task["contract"].partition("Rules:\n")
        contract = {"contract": interface.strip()} if rules else {}
        return ("rules", contract), ("most of the description", {"description": self.task["about"]})

    def _refuse_too_few_tokens(self) -> None:
        """Raise UsageError if a first prompt exceeds `prompt_tokens` even after all is left out that can be."""
        for name in ("template", "i1", "initial"):
            shortest = self.showing_template(name, 0).text
            if not fits(shortest, self.settings.prompt_tokens):
                needed = estimate_tokens(shortest)
                raise UsageError(f"prompt_tokens should be at least {needed}: the shortest first prompt takes as many")


def _contract(settings: Settings, task: Task) -> str:
    """Return a task's contract, for an evaluator with the place for what its first evaluation taught."""
    is_deferred = isinstance(task, EvaluatorTask) and settings.prompt_feedback != "none"
    said = sendable(contract(task, settings.timeout_s, settings.memory_mb, says_imports=not is_deferred))
    if settings.tune:
        comment = "# tune: 0.1 to 3" if task.suffix == ".py" else "tune: 0.1 to 3"
        said += (
            "\n- The machine tunes the numbers afterwards: invent the mechanism, and do not guess digits. "
            f"A comment such as `{comment}` gives the number of its line a range."
        )
    return f"{said}{placeholder('surroundings')}" if is_deferred else said


def _without_placeholders(parts: Mapping[str, str]) -> dict[str, str]:
    """Return parts without control characters: a model's or a person's text may hold a place, a program never."""
    return {part: sendable(text) for part, text in parts.items()}


# A prompt has placeholders for what is filled in when it is sent, and is fitted to a budget of tokens.


# The parts of a text that follow from the run's state or behaviours, by their names in `wording.PARTS`.
DEFERRED = ("surroundings", "leader", "run", "tried", "failures", "behaviour", "goal")
# The part that tells prompts with equal programs apart, filled in last.
ANGLE = "angle"
# Words for each part of DEFERRED that was left out of a prompt; the part that is left out first comes first.
LEFT_OUT = {
    "angle": "angle",
    "tried": "ideas tried",
    "failures": "recent failures",
    "behaviour": "behaviour",
    "leader": "the best program",
    "run": "the run so far",
}


def placeholder(name: str) -> str:
    """Return the mark for the part of this name in a text: the name between null characters, which no program has."""
    return f"\0{name}\0"


def has_placeholder(text: str, *names: str) -> bool:
    """Whether a text has a place for at least one of these parts."""
    return any(placeholder(name) in text for name in names)


def fill_placeholders(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with each part in its place, by name; a paragraph that is only an empty part is left out."""
    for name, part in parts.items():
        said, here = sendable(part), placeholder(name)
        if not said:
            alone = f"\n\n{here}"
            text = text.replace(f"{alone}\n\n", "\n\n").removeprefix(f"{here}\n\n").removesuffix(alone)
        text = text.replace(here, said)
    return text


def without_placeholders(text: str) -> str:
    """Return a prompt's text without its places for DEFERRED: it then says nothing of the run."""
    return fill_placeholders(text, {**dict.fromkeys((*DEFERRED, ANGLE), ""), "goal": "better"})


def fill_within_budget(prompt: Prompt, parts: Mapping[str, Callable[[], str]], tokens: int | None) -> Prompt:
    """Return a prompt with parts in their places, as many as fit a budget of tokens; None allows any length."""
    # `parts` are functions, since some take long: those without a place in the text are not called. What LEFT_OUT names
    # first is left out first. A prompt that is too long even without all of them is returned so.
    said = {name: part() for name, part in parts.items() if has_placeholder(prompt.text, name)}
    shorter = [(what, {name: ""}) for name, what in LEFT_OUT.items() if name in said]
    text, left_out = fit_to_budget(lambda known: fill_placeholders(prompt.text, known), said, shorter, tokens)
    return replace(prompt, text=text, left_out=(*prompt.left_out, *left_out))


# The parts of a prompt's text by their names in `wording.PARTS`.
Parts = Mapping[str, str]
# What is left out, in words, and the parts (by name) that take the place of longer ones.
Shorter = tuple[str, Parts]


def fit_to_budget(
    write: Callable[[Parts], str], parts: Parts, shorter: Iterable[Shorter], tokens: int | None
) -> tuple[str, tuple[str, ...]]:
    """Return the text that `write` makes of parts, and in words what was left out of it to fit a budget of tokens."""
    # `shorter`, the least important first, is read only until the text fits. What does not shorten the text is not
    # named. The text may still be too long at the end.
    text, left_out = write(parts), list[str]()
    for what, less in shorter if tokens is not None else ():
        if fits(text, tokens):
            break
        parts = {**parts, **less}
        if len(shortened := write(parts)) < len(text):
            text = shortened
            left_out.append(what)
    return text, tuple(dict.fromkeys(left_out))


def fits(text: str, tokens: int | None) -> bool:
    """Whether a prompt fits a budget of tokens, by the estimate of `estimate_tokens`; None allows any length."""
    return tokens is None or estimate_tokens(text) <= tokens


def cut_to_tokens(source: str, share: float) -> str:
    """Return the first lines of a program, a `share` (0 to 1) rounded down, at least one, and "…" as the last line."""
    lines = source.splitlines()
    return "\n".join([*lines[: max(1, int(share * len(lines)))], "…"])
