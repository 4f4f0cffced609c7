"""Scores of programs on held-out or shifted instances, and their cache in the run's folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from behavesim.store.folder import HELD_OUT, SHIFTED, RunFolder
from behavesim.task.verdict import Failure, Verdict

Unseen = Literal["held-out", "shifted"]
"""A split that no step of a run uses."""
KEPT: Mapping[Unseen, str] = {"held-out": HELD_OUT, "shifted": SHIFTED}
"""Name of the file in a run's folder that keeps scores on a split."""


@dataclass(frozen=True)
class HeldOutScore:
    """A program's mean score and its score on each instance of a split, in the task's unit.

    If the program failed, `score` is None, `scores` is empty and `reason` says why; otherwise `reason` is None.
    """

    score: float | None
    scores: tuple[float, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, verdict: Verdict | Failure) -> HeldOutScore:
        """Return the scores of a verdict, or the reason of a failure."""
        if isinstance(verdict, Failure):
            return cls(None, reason=verdict.reason)
        return cls(verdict.score, verdict.scores)


class KnownScores:
    """Cache of a split's scores in a file of a run's folder.

    `origin` has hashes of the task and its instances; scores stored under another origin are ignored, and so is a file
    that is no JSON object. Failures are not stored, since a busy machine may have caused them.
    """

    def __init__(self, folder: RunFolder, origin: Mapping[str, str], split: Unseen = "held-out") -> None:
        """Read the cache of a split from the folder.

        `origin` has the hashes of the task and its instances, by name. The cache begins empty if there is no file, if
        it is no JSON object, or if its scores have another origin.
        """
        self._folder, self._file = folder, KEPT[split]
        self._origin = dict(origin)
        self._scores: dict[str, list[Any]] = {}
        try:
            found = json.loads(folder.kept(self._file) or "{}")
        except ValueError:  # damaged: the scores are computed again
            return
        if isinstance(found, dict) and found.get("origin") == self._origin:
            self._scores = found["scores"]

    def of(self, sources: Collection[str]) -> dict[str, HeldOutScore]:
        """Return the scores of those sources that are in the cache, by source."""
        names = {source: _name(source) for source in sources}
        return {
            source: HeldOutScore(self._scores[name][0], tuple(self._scores[name][1]))
            for source, name in names.items()
            if name in self._scores
        }

    def keep(self, scores: Mapping[str, HeldOutScore]) -> None:
        """Add scores, by source, and write the file if any is new; failures are left out.

        Writes nothing if the folder is not writable: the scores are then known to this object alone. Raises
        JournalError if the file cannot be written otherwise.
        """
        fresh = {_name(source): [score.score, list(score.scores)] for source, score in scores.items() if score.scores}
        if fresh.keys() - self._scores.keys():
            self._scores |= fresh
            self._folder.keep(self._file, json.dumps({"origin": self._origin, "scores": self._scores}))


def _name(source: str) -> str:
    """Return the name of a program in the cache: 32 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:32]
