"""The wire to an OpenAI-compatible endpoint: one session, its key, and nothing raised but programming errors."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from behavesim.base.errors import UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import one_line, storable
from behavesim.proposers.openai_answers import Completion, Fault, answer, redirected
from behavesim.proposers.openai_diagnosis import Route, diagnosed
from behavesim.proposers.openai_message import NO_USAGE
from behavesim.proposers.openai_settings import base_url

PATH = "/chat/completions"

ANSWER_BYTES = 4 * 2**20
"""An answer longer than this, unpacked, is read no further: the longest that models write, escaped, takes a quarter."""

CONNECT_S = 10.0
PLACEHOLDER = 8
"""Keys with fewer characters than this protect nothing: `EMPTY`, `none`, `ollama`, as local endpoints want them."""

_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|key)-[\w*.…-]{6,}")


class Endpoint:
    """An endpoint as the environment names it, read as the openai package reads it.

    OPENAI_BASE_URL is OpenAI's own unless set; OPENAI_ORG_ID and OPENAI_PROJECT_ID go along with OPENAI_API_KEY. The
    proxy is the environment's, too.
    """

    def __init__(self, timeout_s: float, clock: Heartbeat) -> None:
        """`timeout_s` bounds a request as a whole, by `clock`.

        Raises UsageError where the environment names no usable endpoint.
        """
        self._key = os.environ.get("OPENAI_API_KEY", "")
        self._timeout_s, self._clock = timeout_s, clock
        _refuse_unusable(os.environ.get("OPENAI_BASE_URL", ""), self._key)
        self._url = urlsplit(base_url())
        self._route = Route.of(self._url, _proxy(self._url))
        self._session: aiohttp.ClientSession | None = None
        self._has_answered = False
        self._versioned = self._url.path.rstrip("/").endswith("/v1")
        self.host = self._route.host
        self.path = PATH

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def add_version(self) -> bool:
        """Ask under /v1 from now on, where the URL was given without it; False where that is no new idea."""
        if self._versioned or self.path != PATH:
            return False
        self.path = f"/v1{PATH}"
        return True

    def clean(self, text: str) -> str:
        """What the endpoint wrote, fit to be stored, and without the key where that is more than a placeholder."""
        text = storable(text)
        return text.replace(self._key, "…") if len(self._key) >= PLACEHOLDER else text

    def scrubbed(self, text: str) -> str:
        """The text on one line of at most 500 characters, without the key or anything that looks like one."""
        return one_line(_LOOKS_LIKE_A_KEY.sub("…", self.clean(text)))

    async def exchange(
        self, path: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> tuple[Completion | Fault, Mapping[str, str]]:
        """Send one request; returns what the answer means, and its headers (none where there was no answer)."""
        try:
            async with self._clock.timeout(self._timeout_s), self._posted(path, body) as response:
                content = await _read(response)
        except (aiohttp.ClientError, OSError) as error:
            return await diagnosed(error, self._route, self._timeout_s, is_new=not self._has_answered), {}
        self._has_answered = True
        if len(content) > ANSWER_BYTES and response.ok:
            megabytes = f"{ANSWER_BYTES / 2**20:.0f} MB"
            return Fault("request", f"the endpoint's answer is longer than {megabytes}", NO_USAGE), response.headers
        if response.method != "POST":
            return redirected(self.clean(str(response.url))), response.headers
        return answer(response.status, response.headers, content, optional, self.clean), response.headers

    def _posted(self, path: str, body: Mapping[str, Any]) -> Any:
        url = self._url._replace(path=self._url.path.rstrip("/") + path, fragment="").geturl()
        if self._session is None:  # here and not before, since it belongs to the event loop that it is made in
            self._session = _session(self._url, self._key)
        return self._session.post(url, json=body, proxy=self._route.proxy)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, unpacked as it comes; of one that is longer than an answer can be, little more than that."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > ANSWER_BYTES:
            break
    return bytes(body)


def _session(url: SplitResult, key: str) -> aiohttp.ClientSession:
    headers = {
        "Authorization": f"Bearer {key}",
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID", ""),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID", ""),
    }
    if not key or url.username is not None:  # aiohttp sends the user and password of a URL by itself
        headers["Authorization"] = ""
    certificates = ssl.create_default_context() if url.scheme == "https" else True  # they take a while to load
    return aiohttp.ClientSession(
        headers={name: value for name, value in headers.items() if value},
        connector=aiohttp.TCPConnector(limit=0, ssl=certificates),  # the limiter decides how many
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
    )


def _proxy(url: SplitResult) -> str | None:
    """The proxy that the environment names for a URL; raises UsageError for one of a kind that cannot be used."""
    if proxy_bypass(f"{url.hostname}:{url.port}" if url.port else url.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        name = f"{url.scheme.upper()}_PROXY"
        raise UsageError(f"{name} must be the URL of an HTTP proxy; to go without one, set NO_PROXY={url.hostname}")
    return proxy or None


def _refuse_unusable(url: str, key: str) -> None:
    if url and not _is_usable(url):
        raise UsageError("OPENAI_BASE_URL must be a full URL such as http://localhost:8000/v1")
    if not url and not key:
        raise UsageError("set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs no key")
    if not all("!" <= character <= "~" for character in key):
        raise UsageError("OPENAI_API_KEY holds a space, a line end or another character that no key has")


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(named) and url.isprintable() and parts.port != 0
    except ValueError:  # of a port or a host that is none
        return False
