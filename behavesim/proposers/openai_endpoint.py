"""An OpenAI-compatible endpoint as the package openai asks it; faults of the connection come back as values."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

import aiohttp
import httpx2
import openai

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import one_line
from behavesim.proposers.openai_answers import Completion, Fault, answer
from behavesim.proposers.openai_diagnosis import Route, diagnosed, listens
from behavesim.proposers.openai_environment import has_credentials, proxy_for, refuse_unusable
from behavesim.proposers.openai_message import NO_USAGE
from behavesim.proposers.openai_settings import base_url
from behavesim.proposers.secrets import Secrets

PATH = "/chat/completions"

ANSWER_BYTES = 4 * 2**20
"""An answer longer than this, unpacked, is read no further: the longest that models write, escaped, takes a quarter."""

CONNECT_S = 10.0
MOST_REDIRECTS = 5

_KEEPALIVE_S = 15.0
_AS_MANY_AS_ASKED = 0
"""aiohttp's way to set no limit on connections: the limiter decides how many there are."""


class Endpoint:
    """An endpoint as the environment names it; the package reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and its like itself.

    OPENAI_BASE_URL is OpenAI's own unless set. The proxy is the environment's, too.
    """

    def __init__(self, timeout_s: float, clock: Heartbeat) -> None:
        """`timeout_s` bounds a request as a whole, by `clock`.

        Raises UsageError if the environment names no usable endpoint or proxy.
        """
        refuse_unusable()
        self._timeout_s, self._clock = timeout_s, clock
        url = httpx2.URL(base_url())
        proxy = proxy_for(url)
        self.secrets = Secrets.of_endpoint(os.environ, base_url(), proxy or "")
        self._route = Route.of(url, proxy)
        self._client = _client(url, proxy)
        # An endpoint of one's own may do without a key; the package would send a placeholder.
        self._headers = {} if url.userinfo or has_credentials() else {"Authorization": openai.Omit()}
        self._has_answered = False
        self._versioned = url.path.rstrip("/").endswith("/v1")
        self.host = self._route.host
        self.version = ""

    @property
    def path(self) -> str:
        """Where completions are asked for, below the endpoint's URL."""
        return f"{self.version}{PATH}"

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    def add_version(self) -> bool:
        """Ask under /v1 from now on; False if the URL was given with it, or if it is done already."""
        if self._versioned or self.version:
            return False
        self.version = "/v1"
        return True

    async def exchange(
        self, path: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> tuple[Completion | Fault, Mapping[str, str]]:
        """Send one request; returns what the answer means, and its headers (none if there was no answer).

        `optional` names the parameters of the request that it could do without.
        """
        response = await self.response(path, body)
        if isinstance(response, Fault):
            return response, {}
        status, content, headers = response.status_code, response.content, response.headers
        if len(content) > ANSWER_BYTES and response.is_success:
            megabytes = f"{ANSWER_BYTES / 2**20:.0f} MB"
            return Fault("request", f"the endpoint's answer is longer than {megabytes}", NO_USAGE), headers
        if response.has_redirect_location:
            return self._redirected(response), headers
        return answer(status, headers, content, optional, self.secrets.clean), headers

    async def response(self, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response | Fault:
        """The answer to a request, whatever its status; a GET if there is no body."""
        try:
            async with self._clock.timeout(self._timeout_s):
                found = await self._sent(path, body)
        except openai.APIStatusError as error:
            found = error.response
        except (openai.APIConnectionError, aiohttp.ClientError, OSError, UnicodeError) as error:
            if await self._is_at_ipv6():
                return await self.response(path, body)
            return await diagnosed(error, self._route, self._timeout_s, is_new=not self._has_answered)
        self._has_answered = True
        return found

    async def _sent(self, path: str, body: Mapping[str, Any] | None) -> httpx2.Response:
        if body is None:
            return await self._client.get(path, cast_to=httpx2.Response, options={"headers": self._headers})
        # Escaped here, since the package's own UTF-8 cannot hold half a surrogate pair.
        content = json.dumps(body).encode()
        return await self._client.post(
            path, cast_to=httpx2.Response, content=content, options={"headers": self._headers}
        )

    async def _is_at_ipv6(self) -> bool:
        """Whether `localhost` listens at ::1 alone, which the resolver may not know; it is asked there from now on."""
        route = self._route
        if (route.scheme, route.host, route.proxy) != ("http", "localhost", None) or self._has_answered:
            return False
        if await listens("127.0.0.1", route.port) or not await listens("::1", route.port):
            return False
        self._route = replace(route, host="::1")
        self._client.base_url = self._client.base_url.copy_with(host="::1")
        return True

    def _redirected(self, response: httpx2.Response) -> Fault:
        """Return what a redirect to another server means, or one that leads nowhere."""
        try:
            url = urljoin(str(response.request.url), response.headers["location"])
        except ValueError:
            url = ""
        if not url.startswith(("http://", "https://")) or _is_onward(response):
            return Fault("setup", f"{self._route.where} redirects to nowhere; check OPENAI_BASE_URL", NO_USAGE)
        moved = one_line(self.secrets.clean(url).removesuffix(PATH), 200)
        return Fault("setup", f"the endpoint has moved to {moved}; put that into OPENAI_BASE_URL", NO_USAGE)


class _Client(openai.DefaultAioHttpClient):
    """The package's client on aiohttp, which reads no answer further than any completion goes, errors included."""

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """The answer, read; redirects are followed on the same host only: prompt and key are for nobody else."""
        how |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **how)
        for _ in range(MOST_REDIRECTS):
            if not _is_onward(response) or response.next_request is None:
                break
            await response.aclose()
            response = await super().send(response.next_request, **how)
        return await _read(response)


def _is_onward(response: httpx2.Response) -> bool:
    """Whether an answer sends the same request to another address of the same host and port."""
    here, there = response.request, response.next_request
    return there is not None and _asked(there) == _asked(here)


def _asked(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.method, request.url.host, request.url.port  # None for the usual port, of https as of http


async def _read(response: httpx2.Response) -> httpx2.Response:
    """An answer with its body, unpacked as it comes; of one that is too long, little more than it may have."""
    body = bytearray()
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > ANSWER_BYTES:
                    break
    finally:
        await response.aclose()
    headers = response.headers.copy()
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        headers.pop(name, None)
    found = httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
    found.encoding, found.next_request = "utf-8", response.next_request
    return found


def _client(url: httpx2.URL, proxy: str | None) -> openai.AsyncOpenAI:
    """Return the package's client for a URL, whose user and password, if any, are sent in place of the key."""
    client = _Client(
        auth=(url.username, url.password) if url.userinfo else None,
        verify=ssl.create_default_context(),  # heeds SSL_CERT_FILE
        trust_env=False,  # the proxy is named here, so that a fault can name it
        proxy=proxy,
        limits=httpx2.Limits(max_connections=_AS_MANY_AS_ASKED, keepalive_expiry=_KEEPALIVE_S),
    )
    return openai.AsyncOpenAI(
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        base_url=url.copy_with(userinfo=b"", query=None, fragment=None),
        default_query=dict(url.params),
        timeout=openai.Timeout(None, connect=CONNECT_S),
        max_retries=0,
        http_client=client,
    )
