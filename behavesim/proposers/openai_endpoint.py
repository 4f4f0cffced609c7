"""Sends requests to an OpenAI-compatible endpoint with the package openai; faults are returned, not raised."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import aiohttp
import httpx2
import openai

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import one_line
from behavesim.base.tokens import Usage
from behavesim.proposers.openai_answers import Completion, answer
from behavesim.proposers.openai_diagnosis import Route, diagnosed, listens
from behavesim.proposers.openai_environment import has_credentials, is_usable, proxy_for, refuse_unusable
from behavesim.proposers.openai_settings import base_url
from behavesim.proposers.patience import Fault
from behavesim.proposers.secrets import Secrets

PATH = "/chat/completions"
"""Path of chat completions below the endpoint's URL."""

ANSWER_BYTES = 4 * 2**20
"""Most bytes of a decompressed answer that are read: the longest replies of models, escaped, take a quarter of it."""

FILE_BYTES = 256 * 2**20
"""Most bytes of a decompressed file that are read: the replies of a batch."""

CONNECT_S = 10.0
"""Time limit for making a connection, in seconds."""
MOST_REDIRECTS = 5
"""Most redirects followed for one request."""

_KEEPALIVE_S = 15.0
"""Seconds that an idle connection stays open."""
_AS_MANY_AS_ASKED = 0
"""aiohttp's value for no limit on connections: the limiter decides how many there are."""


Send = Callable[[openai.AsyncOpenAI, Mapping[str, Any]], Awaitable[httpx2.Response]]
"""Sends one request with the package's client and these headers, and returns the answer; it raises what that raises."""


class Endpoint:
    """The endpoint OPENAI_BASE_URL, OpenAI's own if unset, reached through the environment's proxy if there is one.

    The package openai itself reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and the like. `secrets` are what no text may hold:
    the key, secret headers, and passwords in URLs. `host` is the URL's host name. `version` is what was put before the
    path: "" or /v1.
    """

    def __init__(self, timeout_s: float, clock: Heartbeat) -> None:
        """`timeout_s` is the time limit of a whole request in seconds, measured by `clock`.

        Raises UsageError if the environment names no usable endpoint or proxy.
        """
        refuse_unusable()
        self._timeout_s, self._clock = timeout_s, clock
        url = httpx2.URL(base_url())
        self._route = Route(url, proxy_for(url))
        self.secrets = Secrets.of_endpoint(os.environ, base_url(), self._route.proxy or "")
        self._client = _client(self._route)
        # An endpoint of one's own may do without a key; the package would send the placeholder "none".
        self._headers = {} if has_credentials() else {"Authorization": openai.Omit()}
        self._has_answered = False
        self.host = url.host
        self.version = ""

    @property
    def path(self) -> str:
        """Return the path of chat completions below the endpoint's URL, with /v1 once it was added."""
        return f"{self.version}{PATH}"

    async def aclose(self) -> None:
        """Close all connections; the endpoint cannot be used afterwards."""
        await self._client.close()

    def add_version(self) -> bool:
        """Put /v1 before the path from now on, and return True; if it is there already, only return False."""
        if self.version or self._route.url.path.rstrip("/").endswith("/v1"):
            return False
        self.version = "/v1"
        return True

    async def exchange(
        self, path: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> tuple[Completion | Fault, Mapping[str, str]]:
        """Send one request; return what the answer means, and its headers (empty if there was no answer).

        `path` is below the endpoint's URL, and `body` is sent as JSON. `optional` names the parameters in it that could
        be left out.
        """
        response = await self.response(path, body)
        if isinstance(response, Fault):
            return response, {}
        content, headers = response.content, response.headers
        if len(content) > ANSWER_BYTES and response.is_success:
            message = f"the endpoint's answer is longer than {ANSWER_BYTES >> 20} MB"
            return Fault("request", message, Usage()), headers
        if response.has_redirect_location:
            return self._redirected(response), headers
        return answer(response.status_code, headers, content, optional, self.secrets.clean), headers

    async def response(self, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response | Fault:
        """Send a request, a POST of `body` as JSON or a GET if `body` is None; return the answer whatever its status.

        Return a fault if there was no answer, or none within the time limit.
        """
        return await self._answered(lambda: self._sent(path, body))

    async def fetched(self, send: Send) -> httpx2.Response | Fault:
        """Send a request with a method of the package's client; return the answer, or the fault if it is an error."""
        client = self._client
        if self.version:
            client = client.with_options(base_url=f"{str(client.base_url).rstrip('/')}{self.version}")
        response = await self._answered(lambda: send(client, self._headers))
        if isinstance(response, Fault) or response.is_success:
            return response
        if response.has_redirect_location:
            return self._redirected(response)
        meant = answer(response.status_code, response.headers, response.content, (), self.secrets.clean)
        return meant if isinstance(meant, Fault) else Fault("request", "the endpoint's filter refuses the request")

    async def _answered(self, send: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response | Fault:
        """Send a request; return its answer, or a fault if there was none or none in time."""
        try:
            async with self._clock.timeout(self._timeout_s):
                found = await send()
        except openai.APIStatusError as error:
            found = error.response
        except (openai.APIConnectionError, aiohttp.ClientError, OSError, UnicodeError) as error:
            if await self._is_at_ipv6():
                return await self._answered(send)
            return await diagnosed(error, self._route, self._timeout_s, is_new=not self._has_answered)
        self._has_answered = True
        return found

    async def _sent(self, path: str, body: Mapping[str, Any] | None) -> httpx2.Response:
        """Send a request, return its answer; raises the package's and aiohttp's exceptions, also for error statuses."""
        if body is None:
            return await self._client.get(path, cast_to=httpx2.Response, options={"headers": self._headers})
        # Written as ASCII here: the package writes UTF-8, which cannot encode a lone surrogate.
        content = json.dumps(body).encode()
        return await self._client.post(
            path, cast_to=httpx2.Response, content=content, options={"headers": self._headers}
        )

    async def _is_at_ipv6(self) -> bool:
        """Whether `localhost` takes connections at ::1 alone; if so, later requests go there.

        The resolver may know `localhost` as 127.0.0.1 only. False, without a test, after the first answer, for https or
        behind a proxy.
        """
        url, port = self._route.url, self._route.port
        if (url.scheme, url.host, self._route.proxy) != ("http", "localhost", None) or self._has_answered:
            return False
        if await listens("127.0.0.1", port) or not await listens("::1", port):
            return False
        self._route = replace(self._route, url=url.copy_with(host="::1"))
        self._client.base_url = self._client.base_url.copy_with(host="::1")
        return True

    def _redirected(self, response: httpx2.Response) -> Fault:
        """Return the fault for a redirect that is not followed: to another server, an unusable URL, or one too many."""
        onward = response.next_request  # None if the package cannot read the location
        moved = str(onward.url) if onward else response.headers["location"]
        moved = one_line(self.secrets.clean(moved).removesuffix(PATH), 200)
        if not is_usable(moved) or _is_onward(response):
            return Fault("setup", f"{self._route.where} redirects to nowhere; check OPENAI_BASE_URL", Usage())
        return Fault("setup", f"the endpoint has moved to {moved}; put that into OPENAI_BASE_URL", Usage())


class _Client(openai.DefaultAioHttpClient):
    """The package's client on aiohttp; it reads every answer, errors included, only until it exceeds ANSWER_BYTES."""

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request and read its answer.

        At most MOST_REDIRECTS redirects are followed, on the same host only: no other may get the prompt and the key.
        """
        how |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **how)
        for _ in range(MOST_REDIRECTS):
            if not _is_onward(response) or response.next_request is None:
                break
            await response.aclose()
            response = await super().send(response.next_request, **how)
        return await _read(response)


def _is_onward(response: httpx2.Response) -> bool:
    """Whether an answer redirects the request, with its method unchanged, to the same host and port."""
    here, there = response.request, response.next_request
    return there is not None and _asked(there) == _asked(here)


def _asked(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.method, request.url.host, request.url.port  # None for the usual port, of https as of http


async def _read(response: httpx2.Response) -> httpx2.Response:
    """Return an answer with its body, decompressed; a body longer than ANSWER_BYTES or FILE_BYTES is cut after that."""
    body, most = bytearray(), FILE_BYTES if response.request.url.path.endswith("/content") else ANSWER_BYTES
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > most:  # a small answer may unpack to gigabytes
                    break
    finally:
        await response.aclose()
    headers = response.headers.copy()
    headers.pop("content-encoding", None)  # else the body would be unpacked again
    found = httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
    # Strangers name encodings that do not exist, and the package reads an error's text.
    found.encoding, found.next_request = "utf-8", response.next_request
    return found


def _client(route: Route) -> openai.AsyncOpenAI:
    """Return the package's client for a route's URL and proxy, with the key from OPENAI_API_KEY ("none" if unset).

    If the URL has user and password, they are sent in place of the key.
    """
    url = route.url
    client = _Client(
        auth=(url.username, url.password) if url.userinfo else None,
        verify=ssl.create_default_context(),  # heeds SSL_CERT_FILE
        trust_env=False,  # the proxy is named here, so that a fault can name it
        proxy=route.proxy,
        limits=httpx2.Limits(max_connections=_AS_MANY_AS_ASKED, keepalive_expiry=_KEEPALIVE_S),
    )
    return openai.AsyncOpenAI(
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        # Login and query are given separately: the package appends its paths to this URL.
        base_url=url.copy_with(userinfo=b"", query=None, fragment=None),
        default_query=dict(url.params),
        timeout=openai.Timeout(None, connect=CONNECT_S),
        max_retries=0,  # `Perseverance` decides what is sent again
        http_client=client,
    )
