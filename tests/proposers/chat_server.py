"""A real HTTP server that speaks chat completions, and misbehaves as told.

By hand: `python tests/proposers/chat_server.py --port 8800 --latency 0.2 --faults 0.2`, then
`OPENAI_BASE_URL=http://127.0.0.1:8800/v1 behavesim run tsp --proposer openai`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from behavesim.base.clock import world_s
from behavesim.proposers.retry import RetryLimits


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; `number` counts from 0 in the order of arrival, over all that came."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Answer:
    """What to send back: a status and a body, after a while; `cut` bytes only, or nothing but a reset connection."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: int | None = None
    reset: bool = False

    def after(self, seconds: float) -> Answer:
        return replace(self, delay_s=seconds)

    def with_headers(self, **headers: str) -> Answer:
        new = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **new})


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


def document(body: object) -> Answer:
    return Answer(body=json.dumps(body).encode())


def says(content: object, finish_reason: str | None = "stop", usage: object = USAGE, **message: object) -> Answer:
    """An ordinary completion."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    return document({"id": "c", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage})


RESPONSE_USAGE = {
    "input_tokens": 100,
    "output_tokens": 50,
    "total_tokens": 150,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens_details": {"reasoning_tokens": 10},
}


def responds(*output: Mapping[str, object], status: str = "completed", **more: object) -> Answer:
    """An answer of the Responses API with these items."""
    return document(
        {"id": "r", "object": "response", "status": status, "error": None, "output": output, "usage": RESPONSE_USAGE}
        | more
    )


def message(text: str, **part: object) -> dict[str, object]:
    """The item of such an answer that holds the model's text."""
    content = [{"type": "output_text", "text": text, "annotations": [], **part}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def by_responses_alone(*answers: Answer) -> Behaviour:
    """A model that chat completions refuse as OpenAI does; the Responses API gives the answers, the last again."""
    left = list(answers)

    def behave(asked: Asked) -> Answer:
        if asked.path.endswith("/responses"):
            return left.pop(0) if len(left) > 1 else left[0]
        text = "This model is only supported in v1/responses and not in v1/chat/completions."
        return fails(404, text, param="model")

    return behave


def fails(status: int, text: str = "no", code: str | None = None, param: str | None = None) -> Answer:
    """An error in OpenAI's form."""
    error = {"message": text, "type": "error", "code": code, "param": param}
    return replace(document({"error": error}), status=status)


def lists(**models: str | None) -> Answer:
    """The models of an endpoint in OpenAI's form, each with the day on which it is shut down; `_` stands for `-`."""
    listed = [
        {"id": name.replace("_", "-"), "object": "model", "created": 1, "owned_by": "us", "shutdown_date": day}
        for name, day in models.items()
    ]
    return document({"object": "list", "data": listed})


def no_choices() -> Answer:
    return document({"id": "c", "object": "chat.completion", "choices": [], "usage": USAGE})


def null_content() -> Answer:
    return says(None)


def invalid_json() -> Answer:
    return Answer(body=b'{"choices": [{"message": ')


def web_page(status: int = 200, title: str = "Welcome to nginx!") -> Answer:
    page = f"<!DOCTYPE html><html><head><style>h1 {{}}</style><title>{title}</title></head></html>"
    return Answer(status, page.encode()).with_headers(Content_Type="text/html; charset=utf-8")


def event_stream() -> Answer:
    return Answer(body=b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n\n').with_headers(
        Content_Type="text/event-stream"
    )


def bomb(megabytes: int, status: int = 200) -> Answer:
    """A completion of so many megabytes in a thousandth of them."""
    compressor = zlib.compressobj(wbits=31)
    pieces = [b'{"choices": [{"message": {"content": "', *[b"a" * 2**20] * megabytes, b'"}}]}']
    body = b"".join([*map(compressor.compress, pieces), compressor.flush()])
    return Answer(status, body).with_headers(Content_Encoding="gzip")


def cut_off() -> Answer:
    return replace(says("text " * 400), cut=100)


def reset() -> Answer:
    return Answer(reset=True)


def stall(seconds: float) -> Answer:
    return says("too late").after(seconds)


Behaviour = Callable[[Asked], Answer]


def echo(asked: Asked) -> Answer:
    """A reply to this very prompt, so that a test can tell whose reply is whose."""
    return says(f"reply to {asked.prompt}")


def script(*answers: Answer | Behaviour, then: Answer | Behaviour = echo) -> Behaviour:
    """The answers one after another, whoever asks; afterwards the last."""

    def behave(asked: Asked) -> Answer:
        answer = answers[asked.number] if asked.number < len(answers) else then
        return answer if isinstance(answer, Answer) else answer(asked)

    return behave


UNTIRING = RetryLimits(request_s=10.0, backoff_s=0.005, attempts=100, empty=30)
"""Of a client that no number of faults drawn by `faulty` makes give up a prompt."""


def passing_faults() -> list[Answer]:
    """Every way to fail for once."""
    return [
        fails(429, "slow down"),
        fails(429, "slow down").with_headers(Retry_After="0.01"),
        fails(500),
        fails(503, "overloaded"),
        reset(),
        cut_off(),
        invalid_json(),
        no_choices(),
        null_content(),
        stall(5.0),
    ]


def faulty(share: float, seed: int = 0, faults: list[Answer] | None = None, then: Behaviour = echo) -> Behaviour:
    """A fault for a share of the requests, drawn by their number; a stalled one is answered properly, but late."""
    kinds = faults or passing_faults()

    def behave(asked: Asked) -> Answer:
        rng = random.Random(f"{seed}/{asked.number}")
        if rng.random() >= share:
            return then(asked)
        fault = rng.choice(kinds)
        return then(asked).after(fault.delay_s) if fault.delay_s else fault

    return behave


class ChatServer:
    """The server; `behaviour` decides on each request, `models` on those for its list, and all are kept in `asked`.

    `handed_over` has, for each request answered in whole, when the last byte was given to the operating system, in
    seconds of `time.monotonic`. Nothing is answered while `answering` is cleared. `delayed` counts the requests whose
    answer takes a while.
    """

    def __init__(self, behaviour: Behaviour = echo) -> None:
        self.behaviour = behaviour
        self.answering = asyncio.Event()
        self.answering.set()
        self.delayed = 0
        self.models: Behaviour = lambda asked: lists(m=None) if asked.path == "/v1/models" else fails(404)
        self.asked: list[Asked] = []
        self.handed_over: dict[int, float] = {}
        self.in_flight = 0
        self.most_in_flight = 0
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def start(self, port: int = 0) -> None:
        application = web.Application()
        application.router.add_post("/{path:.*}", self._handle)
        application.router.add_get("/{path:.*}", self._handle)
        application.router.add_delete("/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            body = await request.json() if request.can_read_body else {}
            asked = Asked(len(self.asked), request.path, dict(request.headers), body)
            self.asked.append(asked)
            return await self._send(request, asked.number, (self.behaviour if body else self.models)(asked))
        finally:
            self.in_flight -= 1

    async def _send(self, request: web.Request, number: int, answer: Answer) -> web.StreamResponse:
        self.delayed += answer.delay_s > 0
        await asyncio.sleep(answer.delay_s)
        await self.answering.wait()
        headers = {"Content-Type": "application/json", **answer.headers}
        if not answer.reset and answer.cut is None:
            whole = web.Response(status=answer.status, body=answer.body, headers=headers)
            with suppress(ConnectionError):  # whoever asked is gone
                await whole.prepare(request)
                await whole.write_eof()
                self.handed_over[number] = time.monotonic()
            return whole
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_length = len(answer.body) + 1000
        if answer.cut is not None:
            await response.prepare(request)
            await response.write(answer.body[: answer.cut])
        assert request.transport is not None
        request.transport.abort() if answer.reset else request.transport.close()
        return response


class Hurried:
    """The time outside, of which eleven seconds more pass within a dozen looks whenever an answer takes a while."""

    def __init__(self, server: ChatServer) -> None:
        self._server, self._ahead_s = server, 0.0

    def __call__(self) -> float:
        self._ahead_s = min(self._ahead_s + 0.95, 11.0 * self._server.delayed)
        return world_s() + self._ahead_s


def improving(asked: Asked) -> Answer:
    """The last program of the prompt with one number changed, a function of the prompt: what a run can evaluate."""
    return says(improved(asked.prompt, random.Random(asked.prompt)))


def improved(prompt: str, rng: random.Random) -> str:
    """The text of such a reply."""
    programs = re.findall(r"```python\n(.*?)\n```", prompt, re.DOTALL)
    return f"Here is one.\n\n```python\n{_with_another_number(programs[-1] if programs else '', rng)}\n```"


def _with_another_number(source: str, rng: random.Random) -> str:
    numbers = list(re.finditer(r"(?<![\w.\[])\d+(?:\.\d+)?(?![\w.\]])", source))
    if not numbers:
        return f"{source}\n# {rng.random():.6f}"
    place = rng.choice(numbers)
    number = place[0]
    other = f"{float(number) * rng.uniform(0.5, 2.0):.4f}" if "." in number else str(rng.randrange(2 * int(number) + 3))
    return f"{source[: place.start()]}{other}{source[place.end() :]}"


def slow(behaviour: Behaviour, latency_s: float) -> Behaviour:
    def behave(asked: Asked) -> Answer:
        answer = behaviour(asked)
        return answer.after(max(latency_s, answer.delay_s))

    return behave


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A chat-completions server that answers with varied programs.")
    parser.add_argument("--port", type=int, default=8800)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--faults", type=float, default=0.0, help="the share of requests that fail, 0 to 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reply", help="a file with the one reply to give, instead of varied programs")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    then: Behaviour = improving
    if arguments.reply:
        then = script(then=says(Path(arguments.reply).read_text(encoding="utf-8")))
    behaviour = slow(faulty(arguments.faults, arguments.seed, then=then), arguments.latency)
    server = ChatServer(behaviour)
    await server.start(arguments.port)
    print(f"OPENAI_BASE_URL={server.url}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(_arguments()))
