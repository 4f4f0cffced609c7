"""The web server: its pages, and the rules on who may request them."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from hmac import compare_digest
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

from aiohttp import web

from behavesim.application.serve.served_runs import ServedRuns, Snapshot
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.base.text import printable
from behavesim.proposers.http import server_log
from behavesim.reports.page.html import ASK_AGAIN_S, html, runs_page, waiting_page

T = TypeVar("T")

# Seconds between two questions of an open page whether its run has changed; a hidden tab asks nothing.
POLL_S = 2.0
# Number of threads that read runs: the other pages wait only if so many slow pages are being made.
READERS = 4
# Seconds that a request waits for what is being read; then it gets a page that says so and asks again by itself.
WAIT_S = 10.0
# Seconds that a request for the list of runs waits; then it gets those that were read by then.
LIST_WAIT_S = 2.0
# Largest number of connections at once; further ones are closed immediately. It bounds memory and descriptors.
CONNECTIONS = 256
# Seconds after its start at which a connection is closed, or as soon as the answer under way is sent; so many seconds
# later it is cut off, whatever its client has not read by then.
LIFE_S = 60.0
# Most bytes of an address: that of a comparison names the runs, and somebody may have marked hundreds.
LONGEST_ADDRESS = 2**17
# Seconds that the server, when it shuts down, waits for pages that are being made.
SHUTDOWN_S = 1.0

# Headers of every response: they forbid the page to load or send anything elsewhere, and to be framed or cached.
HEADERS = {
    # The page of a run allows only its own scripts, by a policy of its own; this policy holds for all pages.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

# What a request gets that does not come by the printed address (status 403).
NOT_THIS_ADDRESS = "Open the exact address that `behavesim serve` printed, with its token if it has one.\n"

# Function that answers a request.
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """Whether a host is "localhost" or a loopback address, which only this machine can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def serve(folder: Path, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve the runs of a folder at a host and port until cancelled; with port 0, the system chooses a free port.

    `announce` is called once with the URL of the list of runs. If `host` is not a loopback address, the URL holds a
    secret token, and nothing is served without it. Raises UsageError if the server cannot listen there.
    """
    site = _Site(folder, host)
    async with site.listening(port) as address:
        announce(address)
        await asyncio.Event().wait()  # which nobody sets: until it is cancelled


class _Site:
    """The pages of a folder's runs."""

    def __init__(self, folder: Path, host: str) -> None:
        self._host = host
        self._token = "" if is_loopback(host) else secrets.token_urlsafe(24)
        self._root = f"/{self._token}/" if self._token else "/"
        self._runs = ServedRuns(folder, self._root)
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._comparing = ThreadPoolExecutor(1, "comparing")  # a comparison is slow, and must not delay pages
        self._under_way: dict[str, asyncio.Future[Any]] = {}  # readings by key: equal requests share one
        self._pages: WeakKeyDictionary[Snapshot, bytes] = WeakKeyDictionary()  # kept as long as their snapshots
        self._answering: set[web.RequestHandler] = set()  # connections whose request is being handled

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[str]:
        """Listen at a port during the block, and yield the URL."""
        app = web.Application(middlewares=[self._check_request])
        app.on_response_prepare.append(_add_headers)
        app.add_routes(
            [
                web.get(self._root, self._list),
                web.get(f"{self._root}compare", self._compare),
                web.get(f"{self._root}runs/{{run:.+}}", self._page),
                web.get(f"{self._root}document/{{run:.+}}", self._document),
                web.get(f"{self._root}texts/{{candidate:\\d{{1,9}}}}/{{run:.+}}", self._texts),
            ]
        )
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=SHUTDOWN_S, max_line_size=LONGEST_ADDRESS, logger=server_log()
        )
        await runner.setup()
        assert runner.server is not None, "a runner that is set up has a server"
        try:
            server = await asyncio.get_running_loop().create_server(self._limited(runner.server), self._host, port)
        except OSError as error:
            await runner.cleanup()
            why = error.strerror or str(error)
            raise UsageError(f"cannot serve at {self._host}, port {port}: {why}; choose another --port") from None
        try:
            name = f"[{self._host}]" if ":" in self._host else self._host
            yield f"http://{name}:{server.sockets[0].getsockname()[1]}{self._root}"
        finally:
            server.close()
            await runner.cleanup()
            for pool in (self._readers, self._comparing):
                pool.shutdown(wait=False, cancel_futures=True)  # a slow reading must not delay the end

    @web.middleware
    async def _check_request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        if not self._is_allowed(request):
            raise web.HTTPForbidden(text=NOT_THIS_ADDRESS)
        self._answering.add(request.protocol)
        try:
            return await handler(request)
        except TimeoutError:  # a run of 10 000 candidates may take minutes; the reading goes on meanwhile
            return _unfinished(waiting_page())
        except UsageError as error:
            raise web.HTTPNotFound(text=f"{printable(str(error))}\n") from None
        except BehavesimError as error:
            raise web.HTTPInternalServerError(text=f"{printable(str(error))}\n") from None
        finally:
            self._answering.discard(request.protocol)

    def _limited(self, server: web.Server) -> Callable[[], asyncio.Protocol]:
        """Return a factory of protocols that bounds connections in number and time, so that no client blocks others."""

        def protocol() -> asyncio.Protocol:
            if len(server.connections) >= CONNECTIONS:
                return _HangingUp()
            handler = server()
            _later(LIFE_S, self._end, handler)
            return handler

        return protocol

    def _end(self, handler: web.RequestHandler) -> None:
        """Close a connection, after the answer that is being made on it."""
        if handler in self._answering:
            handler.close()  # a page may take until WAIT_S, and aiohttp closes after its answer
        elif handler.transport is not None:
            handler.transport.close()  # what is written already is still sent
        _later(LIFE_S, _cut_off, handler)  # a client that reads nothing would keep the rest waiting for ever

    def _is_allowed(self, request: web.Request) -> bool:
        """Whether a request has the token, or names this machine if there is no token."""
        # It stops DNS rebinding: a foreign site whose name resolves to this machine could otherwise read the runs.
        if self._token:
            return compare_digest(request.path.split("/")[1].encode(), self._token.encode())
        try:
            return is_loopback(urlsplit(f"//{request.host}").hostname or "")
        except ValueError:
            return False

    async def _list(self, request: web.Request) -> web.Response:
        try:
            found = await self._read("listing", self._runs.listing, wait_s=LIST_WAIT_S)
        except TimeoutError:  # many runs of 10 000 candidates, which nobody has listed since this version came
            found = self._runs.listing_so_far()
            return _unfinished(runs_page(found.summaries, found.unreadable, found.unread))
        return web.Response(text=runs_page(found.summaries, found.unreadable), content_type="text/html")

    async def _compare(self, request: web.Request) -> web.Response:
        names = request.query.getall("run", [])
        find = partial(self._compared_page, names)
        return _gzipped(request, await self._read(f"compared {names}", find, self._comparing), "text/html")

    async def _page(self, request: web.Request) -> web.Response:
        name = request.match_info["run"]
        body = await self._read(f"page {name}", lambda: self._page_of(name))
        return _gzipped(request, body, "text/html")

    async def _document(self, request: web.Request) -> web.Response:
        """Return what the page of a run shows, as JSON; status 304 if If-None-Match has its version, the ETag."""
        name = request.match_info["run"]
        snapshot = await self._read(f"document {name}", lambda: self._runs.snapshot(name))
        tag = f'"{snapshot.version}"'
        # a page names the version that it shows, so none can pass unseen: not even one made while it fetched another
        is_known = request.headers.get("If-None-Match") == tag
        response = web.Response(status=304) if is_known else _gzipped(request, snapshot.json, "application/json")
        response.headers["ETag"] = tag
        return response

    async def _texts(self, request: web.Request) -> web.Response:
        """Return the last prompt and reply of a candidate as JSON."""
        name, candidate = request.match_info["run"], int(request.match_info["candidate"])
        prompt, reply = await self._read(f"texts {candidate} {name}", lambda: self._runs.texts(name, candidate))
        return web.json_response({"prompt": prompt, "reply": reply})

    def _page_of(self, name: str) -> bytes:
        """Return the page of a run as gzipped HTML, with the script that keeps it up to date."""
        snapshot = self._runs.snapshot(name)
        if snapshot not in self._pages:
            known = {"ROOT": self._root, "VERSION": f'"{snapshot.version}"', "ADDRESS": quote(name)}
            # without "<", so that no text can end the HTML element of the script
            texts = {key: json.dumps(value).replace("<", "\\u003c") for key, value in known.items()}
            script = "".join(f"const {key} = {text};\n" for key, text in texts.items())
            script += f"const POLL_MS = {1000 * POLL_S};\n"
            script += files(__package__).joinpath("live.js").read_text(encoding="utf-8")
            page = html(snapshot.page, script, "'self'")
            self._pages[snapshot] = gzip.compress(page.encode(), compresslevel=5, mtime=0)
        return self._pages[snapshot]

    def _compared_page(self, names: Sequence[str]) -> bytes:
        return gzip.compress(html(self._runs.compared(names)).encode(), compresslevel=5, mtime=0)

    async def _read(
        self, key: str, find: Callable[[], T], pool: ThreadPoolExecutor | None = None, wait_s: float | None = None
    ) -> T:
        """Call `find` in a thread of `pool`, by default a reader; raises TimeoutError after `wait_s`, or WAIT_S."""
        # equal requests share one call: else each reload of a slow page would make it once more
        if key not in self._under_way:
            reading = asyncio.get_running_loop().run_in_executor(pool or self._readers, find)
            self._under_way[key] = reading
            reading.add_done_callback(lambda _: self._under_way.pop(key))
        # shielded: neither a client that leaves nor the time limit may cancel a reading for which others wait
        async with asyncio.timeout(WAIT_S if wait_s is None else wait_s):
            found: T = await asyncio.shield(self._under_way[key])
        return found


def _later(seconds: float, act: Callable[..., None], *given: object) -> None:
    asyncio.get_running_loop().call_later(seconds, act, *given)


def _cut_off(handler: web.RequestHandler) -> None:
    if handler.transport is not None:
        handler.transport.abort()


class _HangingUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _unfinished(page: str) -> web.Response:
    """Return the response of a page that asks again by itself, as what it is to show is still being made."""
    return web.Response(status=202, text=page, content_type="text/html", headers={"Retry-After": str(ASK_AGAIN_S)})


def _gzipped(request: web.Request, body: bytes, kind: str) -> web.Response:
    """Return a response of media type `kind` with `body`, which is gzipped; unpacked if a client takes no gzip."""
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=gzip.decompress(body), content_type=kind, charset="utf-8")
    return web.Response(body=body, content_type=kind, charset="utf-8", headers={"Content-Encoding": "gzip"})
