"""Programs from an agent over HTTP: it posts a program to this machine's loopback address, and is told the score."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
from collections import deque
from dataclasses import replace
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from behavesim.base.errors import JournalError, ProposerError, UsageError
from behavesim.base.text import storable
from behavesim.programs.answer import add_fence
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.state.events import Evaluated, Prompt, Rejected, Reply, Responded
from behavesim.store.reading import read_events

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler

# The model's name in the journal: who really answers is unknown.
MODEL = "http"
# The file in the run's folder with `url` and `token`, while the run goes on; only its owner can read it.
ADDRESS = "http.json"
# Most bytes of a request's body: a program with its JSON. A larger one is answered with status 413.
LARGEST = 2**20
# Most posted programs that wait for a candidate; one more is refused with status 429, to be posted again later.
MOST_WAITING = 64
# Seconds between two looks into the journal for outcomes; nothing else tells a proposer of them.
LOOK_S = 0.1
# The error that a request without the token gets, with status 401.
NO_TOKEN = f"send the header Authorization: Bearer TOKEN, with the token in {ADDRESS} of the run's folder"
# What can be asked for; anything else gets an error with status 404 or 405.
ROUTES = "POST /evaluate, GET /task and GET /status"
# Seconds at the end of a run in which answers about evaluated programs are still sent.
SHUTDOWN_S = 2.0


class HttpSettings(ProposerSettings):
    """The settings of the HTTP proposer; it has none of its own."""

    counted_as = MODEL
    keeps_requests = True


class HttpProposer(Proposer[HttpSettings]):
    """Serves POST /evaluate, GET /task and GET /status; each posted program goes to the first waiting candidate.

    A program that was posted before with the same thought, also before a kill, is not evaluated again: its outcome is
    told once more.
    """

    settings_type = HttpSettings
    costs_money = False  # to this run: no prompt is sent, and what the agent takes is unknown
    writes_text = False

    def __init__(self, port: int, folder: Path, context: ProposerContext) -> None:
        """Create the proposer of the run in `folder` without listening; with port 0 the system chooses a free one."""
        self._port, self._folder, self._context = port, folder, context
        self._token = secrets.token_urlsafe(24)
        self._waiting: dict[int, asyncio.Future[str]] = {}  # candidates that no program was posted for
        self._posted: deque[str] = deque()  # replies that no candidate waits for yet
        self._numbers: dict[bytes, int] = {}  # candidates by the hash of their reply
        self._outcomes: dict[int, Evaluated | Rejected] = {}  # without programs, which would fill the memory
        self._read = 0
        self._complaint = ""
        self._news = asyncio.Event()  # set when outcomes are known, and then replaced by a new one
        self._has_ended = False
        self._opening = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, settings: HttpSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run; `context.argument` is the port, "" or "0" for any free one.

        Raises UsageError if that is no port, or if there is no run's folder to leave the address in.
        """
        text = context.argument or "0"
        if not text.isdecimal() or int(text) > 65535:
            raise UsageError(f"http: takes a port from 0 to 65535 behind it, not {text!r}")
        if context.folder is None:
            raise UsageError("the proposer http serves a run, which needs a folder")
        return cls(int(text), context.folder, context)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Answer waiting clients (503 if they have no outcome), stop listening, and delete the file ADDRESS."""
        if self._runner is None or self._looking is None:
            return
        self._looking.cancel()
        await asyncio.wait([self._looking])
        await self._try_to_follow()
        self._has_ended = True
        self._news.set()
        (self._folder / ADDRESS).unlink(missing_ok=True)
        await self._runner.cleanup()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Wait as long as it takes for a program, and return it in a fenced block, after its thought, as the reply.

        The first call begins to listen. Raises ProposerError if the port is taken or the address cannot be written.
        """
        async with self._opening:
            if self._runner is None:
                await self._listen()
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._assign()
        assert self._looking is not None, "it has been begun with listening"
        try:
            await asyncio.wait([waiting, self._looking], return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                self._looking.result()  # raises what ended it: agents would wait for their outcomes without end
            return Reply(waiting.result(), MODEL)
        finally:
            self._waiting.pop(number, None)

    async def _listen(self) -> None:
        """Begin to listen at 127.0.0.1 and to follow the journal; write the URL and the token into the file ADDRESS."""
        from aiohttp import web  # a slow import, only for this proposer

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not self._has_token(request):
                return _json({"error": NO_TOKEN}, 401)
            try:
                return await handler(request)
            except web.HTTPException as error:  # of aiohttp itself, which answers in plain text
                is_unknown = error.status in (404, 405)
                said = f"there is no {request.method} {request.path}, only {ROUTES}" if is_unknown else error.text
                return _json({"error": said}, error.status)

        await self._follow()
        app = web.Application(middlewares=[guarded], client_max_size=LARGEST)
        app.add_routes([web.post("/evaluate", self._evaluate), web.get("/task", self._task)])
        app.add_routes([web.get("/status", self._status)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        file = self._folder / ADDRESS
        try:
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            file.unlink(missing_ok=True)  # a file that is there already would keep its own mode
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
                json.dump({"url": url, "token": self._token}, opened)
        except OSError as error:
            await runner.cleanup()
            raise ProposerError(f"cannot take programs at port {self._port}: {error.strerror or error}") from None
        self._runner, self._looking = runner, asyncio.create_task(self._look())
        self._context.tell(f"programs are taken at {url}/evaluate; the token is in {file}")

    def _assign(self) -> None:
        """Give the posted programs to the waiting candidates, the first posted to the smallest number."""
        for number in sorted(self._waiting):
            waiting = self._waiting[number]
            if self._posted and not waiting.done():
                text = self._posted.popleft()
                self._numbers[_hash_of(text)] = number
                self._outcomes.pop(number, None)  # that of the program which this one repairs
                waiting.set_result(text)

    async def _look(self) -> None:
        while True:
            await self._try_to_follow()
            await asyncio.sleep(LOOK_S)

    async def _try_to_follow(self) -> None:
        """Read the journal's new events; if that fails, as while another program locks it, say so once."""
        try:
            await self._follow()
            self._complaint = ""
        except JournalError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                self._context.tell(f"agents wait for their outcomes, as the journal cannot be read now: {error}")

    async def _follow(self) -> None:
        """Read the journal's new events; if there are any, wake the requests that wait for an outcome."""
        found, self._read = await asyncio.to_thread(_news, self._folder / "run.db", self._read)
        for each in found:
            if isinstance(each, Evaluated | Rejected):
                self._outcomes[each.candidate] = each
            else:
                text, candidate = each
                self._numbers[text] = candidate
        if found:
            self._news.set()
            self._news = asyncio.Event()

    def _has_token(self, request: web.Request) -> bool:
        given = request.headers.get("Authorization", "")
        return compare_digest(given.encode(errors="replace"), f"Bearer {self._token}".encode())

    async def _task(self, request: web.Request) -> web.Response:
        task, objective = self._context.task, self._context.task.objective
        return _json(
            {
                "task": task.name,
                "description": task.description,
                "entry_point": task.entry_point,
                "template": task.template,
                "direction": objective.direction,
                "best_known": objective.best_known,
                "unit": objective.unit,
            }
        )

    async def _status(self, request: web.Request) -> web.Response:
        tried = [outcome for number, outcome in self._outcomes.items() if number >= 0]
        feasible = [outcome for outcome in tried if isinstance(outcome, Evaluated)]
        best = max(feasible, key=lambda each: self._context.task.objective.utility(each.score), default=None)
        return _json(
            {
                "run": self._folder.name,
                "evaluated": len(tried),
                "feasible": len(feasible),
                "budget": self._context.budget,
                "best": None if best is None else self._told(best),
            }
        )

    async def _evaluate(self, request: web.Request) -> web.Response:
        """Answer POST /evaluate: take a program, wait for its outcome and return it as a JSON object (see `_told`)."""
        try:
            body = await request.json()
        except ValueError:
            return _json({"error": 'send JSON such as {"program": "…"}'}, 400)
        program = body.get("program") if isinstance(body, dict) else None
        thought = body.get("thought", "") if isinstance(body, dict) else None
        if not isinstance(program, str) or not program.strip() or not isinstance(thought, str):
            return _json({"error": '"program" must be the text of a program, and "thought", if given, a text'}, 400)
        # as it will be stored, so that the same program is known again after a resume
        text = storable("\n\n".join(filter(None, (thought.strip(), add_fence(program)))))
        name = _hash_of(text)
        if name not in self._numbers and text not in self._posted:
            if len(self._posted) >= MOST_WAITING:
                return _json({"error": f"{MOST_WAITING} programs wait already; post this one later"}, 429)
            self._posted.append(text)
            self._assign()
        while True:
            outcome = self._outcomes.get(self._numbers.get(name, -1))  # -1, the template, before a candidate has it
            if outcome is not None and outcome.candidate >= 0:
                return _json(self._told(outcome))
            if self._has_ended:
                return _json({"error": "the run has stopped; resume it, and post the program again"}, 503)
            await self._news.wait()

    def _told(self, outcome: Evaluated | Rejected) -> dict[str, Any]:
        """Return an outcome with the keys of `behavesim evaluate --json`."""
        score = outcome.score if isinstance(outcome, Evaluated) else None
        why = {key: getattr(outcome, key, None) for key in ("stage", "reason", "message")}  # None if it is feasible
        return {
            "candidate": outcome.candidate,
            "status": "ok" if isinstance(outcome, Evaluated) else "rejected",
            **why,
            "score": score,
            "gap": None if score is None else self._context.task.objective.gap(score),
            "metrics": outcome.metrics,
            "feedback": outcome.feedback,
        }


def _hash_of(text: str) -> bytes:
    """Return the hash by which a reply is known again: all texts of a long run would take 100 MB."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _news(path: Path, after: int) -> tuple[list[tuple[bytes, int] | Evaluated | Rejected], int]:
    """Return replies, by hash and candidate, and outcomes after event number `after`, and the last event's number."""
    found: list[tuple[bytes, int] | Evaluated | Rejected] = []
    for seq, _, event in read_events(path, after=after, only=(Responded, Evaluated, Rejected)):
        after = seq
        match event:
            case Responded(candidate, reply):
                found.append((_hash_of(reply.text), candidate))
            case Evaluated():
                found.append(replace(event, source="", thought="", scores=(), trajectories=()))
            case Rejected():
                found.append(replace(event, source="", thought=""))
    return found, after


def _json(document: dict[str, Any], status: int = HTTPStatus.OK) -> web.Response:
    from aiohttp import web  # a slow import, only for this proposer

    return web.json_response(document, status=status)
