"""Asks prompts in batches: sends those of a window together, waits for the end of the batch, and reads its replies."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from behavesim.base.text import counted
from behavesim.proposers.openai_answers import Completion
from behavesim.proposers.openai_batch_calls import BatchCalls
from behavesim.proposers.openai_batch_file import failure, results, written
from behavesim.proposers.openai_dialect import Dialect
from behavesim.proposers.patience import Fault, Perseverance, PromptTries
from behavesim.state.batches import Batches
from behavesim.state.events import BatchSent, Reply

FULL_S = 60.0
"""Seconds until prompts are sent again that the endpoint refused because it holds too many."""

MOST_BATCHES = 3
"""A prompt is given up after so many batches that ended without a reply to it."""


@dataclass(frozen=True, eq=False)
class _Question:
    """A prompt whose reply somebody waits for."""

    tries: PromptTries
    model: str
    prompt: str
    reply: asyncio.Future[Reply]

    @property
    def number(self) -> int:
        """The number of the candidate, or that of a note as `note_number` gives it."""
        return self.tries.number


class BatchSender:
    """Collects prompts until the search waits for nothing else, then sends those of each model as one batch.

    Prompts that a batch of an earlier session holds wait for that batch. A kill at any moment pays nothing twice: a
    batch's name is in the journal before it is sent, and its id before a reply is waited for. A batch whose id the
    journal lacks is looked for by its name in the endpoint's list.
    """

    def __init__(
        self,
        calls: BatchCalls,
        persevering: Perseverance,
        dialect: Dialect,
        batches: Batches,
        clean: Callable[[str], str],
    ) -> None:
        """`clean` removes secrets from what the endpoint writes."""
        self._calls, self._persevering, self._dialect = calls, persevering, dialect
        self._batches, self._clean = batches, clean
        self._open: set[_Question] = set()  # those whose reply is not there yet
        self._gathered: list[_Question] = []  # those of them that no batch holds
        self._sending: set[asyncio.Task[None]] = set()
        self._has_replied = False
        batches.when_gathered(self._send_gathered)

    async def aclose(self) -> None:
        """Wait for no batch any more; those that were sent go on at the endpoint."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def reply(self, tries: PromptTries, model: str, prompt: str) -> Reply:
        """Return the reply to a prompt from the batch that it is asked in; raises ProposerError as `propose` does."""
        question = _Question(tries, model, prompt, asyncio.get_running_loop().create_future())
        self._open.add(question)
        self._gather(question)
        try:
            return await question.reply
        finally:
            self._open.discard(question)

    def _gather(self, *questions: _Question) -> None:
        self._gathered += questions
        self._send_gathered()

    def _send_gathered(self) -> None:
        """Send what was gathered, once all prompts are open whose replies the search waits for."""
        if self._gathered and len(self._open) == self._batches.expected:
            gathered, self._gathered = self._gathered, []
            for batch, questions in groupby(sorted(gathered, key=self._place), key=self._place):
                self._start(batch, list(questions))

    def _place(self, question: _Question) -> tuple[str, str]:
        """Return the name of the earlier batch that holds a prompt, "" if none does, and the model."""
        earlier = self._batches.earlier.get(question.number)
        return earlier.name if earlier else "", question.model  # a batch takes one model

    def _start(self, place: tuple[str, str], questions: list[_Question]) -> None:
        earlier = self._batches.earlier[questions[0].number] if place[0] else None
        for question in questions:
            self._batches.earlier.pop(question.number, None)
        task = asyncio.create_task(self._carry_out(earlier, questions))
        self._sending.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, questions))

    def _ended(self, task: asyncio.Task[None], questions: Sequence[_Question]) -> None:
        """Raise what ended a batch's task where its replies are waited for."""
        self._sending.discard(task)
        error = None if task.cancelled() else task.exception()
        for question in questions:
            if error is not None and not question.reply.done():
                question.reply.set_exception(error)
                question.reply.exception()  # whoever waits may be cancelled before it sees this

    async def _carry_out(self, batch: BatchSent | None, questions: Sequence[_Question]) -> None:
        """Send a new batch, or take up one of an earlier session, and settle each question by what it brings."""
        is_earlier = batch is not None
        if batch is not None and not batch.id:
            batch = replace(batch, id=await self._calls.found(batch.name))
            if batch.id:
                await self._batches.commit(batch)
        if batch is None or not batch.id:
            batch = await self._sent(questions)
        else:
            self._persevering.note(f"batch {batch.id} is taken up; it holds {counted(len(questions), 'prompt')}")
        found = await self._results(batch.id, {question.number: question for question in questions})
        # replies first: a fault may end the run
        for question in sorted(questions, key=lambda each: isinstance(found[each.number], Fault)):
            pause_s = self._settle(question, found[question.number], is_earlier)
        if again := [question for question in questions if not question.reply.done()]:
            await asyncio.sleep(pause_s)
            self._gather(*again)

    async def _sent(self, questions: Sequence[_Question]) -> BatchSent:
        """Send a batch, whose name is committed before and whose id is committed after; return it."""
        batch = BatchSent(secrets.token_hex(8), tuple(question.number for question in questions))
        await self._batches.commit(batch)
        bodies = {each.number: self._dialect.body(each.model, each.prompt, each.number) for each in questions}
        file = await self._calls.uploaded(batch.name, written(bodies))
        batch = replace(batch, id=await self._calls.created(file, batch.name))
        await self._batches.commit(batch)
        self._persevering.note(
            f"batch {batch.id} holds {counted(len(questions), 'prompt')}; the endpoint may take up to 24 hours, "
            "and goes on if this process ends: resume takes the batch up"
        )
        return batch

    async def _results(self, batch: str, questions: Mapping[int, _Question]) -> dict[int, Completion | Fault]:
        """Wait for the end of a batch; return what it brought to each question, by number."""
        ended, clean = await self._calls.ended(batch), self._clean
        if ended["status"] == "failed":
            return dict.fromkeys(questions, failure(ended, clean))

        def optional(number: int) -> Collection[str]:
            question = questions.get(number)
            return self._optional(question) if question else ()

        missing = Fault("passing", f"batch {batch} ended ({ended['status']}) without an answer to this prompt")
        found: dict[int, Completion | Fault] = dict.fromkeys(questions, missing)
        for kind in ("error_file_id", "output_file_id"):
            if isinstance(file := ended.get(kind), str) and file:
                found |= results(await self._calls.content(file), optional, clean)
        return found

    def _optional(self, question: _Question) -> Collection[str]:
        return self._dialect.optional(self._dialect.body(question.model, question.prompt, question.number))

    def _settle(self, question: _Question, result: Completion | Fault, is_earlier: bool) -> float:
        """Take a prompt's result: its reply is there, or given up, or else asked again after the seconds returned.

        Raises ProposerError if the fault ends the run. A fault in a batch of an earlier session ends nothing: its cause
        may be mended by now.
        """
        tries = question.tries
        if result.usage is not None:
            tries.calls.append(result.usage.with_estimates(self._dialect.sent(question.prompt), ""))
        if isinstance(result, Completion):
            self._has_replied = True
            self._answer(question, tries.reply(result.text, question.model, result.finish_reason))
            return 0.0
        if is_earlier:
            return 0.0
        if result.meaning == "request" and not self._has_replied:
            result = replace(result, meaning="fatal")
        if result.meaning == "parameter" and self._dialect.refuse(question.model, result.parameter):
            self._persevering.note(f"{question.model} is asked without {result.parameter!r} from now on")
        pause = self._persevering.after_fault(tries, result)
        if result.meaning == "limited":
            return FULL_S
        tries.batches += 1
        if pause is None or tries.batches >= MOST_BATCHES:
            message = self._clean(result.message)
            self._answer(question, tries.reply("", question.model, "given_up", message))
        return pause or 0.0

    def _answer(self, question: _Question, reply: Reply) -> None:
        self._open.discard(question)
        if not question.reply.done():
            question.reply.set_result(reply)
