"""The wire to an OpenAI-compatible endpoint: one client, its key, and nothing raised but programming errors."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from behavesim.errors import UsageError
from behavesim.heartbeat import Heartbeat
from behavesim.proposers.openai_answers import Completion, Fault, answer

if TYPE_CHECKING:
    from openai import AsyncOpenAI

PATH = "/chat/completions"
NO_KEY = "no-key"
"""Sent where an endpoint of one's own wants none; the openai package insists on some key."""

_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|key)-[\w*.…-]{6,}")


class Endpoint:
    """An endpoint as the environment names it: OPENAI_BASE_URL (OpenAI's own unless set) and OPENAI_API_KEY."""

    def __init__(self, timeout_s: float, clock: Heartbeat) -> None:
        """`timeout_s` bounds a request as a whole, by `clock`.

        Raises UsageError where the environment names no usable endpoint.
        """
        self._key = os.environ.get("OPENAI_API_KEY", "")
        self._timeout_s, self._clock = timeout_s, clock
        url = os.environ.get("OPENAI_BASE_URL", "")
        _refuse_unusable(url, self._key)
        self._client = _client(self._key or NO_KEY, timeout_s)
        self._versioned = self._client.base_url.path.rstrip("/").endswith("/v1")
        self.host: str = self._client.base_url.host
        self.path = PATH

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    def add_version(self) -> bool:
        """Ask under /v1 from now on, where the URL was given without it; False where that is no new idea."""
        if self._versioned or self.path != PATH:
            return False
        self.path = f"/v1{PATH}"
        return True

    def scrubbed(self, text: str) -> str:
        """The text on one line of at most 500 characters, without the key or anything that looks like one."""
        if self._key:
            text = text.replace(self._key, "…")
        return _LOOKS_LIKE_A_KEY.sub("…", " ".join(text.split()))[:500]

    async def exchange(
        self, path: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> tuple[Completion | Fault, Mapping[str, str]]:
        """Send one request; returns what the answer means, and its headers (none where there was no answer)."""
        import aiohttp
        import httpx2
        import openai

        # Client.post instead of chat.completions.create, the aiohttp transport, and the response as it came: together
        # they more than halve the client's own time for a request, and no endpoint's odd reply can fail to validate.
        try:
            async with self._clock.timeout(self._timeout_s):
                response = await self._client.post(path, body=dict(body), cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            response = error.response
        except (TimeoutError, openai.APITimeoutError):
            return self._unanswered(f"gave no answer within {self._timeout_s:g} s"), {}
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            return self._unanswered(f"broke the connection ({type(error.__cause__ or error).__name__})"), {}
        return answer(response.status_code, response.headers, response.content, optional), response.headers

    def _unanswered(self, what: str) -> Fault:
        return Fault("passing", f"{self.host} {what}", usage=None)


def _client(key: str, timeout_s: float) -> AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(
        api_key=key,
        max_retries=0,  # the limiter decides, for all requests together
        timeout=openai.Timeout(None, connect=min(10.0, timeout_s)),  # an answer has the time that `exchange` gives it
        http_client=openai.DefaultAioHttpClient(),
    )


def _refuse_unusable(url: str, key: str) -> None:
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError("OPENAI_BASE_URL must be a full URL such as http://localhost:8000/v1")
    if not url and not key:
        raise UsageError("set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs no key")
    if not all("!" <= character <= "~" for character in key):
        raise UsageError("OPENAI_API_KEY holds a space, a line end or another character that no key has")
