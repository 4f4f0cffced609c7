"""What programs are worth on held-out instances, and what of it is known from earlier reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from behavesim.protocols import Failure, Verdict
from behavesim.store.folder import RunFolder


@dataclass(frozen=True)
class Worth:
    """What a program is worth on the held-out instances; `reason` says why there is no score, where there is none."""

    score: float | None
    scores: tuple[float, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, verdict: Verdict | Failure) -> Worth:
        """The worth by a judge's verdict."""
        if isinstance(verdict, Failure):
            return cls(None, reason=verdict.reason)
        return cls(verdict.score, verdict.scores)


class Kept:
    """What is known of a run's programs on held-out instances, in a file of its folder.

    Under another task it counts for nothing. Failures are not kept: a busy machine may have caused them.
    """

    def __init__(self, folder: RunFolder, origin: Mapping[str, str]) -> None:
        self._folder = folder
        self._origin = dict(origin)
        self._scores: dict[str, list[Any]] = {}
        try:
            found = json.loads(folder.read_held_out() or "{}")
        except ValueError:  # damaged: it is found out once more
            return
        if found.get("origin") == self._origin:
            self._scores = found["scores"]

    def known(self, sources: Collection[str]) -> dict[str, Worth]:
        """The worth of those programs that it is known of."""
        names = {source: _name(source) for source in sources}
        return {
            source: Worth(self._scores[name][0], tuple(self._scores[name][1]))
            for source, name in names.items()
            if name in self._scores
        }

    def keep(self, worths: Mapping[str, Worth]) -> None:
        """Add what has become known."""
        fresh = {_name(source): [worth.score, list(worth.scores)] for source, worth in worths.items() if worth.scores}
        if fresh.keys() - self._scores.keys():
            self._scores |= fresh
            self._folder.write_held_out(json.dumps({"origin": self._origin, "scores": self._scores}))


def _name(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:32]
