"""A local chat server that answers every request with a new program after LATENCY_S seconds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import walks
from aiohttp import web

LATENCY_S = 0.05


@dataclass
class Server:
    """Answers chat completions at `url`; `arrived` and `sent` are the times of requests and replies (monotonic, s)."""

    url: str = ""
    arrived: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Return a chat completion with a new program: in a fenced block, or plain if the model is "plain"."""
        model = (await request.json())["model"]
        number = len(self.arrived)
        self.arrived.append(time.monotonic())
        await asyncio.sleep(LATENCY_S)
        code = walks.program(number)
        text = code if model == "plain" else f"```python\n{code}```\n"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 900, "completion_tokens": 120, "total_tokens": 1020}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": model}
        self.sent.append(time.monotonic())
        return web.json_response({**answer, "choices": [choice], "usage": usage})

    async def begin(self) -> None:
        """Listen on a free port of 127.0.0.1, and set `url`."""
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


@contextmanager
def serving() -> Iterator[Server]:
    """Yield a server that answers in a thread of this process; it is in no process tree that is measured."""
    server, loop = Server(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.begin(), loop).result()
    yield server
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
