"""Secrets of the environment: nothing that is stored or shown may hold them."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self
from urllib.parse import quote, unquote

from behavesim.base.text import one_line, storable

SHORTEST = 8
"""What has fewer characters protects nothing: `EMPTY`, `none`, `ollama`, as local endpoints want them for a key."""

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIAL|AUTHORIZATION)S?$", re.IGNORECASE)
_IS_A_KEY = re.compile(r"\b(?:sk|pk|gsk)-[\w-]{16,}")
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|key)-[\w*.…-]{6,}")
_UNSEEN = "[^!-~]*"
"""What may stand between two characters of a secret: anything but visible ASCII, such as a zero-width space."""


@dataclass(frozen=True)
class Secrets:
    """Texts to be hidden, each as it is, quoted as in a URL, and in base64."""

    values: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """The values of all variables whose names end as those of secrets do, and the logins of all URLs."""
        named = [value for name, value in environment.items() if _SECRET_NAME.search(name)]
        return cls.some([*named, *(login for value in environment.values() for login in _logins(value))])

    @classmethod
    def of_endpoint(cls, environment: Mapping[str, str], *urls: str) -> Self:
        """What is sent to an endpoint or a proxy: the package's key and headers, and the logins of `urls`."""
        headers = (line.partition(":") for line in environment.get("OPENAI_CUSTOM_HEADERS", "").splitlines())
        sent = [value.strip() for name, _, value in headers if _SECRET_NAME.search(name.strip())]
        logins = [login for url in urls for login in _logins(url)]
        return cls.some([environment.get("OPENAI_API_KEY", ""), *sent, *logins])

    @classmethod
    def some(cls, values: Iterable[str]) -> Self:
        """Those of the values that are long enough to protect something; the longest first."""
        found = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        return cls(tuple(sorted(found, key=lambda value: (-len(value), value))))

    def clean(self, text: str) -> str:
        """The text, fit to be stored, with `…` for each secret, also where characters that nobody sees split it."""
        text = storable(text)
        return self._pattern.sub("…", text) if self.values else text

    def scrubbed(self, text: str) -> str:
        """The text on one line of at most 500 characters, without the secrets or anything that looks like a key."""
        return one_line(_LOOKS_LIKE_A_KEY.sub("…", self.clean(text)))

    def are_in(self, text: str) -> bool:
        """Whether the text holds a secret, or what can hardly be anything but a key."""
        return self.clean(text) != text or _IS_A_KEY.search(text) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_split_anywhere, self.values)))


def _split_anywhere(value: str) -> str:
    """The pattern of a secret in pieces; what is unseen in it is part of the gaps, or matching would backtrack."""
    seen = [character for character in value if "!" <= character <= "~"]
    return _UNSEEN.join(map(re.escape, seen)) if len(seen) >= SHORTEST else re.escape(value)


def _forms(value: str) -> Iterator[str]:
    """A secret as it may come back."""
    raw = value.encode(errors="surrogateescape")
    yield value
    yield quote(raw, safe="")
    yield from (encode(raw).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode))


def _logins(url: str) -> Iterator[str]:
    """The password of a URL, and user and password as they are sent; nothing if there is none, or no URL."""
    userinfo = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    user, has_password, password = userinfo.partition(":")
    if has_password:
        yield from (unquote(password), f"{unquote(user)}:{unquote(password)}")
