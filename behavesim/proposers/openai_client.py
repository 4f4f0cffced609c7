"""The client of the package openai, on aiohttp: it reads no more of an answer than fits, and stays on one host."""

from __future__ import annotations

import logging
import os
import ssl
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from behavesim.proposers.openai_environment import Route, has_credentials

ANSWER_BYTES = 4 * 2**20
"""Most bytes of a decompressed answer that are read; a longer one gives up the prompt.

The longest replies of models, escaped, take a quarter of it.
"""
FILE_BYTES = 256 * 2**20
"""Most bytes of a decompressed file that are read: the replies of a batch. A longer file is a fatal fault."""
CONNECT_S = 10.0
"""Time limit for making a connection, in seconds."""
MOST_REDIRECTS = 5
"""Most redirects followed for one request."""
_KEEPALIVE_S = 15.0
"""Seconds that an idle connection stays open."""
_AS_MANY_AS_ASKED = 0
"""aiohttp's value for no limit on connections: the limiter decides how many there are."""


class _Client(openai.DefaultAioHttpClient):
    """The HTTP client of the package openai on aiohttp, with a limit on the size of answers.

    An answer, also one with an error status, is read until it exceeds ANSWER_BYTES, or FILE_BYTES for a file. The rest
    is dropped, and no error is raised.
    """

    sends_key: bool
    """Whether requests are sent with the package's header `Authorization`: without a key it holds a placeholder."""

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request and read its answer; `how` are the package's options.

        At most MOST_REDIRECTS redirects are followed, within the same origin (scheme, host and port) only: no other may
        get the prompt and the key.
        Any other redirect is returned as the answer.
        """
        if not self.sends_key:
            request.headers.pop("Authorization", None)
        how |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **how)
        for _ in range(MOST_REDIRECTS):
            if not is_onward(response) or response.next_request is None:
                break
            await response.aclose()
            response = await super().send(response.next_request, **how)
        return await _received(response)


def is_onward(response: httpx2.Response) -> bool:
    """Whether an answer redirects the request, with its method unchanged, to the same scheme, host and port.

    From https to http, prompt, key and password would go out in clear text.
    """
    here, there = response.request, response.next_request
    place, onward = [each and (each.method, each.url.scheme, each.url.host, each.url.port) for each in (here, there)]
    return place == onward


async def _received(response: httpx2.Response) -> httpx2.Response:
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


def client_of(route: Route) -> openai.AsyncOpenAI:
    """Return the package's client for a route's URL and proxy, with the key from OPENAI_API_KEY ("none" if unset).

    If the URL has user and password, they are sent in place of the key.
    """
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
        max_retries=0,  # `Perseverance` decides what is sent again
        http_client=client,
    )
