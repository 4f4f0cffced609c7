"""Secrets of the environment: they are told to nobody, whoever they were given to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from behavesim.base.text import one_line

SHORTEST = 8
"""What has fewer characters protects nothing: `EMPTY`, `none`, `ollama`, as local endpoints want them for a key."""

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIAL)S?$", re.IGNORECASE)
_IS_A_KEY = re.compile(r"\b(?:sk|pk|gsk)-[\w-]{16,}")
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|key)-[\w*.…-]{6,}")


@dataclass(frozen=True)
class Secrets:
    """The values of all variables whose names end as those of secrets do; the longest first."""

    values: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """The secrets among an environment's variables, by their names."""
        found = {v for name, v in environment.items() if _SECRET_NAME.search(name) and len(v) >= SHORTEST}
        return cls(tuple(sorted(found, key=lambda value: (-len(value), value))))

    def clean(self, text: str) -> str:
        """The text without the secrets."""
        for value in self.values:
            text = text.replace(value, "…")
        return text

    def scrubbed(self, text: str) -> str:
        """The text on one line of at most 500 characters, without the secrets or anything that looks like a key."""
        return one_line(_LOOKS_LIKE_A_KEY.sub("…", self.clean(text)))

    def are_in(self, text: str) -> bool:
        """Whether the text holds a secret, or what can hardly be anything but a key."""
        return self.clean(text) != text or _IS_A_KEY.search(text) is not None
