"""What differs when the replies of a run are used once more, under other code or other settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from behavesim.analysis.run import Run
from behavesim.state.events import Added, Asked, CandidateId, Evaluated, Rejected
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

ASPECTS = ("prompt", "program", "outcome", "score", "group")
"""What is compared: the question, the program taken from the reply, feasible or why not, the score, the placement."""


@dataclass(frozen=True)
class ReplayDifference:
    """A run beside the one whose replies it had, for the candidates that both were asked for.

    `differing` counts the candidates that differ in each aspect, `first` is the first of them.
    """

    of: str
    candidates: int
    differing: dict[str, int]
    first: dict[str, CandidateId]


def beside_original(run: Run) -> ReplayDifference | None:
    """How a replay differs from the run whose replies it had; None of any other run."""
    kind, _, original = run.settings.proposer.partition(":")
    return replayed(run.folder, RunFolder.find(run.folder.path.parent, original)) if kind == "replay" else None


def replayed(ours: RunFolder, theirs: RunFolder) -> ReplayDifference:
    """Compare a replay with its original; raises JournalError where one of them cannot be read."""
    left, right = _candidates(ours), _candidates(theirs)
    both = sorted(left.keys() & right.keys())
    differing: Counter[str] = Counter()
    first: dict[str, CandidateId] = {}
    for candidate in both:
        for aspect in ASPECTS:
            if left[candidate].get(aspect) != right[candidate].get(aspect):
                differing[aspect] += 1
                first.setdefault(aspect, candidate)
    return ReplayDifference(theirs.run, len(both), {a: differing[a] for a in ASPECTS if differing[a]}, first)


def _candidates(folder: RunFolder) -> dict[CandidateId, dict[str, Any]]:
    found: dict[CandidateId, dict[str, Any]] = {}
    for _, _, event in read_events(folder.journal, only=(Asked, Evaluated, Rejected, Added)):
        match event:
            case Asked(candidate):
                found.setdefault(candidate, {})["prompt"] = event.prompt.text
            case Evaluated(candidate) if candidate in found:
                found[candidate] |= {"program": event.source, "outcome": "feasible", "score": event.score}
            case Rejected(candidate):
                found[candidate] |= {"program": event.source, "outcome": event.reason}
            case Added(candidate):
                found[candidate]["group"] = event.group
    return found
