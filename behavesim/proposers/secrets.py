"""Finds the environment's secrets, such as keys, and removes them from text before it is stored or shown."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self
from urllib.parse import parse_qsl, quote, unquote

from behavesim.base.text import one_line, storable

# Fewest characters of a secret; shorter values, such as `none` or `ollama` for local endpoints, are not hidden.
SHORTEST = 8

# The variable with headers that are sent with each request, a line each.
HEADERS = "OPENAI_CUSTOM_HEADERS"
_SECRET_NAME = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|COOKIE|BEARER|JWT)S?$", re.IGNORECASE
)
# no other text has these forms: a digit is demanded where a program's names could have them, as in `sk-total_size_of`;
# what is looked ahead is bounded, or a reply of `sk-sk-sk-…` takes time with the square of its length
_IS_A_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai)-(?=[\w-]{0,200}\d)[\w-]{16,}"  # OpenAI, xAI and others
    r"|(?:gsk|hf|xai|sk|rk|r8|gh[pousr])_(?=[^\W_]*\d)[^\W_]{20,}"  # Groq, Hugging Face, GitHub
    r"|github_pat_(?=\w*\d)\w{20,}"
    r"|AIza[\w-]{30,}|AKIA[A-Z0-9]{16}\b"  # Google, Amazon
    r"|eyJ[\w-]{8,2000}+\.eyJ[\w-]{8,}+\.[\w-]*)"  # JSON web tokens
)
# Headers in lower case whose values are there to be shown.
_PUBLIC_HEADERS = frozenset({"http-referer", "x-title", "user-agent"})
_PUBLIC_QUERIES = frozenset({"api-version"})
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|key)-[\w*.…-]{6,}")
# Pattern of characters that may separate two of a secret: any but visible ASCII, such as a zero-width space.
_UNSEEN = "[^!-~]*"


@dataclass(frozen=True)
class Secrets:
    """Texts to hide wherever they appear in other texts."""

    values: tuple[str, ...] = field(repr=False)
    """The texts, the longest first."""

    @classmethod
    def of(cls, variables: Iterable[tuple[str, str]]) -> Self:
        """Return the secrets among variables, given as name and value, plain, quoted as in URLs and in base64.

        These are values of variables whose names end in KEY, TOKEN or the like, what stands in OPENAI_CUSTOM_HEADERS,
        and logins and values of queries in URLs, if they have SHORTEST characters or more.
        """
        values: list[str] = []
        for name, value in variables:
            values += [value] if is_secret_name(name) else []
            values += _header_values(value) if name == HEADERS else [*_logins(value), *_query_values(value)]
        found = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        # The longest first: a secret that is a part of another must not break it up.
        return cls(tuple(sorted(found, key=lambda value: (-len(value), value))))

    @classmethod
    def of_endpoint(cls, environment: Mapping[str, str], *urls: str) -> Self:
        """Return the secrets sent to an endpoint or proxy: OPENAI_API_KEY, custom headers, and those in `urls`."""
        sent = [(name, environment.get(name, "")) for name in ("OPENAI_API_KEY", HEADERS)]
        return cls.of([*sent, *(("URL", url) for url in urls)])

    def clean(self, text: str) -> str:
        """Return the text with `…` for each secret and any other key, and U+FFFD for lone surrogates."""
        text = storable(text)
        return _IS_A_KEY.sub("…", self._pattern.sub("…", text) if self.values else text)

    def scrubbed(self, text: str) -> str:
        """Return the text on one line of at most 500 characters, with `…` for secrets and whatever looks like a key."""
        return one_line(_LOOKS_LIKE_A_KEY.sub("…", self.clean(text)))

    def are_in(self, text: str) -> bool:
        """Whether the text holds a secret, a text that is almost certainly a key, or a lone surrogate."""
        return self.clean(text) != text

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_split_anywhere, self.values)))


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret: it ends in KEY, TOKEN or the like."""
    return _SECRET_NAME.search(name) is not None


def _split_anywhere(value: str) -> str:
    """Return the pattern of a secret, with invisible characters allowed between its own."""
    # with fewer than SHORTEST visible characters it matches only as it is: they could stand in any text
    # invisible characters of the secret itself belong to the gaps; as separate parts they would make matching slow
    seen = [character for character in value if "!" <= character <= "~"]
    return _UNSEEN.join(map(re.escape, seen)) if len(seen) >= SHORTEST else re.escape(value)


def _forms(value: str) -> Iterator[str]:
    """Yield a secret as it is, quoted as in a URL, and in both alphabets of base64 without `=` at the end."""
    raw = value.encode(errors="surrogateescape")
    yield value
    yield quote(raw, safe="")
    yield from (encode(raw).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode))


def _logins(url: str) -> Iterator[str]:
    """Yield the password of a URL, and `user:password`, decoded; the user if it has no password."""
    userinfo = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    user, has_password, password = userinfo.partition(":")
    if has_password:
        yield from (unquote(password), f"{unquote(user)}:{unquote(password)}")
    else:
        yield unquote(user)  # a token, mostly


def _query_values(url: str) -> Iterator[str]:
    if "://" in url:
        query = url.partition("?")[2].partition("#")[0]
        yield from (value for name, value in parse_qsl(query) if name.lower() not in _PUBLIC_QUERIES)


def _header_values(lines: str) -> Iterator[str]:
    """Yield the values of headers, tokens without the scheme before them, and the values of cookies."""
    for line in lines.splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in _PUBLIC_HEADERS:
            continue
        yield value.strip()
        yield value.strip().partition(" ")[2].strip()
        yield from (part.partition("=")[2].strip(' "') for part in re.split("[;,]", value))
