"""The scores of programs on held-out instances, and those that earlier reports found out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from behavesim.state.verdict import Failure, Verdict
from behavesim.store.folder import RunFolder


@dataclass(frozen=True)
class HeldOutScore:
    """A program's mean score and that of each instance; where it failed there, None, nothing, and the reason why."""

    score: float | None
    scores: tuple[float, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, verdict: Verdict | Failure) -> HeldOutScore:
        """The scores of a verdict, or the reason of a failure."""
        if isinstance(verdict, Failure):
            return cls(None, reason=verdict.reason)
        return cls(verdict.score, verdict.scores)


class KnownScores:
    """The held-out scores of a run's programs that are known, in a file of its folder.

    Those found under another task (`origin`) count for nothing. Failures are not kept: a busy machine may have caused
    them.
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

    def of(self, sources: Collection[str]) -> dict[str, HeldOutScore]:
        """The scores of those programs whose score is known."""
        names = {source: _name(source) for source in sources}
        return {
            source: HeldOutScore(self._scores[name][0], tuple(self._scores[name][1]))
            for source, name in names.items()
            if name in self._scores
        }

    def keep(self, scores: Mapping[str, HeldOutScore]) -> None:
        """Add scores by their programs' sources; failures are left out."""
        fresh = {_name(source): [score.score, list(score.scores)] for source, score in scores.items() if score.scores}
        if fresh.keys() - self._scores.keys():
            self._scores |= fresh
            self._folder.write_held_out(json.dumps({"origin": self._origin, "scores": self._scores}))


def _name(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:32]
