"""Asks prompts in batches: sends those of a window together, waits for the end of the batch, and reads its replies."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from behavesim.base.text import count_noun, one_line
from behavesim.proposers.openai_answers import answer
from behavesim.proposers.openai_endpoint import URL_IN_BATCH, Endpoint
from behavesim.proposers.openai_settings import RequestBuilder, Terms
from behavesim.proposers.prices import BATCH
from behavesim.proposers.retry import VERSION, Completion, Fault, PromptAttempts, RetryPolicy, backoff_s
from behavesim.state.events import BatchSent, Reply
from behavesim.state.requests import Batches

# Seconds until prompts are sent again that the endpoint refused because it holds too many.
FULL_S = 60.0
# Seconds at the end of a session in which files of batches are still deleted.
DELETION_S = 5.0
# A prompt is given up once this many batches of this session have ended without a reply to it.
MOST_BATCHES = 3
# The endpoint's words for a batch that does nothing more.
ENDED = ("completed", "failed", "expired", "cancelled")

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Question:
    """A prompt whose reply the search waits for: `reply` gets it once a batch has brought it."""

    tries: PromptAttempts
    number: int  # of the candidate, or, for a note, -2 and below
    prompt: str
    reply: asyncio.Future[Reply]


class BatchSender:
    """Collects prompts until the search waits for nothing else, then sends those of each model as one batch.

    Prompts that a batch of an earlier session holds wait for that batch. A kill at any moment pays nothing twice: a
    batch's name is in the journal before it is sent, and its id before a reply is waited for. A batch whose id the
    journal lacks is looked for by its name in the endpoint's list.
    """

    def __init__(
        self, endpoint: Endpoint, policy: RetryPolicy, builder: RequestBuilder, batches: Batches, poll_s: float
    ) -> None:
        """`poll_s` is the first pause in seconds between two looks at a batch; it doubles, up to a minute."""
        self._endpoint, self._policy, self._builder = endpoint, policy, builder
        self._batches, self._poll_s = batches, poll_s
        self._open: set[_Question] = set()  # those whose reply is not there yet
        self._gathered: list[_Question] = []  # those of them that no batch holds
        self._sending: set[asyncio.Task[None]] = set()
        self._read: list[tuple[set[int], list[str]]] = []  # prompts whose replies are not committed, and their files
        self._deleting: set[asyncio.Task[None]] = set()
        self._has_replied = False
        batches.when_gathered = self._send_gathered
        batches.when_answered = self._delete_read

    async def aclose(self) -> None:
        """Stop waiting for batches; those that were sent go on at the endpoint. Wait up to DELETION_S for deletions."""
        if self._deleting:
            await asyncio.wait(self._deleting, timeout=DELETION_S)
        for task in (*self._sending, *self._deleting):
            task.cancel()
        await asyncio.gather(*self._sending, *self._deleting, return_exceptions=True)

    async def reply(self, tries: PromptAttempts, prompt: str) -> Reply:
        """Return the reply to a prompt from the batch that holds it; its text is "" if the prompt was given up.

        Raises ProposerError if asking again would not help any prompt, or if nothing was answered for too long.
        """
        assert tries.number is not None
        question = _Question(tries, tries.number, prompt, asyncio.get_running_loop().create_future())
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
        """Send the gathered prompts once the search waits for nothing but replies that are asked for here."""
        # `expected` is 0 while the search has something else to do, which may bring further prompts
        if self._gathered and len(self._open) == self._batches.expected:
            gathered, self._gathered = self._gathered, []
            for _, questions in groupby(sorted(gathered, key=self._place), key=self._place):
                self._start(list(questions))

    def _place(self, question: _Question) -> tuple[str, str]:
        """Return the name of the earlier session's batch that holds a prompt ("" if none does), and the model."""
        earlier = self._batches.earlier.get(question.number)
        return earlier.name if earlier else "", question.tries.model  # a batch takes one model

    def _start(self, questions: list[_Question]) -> None:
        """Send questions of one model as a batch, or wait for the earlier batch that holds all of them."""
        earlier, *_ = [self._batches.earlier.pop(question.number, None) for question in questions]
        task = asyncio.create_task(self._carry_out(earlier, questions))
        self._sending.add(task)
        task.add_done_callback(lambda ended: self._pass_on_error(ended, questions))

    def _pass_on_error(self, task: asyncio.Task[None], questions: Sequence[_Question]) -> None:
        """If a batch's task ended with an error, raise the error in each `reply` that waits for the batch."""
        self._sending.discard(task)
        error = None if task.cancelled() else task.exception()
        for question in questions:
            if error is not None and not question.reply.done():
                question.reply.set_exception(error)
                # the waiting may be cancelled before it sees the error, and asyncio warns of errors that nobody saw
                question.reply.exception()

    def _delete_read(self, number: int) -> None:
        """Delete the files of each batch whose prompts all have a reply in the journal; this is that of `number`."""
        # Not earlier: a reply that was read and not committed yet would be lost in a kill, though it was paid for.
        for batch in self._read:
            batch[0].discard(number)
        for numbers, files in self._read:
            for file in files if not numbers else ():
                task = asyncio.create_task(self._delete(file))
                self._deleting.add(task)
                task.add_done_callback(self._deleting.discard)
        self._read = [batch for batch in self._read if batch[0]]

    async def _delete(self, file: str) -> None:
        if (fault := await self._endpoint.delete(file)) is not None:
            self._policy.note_once_a_minute(
                "file kept", f"file {file} of a batch stays at the endpoint: {fault.message}"
            )

    async def _carry_out(self, batch: BatchSent | None, questions: Sequence[_Question]) -> None:
        """Send a new batch, or take up `batch` of an earlier session, and settle each question by its result."""
        is_earlier = batch is not None
        if batch is not None and not batch.id:
            batch = replace(batch, id=await self._find_batch(batch.name))
            if batch.id:
                await self._batches.commit(batch)
        if batch is None or not batch.id:
            batch = await self._send_batch(questions)
        else:
            self._policy.note(f"batch {batch.id} is taken up; it holds {count_noun(len(questions), 'prompt')}")
        found = await self._results(batch.id, {question.number: question for question in questions})
        # replies first: a fault may end the run
        for question in sorted(questions, key=lambda each: isinstance(found[each.number], Fault)):
            pause_s = self._settle(question, found[question.number], is_earlier)
        # the last pause serves all: faults of one batch mostly have one cause
        if again := [question for question in questions if not question.reply.done()]:
            await asyncio.sleep(pause_s)
            self._gather(*again)

    async def _send_batch(self, questions: Sequence[_Question]) -> BatchSent:
        """Send a batch and return it; its name is in the journal before it is sent, its id before this returns."""
        batch = BatchSent(secrets.token_hex(8), tuple(question.number for question in questions))
        await self._batches.commit(batch)
        lines = [
            {"custom_id": str(each.number), "method": "POST", "url": URL_IN_BATCH, "body": self._body(each)}
            for each in questions
        ]
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        name, endpoint = batch.name, self._endpoint
        file = await self._ask_until_answered(lambda: endpoint.upload(name, content))
        # if the answer is lost, the batch may have been made all the same, and must not be made and paid for twice
        made = await self._ask_until_answered(
            lambda: endpoint.make_batch(name, file), look=lambda: self._find_batch(name)
        )
        batch = replace(batch, id=made)
        await self._batches.commit(batch)
        self._policy.note(
            f"batch {batch.id} holds {count_noun(len(questions), 'prompt')}; the endpoint may take up to 24 hours, "
            "and goes on if this process ends: resume takes the batch up"
        )
        return batch

    def _body(self, question: _Question) -> Mapping[str, Any]:
        return self._builder.body(question.tries.model, question.prompt, question.number)

    async def _ask_until_answered(
        self, send: Callable[[], Awaitable[T | Fault]], look: Callable[[], Awaitable[T]] | None = None
    ) -> T:
        """Return the answer to a request about files or batches, which is sent again until it has one."""
        # after each fault `look` may find out that the request did its work: what it returns, unless empty, is the
        # answer
        tries = self._policy.begin()
        while isinstance(found := await self._policy.once(send), Fault):
            if not (found.remedy == VERSION and self._endpoint.add_version()):
                if found.remedy == VERSION or found.action == "give up":
                    advice = "if the endpoint has no batches, or this one is gone, go on with --set batch=false"
                    found = replace(found, action="stop", message=f"{found.message}; {advice}")
                await asyncio.sleep(self._policy.after_fault(tries, found) or 0.0)
            if look is not None and (earlier := await look()):
                return earlier
        return found

    async def _find_batch(self, name: str) -> str:
        return await self._ask_until_answered(lambda: self._endpoint.find_batch(name))

    async def _results(self, batch: str, questions: Mapping[int, _Question]) -> dict[int, Completion | Fault]:
        """Wait for the end of a batch; return the reply or fault of each question, by number."""
        clean, looks = self._endpoint.secrets.clean, 0
        while (ended := await self._ask_until_answered(lambda: self._endpoint.batch(batch))).get("status") not in ENDED:
            looks += 1
            await asyncio.sleep(backoff_s(looks, self._poll_s, jitter=1.0))
        kinds = ("error_file_id", "output_file_id", "input_file_id")
        files = {kind: file for kind in kinds if isinstance(file := ended.get(kind), str) and file}
        self._read.append((set(questions), list(files.values())))
        if ended["status"] == "failed":
            return dict.fromkeys(questions, _failure(ended, clean))

        def terms(number: int) -> Terms:
            return self._builder.terms(self._body(questions[number])) if number in questions else Terms()

        missing = Fault("ask again", f"batch {batch} ended ({ended['status']}) without an answer to this prompt")
        found: dict[int, Completion | Fault] = dict.fromkeys(questions, missing)
        for kind in kinds[:2]:
            if kind in files:
                content = await self._ask_until_answered(partial(self._endpoint.content, files[kind]))
                found |= _results_in(content, terms, clean)
        return found

    def _settle(self, question: _Question, result: Completion | Fault, is_earlier: bool) -> float:
        """End the waiting for a prompt's reply, or return the seconds to wait before another batch asks for it."""
        # a fault in a batch of an earlier session stops nothing: its cause may be mended by now
        tries = question.tries
        tries.bill(result)
        if isinstance(result, Completion):
            self._has_replied = True
            self._set_reply(question, result)
            return 0.0
        if is_earlier:
            return 0.0  # the prompt is asked for in a new batch, with what is known now
        if result.remedy:
            if self._builder.refuse(tries.model, result.remedy):
                self._policy.note(f"{tries.model} is asked without {result.remedy!r} from now on")
            result = result.mended()
        if result.action == "give up" and result.is_setup and not self._has_replied:
            result = replace(result, action="stop")
        pause = self._policy.after_fault(tries, result)
        if result.action == "slow down":
            return FULL_S
        tries.batches += 1
        if pause is None or tries.batches >= MOST_BATCHES:
            self._set_reply(question, result)
        return pause or 0.0

    def _set_reply(self, question: _Question, result: Completion | Fault) -> None:
        self._open.discard(question)
        if not question.reply.done():
            question.reply.set_result(question.tries.reply(result))


def _results_in(
    content: bytes, terms: Callable[[int], Terms], clean: Callable[[str], str]
) -> Iterator[tuple[int, Completion | Fault]]:
    """Yield each result in a file of an ended batch, with the prompt's number; lines of another form are left out."""
    for text in content.splitlines():
        try:
            line = json.loads(text.decode("utf-8", "replace"))
            number, response = int(line["custom_id"]), line.get("response")
            if response:
                status, body = int(response["status_code"]), json.dumps(response.get("body")).encode()
            else:
                why = line["error"]["message"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # JSON of any other form
            continue
        if response:
            yield number, _at_batch_price(answer(status, {}, body, terms(number), clean))
        else:
            yield number, Fault("ask again", f"the batch left a prompt undone: {one_line(clean(str(why)), 300)}")


def _failure(batch: Mapping[str, Any], clean: Callable[[str], str]) -> Fault:
    """Return the fault of a batch that the endpoint refused as a whole, from the first of the errors it lists."""
    errors = batch.get("errors")
    listed = errors.get("data") if isinstance(errors, Mapping) else None
    error = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], Mapping) else {}
    if error.get("code") == "token_limit_exceeded":
        said = one_line(clean(str(error.get("message") or "")), 300)
        return Fault("slow down", f"the endpoint takes no further batch until others have ended: {said}")
    meant = answer(400, {}, json.dumps({"error": dict(error) or "no reason given"}).encode(), Terms(), clean)
    message = meant.message if isinstance(meant, Fault) else "its filter refuses it"
    return Fault("stop", f"the endpoint refuses the batch: {message}")


def _at_batch_price(found: Completion | Fault) -> Completion | Fault:
    """Return a result of a batch with BATCH as its service tier, so that it has the price of batches."""
    # After a demand to slow down, or where the address seems to be wrong, its prompt goes into the next batch.
    if isinstance(found, Completion):
        return replace(found, usage=replace(found.usage, tier=BATCH))
    found = replace(found, usage=found.usage and replace(found.usage, tier=BATCH))
    if found.action in ("slow down", "ask again") or found.remedy == VERSION:
        return replace(found, action="ask again", is_setup=False, remedy="")
    return found
