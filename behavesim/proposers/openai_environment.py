"""Where requests go by the environment: the endpoint's URL, key, headers and proxy, read and checked."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from behavesim.base.errors import UsageError
from behavesim.proposers.openai_settings import base_url, has_endpoint

_HEADER = re.compile(r"\s*[\w!#$%&'*+.^`|~-]+\s*:[\t -~]*\r?", re.ASCII)


@dataclass(frozen=True)
class Route:
    """Where requests go."""

    # The endpoint's URL; its scheme is `http` or `https`.
    url: httpx2.URL
    # URL of the proxy that requests go through; None if there is none.
    proxy: str | None

    @classmethod
    def of_environment(cls) -> Self:
        """Return the route that the environment names.

        Raises UsageError if it has neither key nor URL, or if an OPENAI_ variable or the proxy is unusable.
        """
        _refuse_unusable()
        url = httpx2.URL(base_url())
        return cls(url, _proxy_for(url))

    @property
    def port(self) -> int:
        """The endpoint's port: its scheme's own unless the URL names one."""
        return self.url.port or (443 if self.url.scheme == "https" else 80)

    @property
    def server(self) -> str:
        """The endpoint's `host:port`, for messages."""
        return f"{self.url.host}:{self.port}"

    @property
    def variable(self) -> str:
        """The variable for the proxy of the URL's scheme, even if ALL_PROXY names it."""
        return f"{self.url.scheme.upper()}_PROXY"

    @property
    def proxy_in_words(self) -> str:
        """The proxy's host, port and variable, for messages, without a password; do not use it without a proxy."""
        parts = urlsplit(self.proxy or "")
        return f"the proxy {parts.hostname}:{parts.port} ({self.variable})"


def _proxy_for(url: httpx2.URL) -> str | None:
    """Return the URL of the proxy for a URL; None if there is none or NO_PROXY excludes it."""
    if proxy_bypass(f"{url.host}:{url.port}" if url.port else url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if proxy and "://" not in proxy:  # curl and others take `host:port`
        proxy = f"http://{proxy}"
    if proxy and not is_usable(proxy):
        raise UsageError(
            f"{url.scheme.upper()}_PROXY must be the URL of an HTTP proxy, such as http://host:3128; "
            f"to go without one, set NO_PROXY={url.host}"
        )
    return proxy or None


def _refuse_unusable() -> None:
    """Raise UsageError if the environment has neither key nor URL, or an OPENAI_ variable of a wrong form."""
    if not is_usable(base_url()):
        raise UsageError("OPENAI_BASE_URL must be a full URL such as http://localhost:8000/v1")
    if not has_endpoint():
        raise UsageError("set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs no key")
    # The package skips lines without a colon; aiohttp would raise on the others only when the first request is sent.
    headers = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    if not all(_HEADER.fullmatch(line) for line in headers if ":" in line):
        raise UsageError("OPENAI_CUSTOM_HEADERS must be lines such as X-Team: us, in ASCII")
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        if not all("!" <= character <= "~" for character in os.environ.get(name, "")):
            raise UsageError(f"{name} holds a space, a line end or another character that is not allowed in it")


def has_credentials() -> bool:
    """Whether the environment has OPENAI_API_KEY, or a custom header `Authorization` in its place."""
    # the package sends custom headers in place of its own
    headers = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    named = {line.partition(":")[0].strip().lower() for line in headers}
    return bool(os.environ.get("OPENAI_API_KEY")) or "authorization" in named


def is_usable(url: str) -> bool:
    """Whether a text is a printable http or https URL with a valid host and, if it names one, port."""
    try:
        parts = urlsplit(url)
        named = (parts.hostname or "").encode("idna")
        httpx2.URL(url)
        return parts.scheme in ("http", "https") and bool(named) and url.isprintable() and parts.port != 0
    except (ValueError, httpx2.InvalidURL):  # the port or the host is not valid
        return False
