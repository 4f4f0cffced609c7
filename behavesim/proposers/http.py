"""Programs from an agent over HTTP: it posts a program to this machine's loopback address, and is told the score."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from behavesim.base.errors import ProposerError, UsageError
from behavesim.proposers.posted import LARGEST, PostedPrograms, PostedSettings, RunEnded, TooManyPosted
from behavesim.proposers.proposer import ProposerContext
from behavesim.state.events import Evaluated, Rejected

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler

# The file in the run's folder with `url` and `token`, while the run goes on; only its owner can read it.
ADDRESS = "http.json"
# The error that a request without the token gets, with status 401.
NO_TOKEN = f"send the header Authorization: Bearer TOKEN, with the token in {ADDRESS} of the run's folder"
# What can be asked for; anything else gets an error with status 404 or 405.
ROUTES = "POST /evaluate, GET /task and GET /status"
# Seconds at the end of a run in which answers about evaluated programs are still sent.
SHUTDOWN_S = 2.0


def write_address(folder: Path, url: str, token: str) -> Path:
    """Write the file ADDRESS into a run's folder, readable by its owner alone; return its path. Raises OSError."""
    file = folder / ADDRESS
    file.unlink(missing_ok=True)  # a file that is there already would keep its own mode
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        json.dump({"url": url, "token": token}, opened)
    return file


@contextmanager
def bind_loopback(port: int, purpose: str) -> Iterator[socket.socket]:
    """Yield a socket bound to a port of this machine alone; UsageError, which begins with `purpose`, if it is taken."""
    with socket.socket() as bound:
        # a server that just ended is no obstacle
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(f"{purpose} at port {port}: {error.strerror}; choose another") from None
        yield bound


def server_log() -> logging.Logger:
    """Return a log for aiohttp's server that leaves out requests that are no HTTP, such as those of https:// addresses.

    It would print a traceback for each, and anybody on the machine can send them.
    """
    from aiohttp.http_exceptions import HttpProcessingError  # imported late: help needs no server

    log = logging.Logger("behavesim.server")
    log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))
    return log


def has_token(header: str, token: str) -> bool:
    """Whether the header Authorization of a request has the token; it takes as long whatever it has."""
    return compare_digest(header.encode(errors="replace"), f"Bearer {token}".encode())


class HttpProposer(PostedPrograms):
    """Serves POST /evaluate, GET /task and GET /status; each posted program goes to the first waiting candidate.

    A program that was posted before with the same thought, also before a kill, is not evaluated again: its outcome is
    told once more.
    """

    def __init__(self, folder: Path, context: ProposerContext) -> None:
        """Create the proposer of the run in `folder` without listening; with port 0 the system chooses a free one."""
        super().__init__(folder, context)
        self._token = secrets.token_urlsafe(24)
        self._runner: web.AppRunner | None = None

    @classmethod
    def of(cls, settings: PostedSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run; `context.argument` is the port, "" or "0" for any free one.

        Raises UsageError if that is no port, or if there is no run's folder to leave the address in.
        """
        text = context.argument or "0"
        if not text.isdecimal() or int(text) > 65535:
            raise UsageError(f"http: takes a port from 0 to 65535 behind it, not {text!r}")
        return super().of(settings, context)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Answer waiting clients (503 if they have no outcome), stop listening, and delete the file ADDRESS."""
        await super().__aexit__(kind, error, trace)
        if self._runner is not None:
            (self.folder / ADDRESS).unlink(missing_ok=True)
            await self._runner.cleanup()

    async def open(self) -> None:
        """Begin to listen at 127.0.0.1; write the URL and the token into the file ADDRESS.

        Raises ProposerError if the port is taken or the address cannot be written.
        """
        from aiohttp import web  # a slow import, only for this proposer

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not has_token(request.headers.get("Authorization", ""), self._token):
                return _json({"error": NO_TOKEN}, 401)
            try:
                return await handler(request)
            except web.HTTPException as error:  # of aiohttp itself, which answers in plain text
                is_unknown = error.status in (404, 405)
                said = f"there is no {request.method} {request.path}, only {ROUTES}" if is_unknown else error.text
                return _json({"error": said}, error.status)

        app = web.Application(middlewares=[guarded], client_max_size=LARGEST)
        app.add_routes([web.post("/evaluate", self._evaluate), web.get("/task", self._task)])
        app.add_routes([web.get("/status", self._status)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S, logger=server_log())
        await runner.setup()
        port = int(self.context.argument or 0)
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            file = write_address(self.folder, url, self._token)
        except OSError as error:
            await runner.cleanup()
            raise ProposerError(f"cannot take programs at port {port}: {error.strerror or error}") from None
        self._runner = runner
        self.context.tell(f"programs are taken at {url}/evaluate; the token is in {file}")

    async def _task(self, request: web.Request) -> web.Response:
        task, objective = self.context.task, self.context.task.objective
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
        tried = [outcome for number, outcome in self.outcomes.items() if number >= 0]
        feasible = [outcome for outcome in tried if isinstance(outcome, Evaluated)]
        best = max(feasible, key=lambda each: self.context.task.objective.utility(each.score), default=None)
        return _json(
            {
                "run": self.folder.name,
                "evaluated": len(tried),
                "feasible": len(feasible),
                "budget": self.context.budget,
                "best": None if best is None else self._told(best),
            }
        )

    async def _evaluate(self, request: web.Request) -> web.Response:
        """Answer POST /evaluate: take a program, wait for its outcome and return it as a JSON object (see `_told`)."""
        try:
            body = await request.json()
        except (ValueError, RecursionError):  # no JSON, or nested too deep
            return _json({"error": 'send JSON such as {"program": "…"}'}, 400)
        program = body.get("program") if isinstance(body, dict) else None
        thought = body.get("thought", "") if isinstance(body, dict) else None
        if not isinstance(program, str) or not program.strip() or not isinstance(thought, str):
            return _json({"error": '"program" must be the text of a program, and "thought", if given, a text'}, 400)
        try:
            return _json(self._told(await self.evaluate(program, thought)))
        except TooManyPosted as error:
            return _json({"error": str(error)}, HTTPStatus.TOO_MANY_REQUESTS)
        except RunEnded as error:
            return _json({"error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)

    def _told(self, outcome: Evaluated | Rejected) -> dict[str, Any]:
        """Return an outcome with the keys of `behavesim evaluate --json`."""
        score = outcome.score if isinstance(outcome, Evaluated) else None
        why = {key: getattr(outcome, key, None) for key in ("stage", "reason", "message")}  # None if it is feasible
        return {
            "candidate": outcome.candidate,
            "status": "ok" if isinstance(outcome, Evaluated) else "rejected",
            **why,
            "score": score,
            "gap": None if score is None else self.context.task.objective.gap(score),
            "metrics": outcome.metrics,
            "feedback": outcome.feedback,
        }


def _json(document: dict[str, Any], status: int = HTTPStatus.OK) -> web.Response:
    from aiohttp import web  # a slow import, only for this proposer

    return web.json_response(document, status=status)
