"""The endpoint: sends requests with the package openai, over a client of aiohttp; faults are returned, not raised."""

from __future__ import annotations

import json
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, TypeVar

import aiohttp
import httpx2
import openai

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import one_line
from behavesim.base.tokens import Usage
from behavesim.proposers.openai_answers import answer, diagnose_fault, listens
from behavesim.proposers.openai_environment import Route, has_credentials, is_usable
from behavesim.proposers.openai_settings import RESPONSES, Terms, base_url
from behavesim.proposers.retry import Completion, Fault
from behavesim.proposers.secrets import Secrets

# Path of chat completions below the endpoint's URL.
PATH = "/chat/completions"
# Time limit of the request for the list of models, in seconds.
LISTING_S = 15.0
# The path that each request in a batch's file names: OpenAI's own, even if the endpoint's URL has another.
URL_IN_BATCH: Final = "/v1/chat/completions"
# The field of a batch's metadata that holds its name.
NAME = "behavesim"
# Batches on a page of the endpoint's list: the most that OpenAI allows.
LISTED = 100
# The package's headers about this machine are left out: building them takes a tenth of a request's CPU time.
_UNSAID = {
    f"X-Stainless-{what}": openai.Omit()
    for what in ("Lang", "OS", "Arch", "Runtime", "Runtime-Version", "Package-Version", "Async", "Retry-Count")
}

T = TypeVar("T")


class Endpoint:
    """The endpoint OPENAI_BASE_URL, OpenAI's own if unset, reached through the environment's proxy if there is one.

    `secrets` are what no text may hold. `host` is the URL's host name. Requests return a fault if there was no answer
    in time, or an error; only `models` raises one.
    """

    def __init__(self, timeout_s: float, clock: Heartbeat) -> None:
        """`timeout_s` is the time limit of a whole request in seconds, measured by `clock`.

        Raises UsageError if the environment names no usable endpoint or proxy.
        """
        self._timeout_s, self._clock = timeout_s, clock
        self._route = Route.of_environment()
        # what is sent, so that it can be removed from what comes back
        self.secrets = Secrets.of_endpoint(os.environ, base_url(), self._route.proxy or "")
        self._client = client_of(self._route)
        self._has_answered = False
        self.host = self._route.url.host

    @property
    def url(self) -> str:
        """The URL to which paths are added now; `add_version` changes it."""
        return str(self._client.base_url)

    async def aclose(self) -> None:
        """Close all connections; the endpoint cannot be used afterwards."""
        await self._client.close()

    def add_version(self) -> bool:
        """Put /v1 before all paths from now on; return False if it is there already."""
        # some servers give their URL without it
        if self.url.rstrip("/").endswith("/v1"):
            return False
        self._client.base_url = f"{self.url.rstrip('/')}/v1"
        return True

    async def completion(self, body: Mapping[str, Any], terms: Terms) -> Completion | Fault:
        """Send `body` as JSON to the chat completions, or to the Responses API if it has its form."""
        # Written as ASCII here: the package writes UTF-8, which cannot encode a lone surrogate.
        content, path = json.dumps(body).encode(), PATH if "messages" in body else RESPONSES
        found = await self._request(
            lambda client: client.post(path, cast_to=httpx2.Response, content=content, options={"headers": _UNSAID})
        )
        return found if isinstance(found, Fault) else self._read(found, terms)

    async def upload(self, name: str, content: bytes) -> str | Fault:
        """Upload the lines in `content` as the file `name`.jsonl of a batch; return the file's id."""
        file = (f"{name}.jsonl", content)
        return await self._call(lambda client: self._id(client.files.create(file=file, purpose="batch")))

    async def make_batch(self, name: str, file: str) -> str | Fault:
        """Make a batch of an uploaded file, with `name` in its metadata; return the batch's id."""
        return await self._call(
            lambda client: self._id(
                client.batches.create(
                    completion_window="24h", endpoint=URL_IN_BATCH, input_file_id=file, metadata={NAME: name}
                )
            )
        )

    async def find_batch(self, name: str) -> str | Fault:
        """Return the id of the batch of this name in the endpoint's list; "" if it has none."""

        async def find(client: openai.AsyncOpenAI) -> str:
            async for batch in client.batches.list(limit=LISTED):
                # the package reads answers without checking them: the metadata may be anything
                if isinstance(batch.metadata, Mapping) and batch.metadata.get(NAME) == name:
                    return self.secrets.clean(batch.id)
            return ""

        return await self._call(find)

    async def batch(self, batch: str) -> Mapping[str, Any] | Fault:
        """Return the JSON object in which the endpoint says how the batch with this id stands."""
        return await self._call(lambda client: _object(client.batches.retrieve(batch)))

    async def content(self, file: str) -> bytes | Fault:
        """Return the content of the file with this id; a fault, too, if it is longer than FILE_BYTES."""
        found = await self._call(lambda client: client.files.content(file))
        if isinstance(found, Fault):
            return found
        if len(found.content) > FILE_BYTES:
            return Fault("stop", f"the replies of a batch are longer than {FILE_BYTES >> 20} MB")
        return found.content

    async def delete(self, file: str) -> Fault | None:
        """Delete the file with this id; return the fault if it is not deleted."""
        found = await self._call(lambda client: _object(client.files.delete(file)))
        return found if isinstance(found, Fault) else None

    async def models(self) -> dict[str, str | None]:
        """Return the shutdown day (such as 2026-12-11, or None) of each model that the endpoint lists, by its name.

        Raises ProposerError, without the key in its message, if the endpoint gives no list.
        """
        clean = self.secrets.clean

        async def send(client: openai.AsyncOpenAI) -> dict[str, str | None]:
            days = {each.id: each.shutdown_date async for each in client.models.list() if isinstance(each.id, str)}
            return {clean(name): clean(day) if isinstance(day, str) else None for name, day in days.items()}

        found = await self._request(send)
        if isinstance(found, httpx2.Response) and found.status_code == 404 and self.add_version():
            found = await self._request(send)
        match found:
            case dict():
                return found
            case Fault(usage=None):
                why = f"cannot be reached ({found.message})"
            case Fault():
                why = f"answers with no list of models; {await self._page_in_its_place() or 'check OPENAI_BASE_URL'}"
            case httpx2.Response(status_code=status, next_request=httpx2.Request(url=moved)):  # not followed
                advice = "if that is a login page, log in there, else put its address into OPENAI_BASE_URL"
                why = f"redirects to {moved.host} ({status}); {advice}"
            case httpx2.Response(status_code=status):  # without its words, which may hold a part of the key
                known = {401: "refuses the key (401); check OPENAI_API_KEY", 404: "has no list of models"}
                why = known.get(status, f"gives no list of models ({status})")
        raise ProposerError(self.secrets.scrubbed(f"{self.host} {why}"))

    async def _page_in_its_place(self) -> str:
        """Return what the endpoint sends in place of its list of models, if that is a web page; else ""."""
        # asked for again: the package keeps nothing of an answer that it cannot read
        found = await self._request(lambda client: client.get("/models", cast_to=httpx2.Response))
        read = self._read(found, Terms()) if isinstance(found, httpx2.Response) else found
        return read.message if isinstance(read, Fault) and read.is_setup else ""

    async def _call(self, send: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T | Fault:
        """Return what `send` makes of the answer to its request, or the fault that an error means."""
        found = await self._request(send)
        if not isinstance(found, httpx2.Response):
            return found
        meant = self._read(found, Terms())
        said = "the endpoint's filter refuses the request"
        return meant if isinstance(meant, Fault) else Fault("give up", said, is_setup=True)

    async def _request(self, send: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T | httpx2.Response | Fault:
        """Return what `send` makes of an answer, the answer if its status is an error's, or the connection's fault."""
        try:
            async with self._clock.timeout(self._timeout_s):
                found: T | httpx2.Response = await send(self._client)
        except openai.APIStatusError as error:
            found = error.response
        except (openai.APIConnectionError, aiohttp.ClientError, OSError, UnicodeError) as error:
            if await self._is_at_ipv6():
                return await self._request(send)
            return await diagnose_fault(error, self._route, self._timeout_s, is_new=not self._has_answered)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # JSON of any other form
            return Fault("ask again", "the endpoint answered in another form than that of its protocol", Usage())
        self._has_answered = True
        return found

    def _read(self, response: httpx2.Response, terms: Terms) -> Completion | Fault:
        if len(response.content) > ANSWER_BYTES and response.is_success:
            # one such reply says nothing about the next one, so it does not stop a run, even as the first
            advice = "set max_completion_tokens, or choose another model"
            return Fault("give up", f"the endpoint's answer is longer than {ANSWER_BYTES >> 20} MB; {advice}", Usage())
        if response.has_redirect_location:
            return self._redirect_fault(response)
        return answer(response.status_code, response.headers, response.content, terms, self.secrets.clean)

    async def _id(self, made: Awaitable[openai.BaseModel]) -> str:
        if not (given := (await _object(made)).get("id")):
            raise ValueError("the endpoint gave no id")
        return self.secrets.clean(given)

    async def _is_at_ipv6(self) -> bool:
        """Whether `localhost` takes connections at ::1 alone; if so, later requests go there."""
        # The resolver may know `localhost` as 127.0.0.1 only. After the first answer there is nothing to find out.
        url, port = self._route.url, self._route.port
        if (url.scheme, url.host, self._route.proxy) != ("http", "localhost", None) or self._has_answered:
            return False
        if await listens("127.0.0.1", port) or not await listens("::1", port):
            return False
        self._route = replace(self._route, url=url.copy_with(host="::1"))
        self._client.base_url = self._client.base_url.copy_with(host="::1")
        return True

    def _redirect_fault(self, response: httpx2.Response) -> Fault:
        """Return the fault for a redirect that is not followed: to another server, an unusable URL, or one too many."""
        onward = response.next_request  # None if the package cannot read the location
        moved = str(onward.url) if onward else response.headers["location"]
        moved = one_line(self.secrets.clean(moved).removesuffix(PATH).removesuffix(RESPONSES), 200)
        if not is_usable(moved) or is_onward(response):
            message = f"{self._route.server} redirects to nowhere; check OPENAI_BASE_URL"
        else:
            message = f"the endpoint has moved to {moved}; put that into OPENAI_BASE_URL"
        return Fault("ask again", message, Usage(), is_setup=True)


async def _object(asked: Awaitable[openai.BaseModel]) -> dict[str, Any]:
    """Return the JSON object in an answer that the package has read without checking it."""
    return (await asked).to_dict(warnings=False)


# Most bytes of a decompressed answer that are read; the longest replies of models, escaped, take a quarter of it.
ANSWER_BYTES = 4 * 2**20
# Most bytes of a decompressed file that are read: the replies of a batch. A longer file is a fatal fault.
FILE_BYTES = 256 * 2**20
# Time limit for making a connection, in seconds.
CONNECT_S = 10.0
# Most redirects followed for one request.
MOST_REDIRECTS = 5
# Seconds that an idle connection stays open.
_KEEPALIVE_S = 15.0
# aiohttp's value for no limit on connections: the limiter decides how many there are.
_AS_MANY_AS_ASKED = 0


def client_of(route: Route) -> openai.AsyncOpenAI:
    """Return the package's client for a route, with the key of OPENAI_API_KEY or the URL's own login."""
    url = route.url
    logging.getLogger("httpx2").addFilter(_without_queries)  # a second time it does nothing
    client = _Client(
        auth=(url.username, url.password) if url.userinfo else None,
        verify=ssl.create_default_context(),  # heeds SSL_CERT_FILE
        trust_env=False,  # the proxy is named here, so that a fault can name it
        proxy=route.proxy,
        limits=httpx2.Limits(max_connections=_AS_MANY_AS_ASKED, keepalive_expiry=_KEEPALIVE_S),
    )
    client.sends_key = has_credentials()
    return openai.AsyncOpenAI(
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        # Login and query are given separately: the package appends its paths to this URL.
        base_url=url.copy_with(userinfo=b"", query=None, fragment=None),
        default_query=dict(url.params),
        timeout=openai.Timeout(None, connect=CONNECT_S),
        max_retries=0,  # `RetryPolicy` decides what is sent again
        http_client=client,
    )


class _Client(openai.DefaultAioHttpClient):
    """The package's client on aiohttp: it reads no more of an answer than fits, and stays on one host."""

    # Whether requests are sent with the package's header `Authorization`: without a key it holds a placeholder.
    sends_key: bool

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request and read its answer; `how` are the package's options."""
        # At most MOST_REDIRECTS redirects are followed, within the same origin (scheme, host and port) only: no other
        # may get the prompt and the key. Any other redirect is returned as the answer.
        if not self.sends_key:
            request.headers.pop("Authorization", None)
        how |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **how)
        for _ in range(MOST_REDIRECTS):
            if not is_onward(response) or response.next_request is None:
                break
            await response.aclose()
            response = await super().send(response.next_request, **how)
        return await _receive(response)


def is_onward(response: httpx2.Response) -> bool:
    """Whether an answer redirects the request, with its method unchanged, to the same scheme, host and port.

    From https to http, prompt, key and password would go out in clear text.
    """
    here, there = response.request, response.next_request
    place, onward = [each and (each.method, each.url.scheme, each.url.host, each.url.port) for each in (here, there)]
    return place == onward


async def _receive(response: httpx2.Response) -> httpx2.Response:
    """Return an answer with its body, decompressed and cut after ANSWER_BYTES, or FILE_BYTES for a file."""
    body, most = bytearray(), FILE_BYTES if response.request.url.path.endswith("/content") else ANSWER_BYTES
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > most:  # a small answer may unpack to gigabytes
                    break
    finally:
        await response.aclose()
    # without the encoding, else the body would be unpacked again
    headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"]
    found = httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
    # Strangers name encodings that do not exist, and the package reads an error's text.
    found.encoding, found.next_request = "utf-8", response.next_request
    return found


def _without_queries(record: logging.LogRecord) -> bool:
    """Cut the queries off the URLs in a line of the package's log, one for each request: they may hold keys."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            each.copy_with(query=None) if isinstance(each, httpx2.URL) else each for each in record.args
        )
    return True
