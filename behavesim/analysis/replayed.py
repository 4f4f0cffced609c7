"""How a replay differs from the run whose replies it used, under other code or other settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from behavesim.analysis.run import Run
from behavesim.state.events import Added, Asked, CandidateId, Evaluated, Rejected
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

ASPECTS = ("prompt", "program", "outcome", "score", "island")
"""What is compared: the prompt's text, the program read from the reply, "feasible" or the reason of rejection, the
score, and the island that the candidate was added to."""


@dataclass(frozen=True)
class ReplayDifference:
    """How a replay differs from the run `of`, over the `candidates` that both runs asked for.

    `differing` maps an aspect to the number of candidates that differ in it, and `first` to the first such candidate;
    aspects without a difference are missing in both.
    """

    of: str
    candidates: int
    differing: dict[str, int]
    first: dict[str, CandidateId]

    def lines(self) -> list[str]:
        """Return a sentence for each aspect in which candidates differ, or one that says that all are equal."""
        if not self.differing:
            return [f"all {self.candidates} candidates are as in {self.of}"]
        return [
            f"{count} of {self.candidates} candidates have another {aspect} than in {self.of}, "
            f"first candidate {self.first[aspect]}"
            for aspect, count in self.differing.items()
        ]


def beside_original(run: Run) -> ReplayDifference | None:
    """Compare a replay with its original, which is looked up in the same runs folder; None if `run` is no replay.

    Raises UsageError if the original is not found, JournalError if a journal cannot be read.
    """
    kind, _, original = run.settings.proposer.partition(":")
    return replayed(run.folder, RunFolder.find(run.folder.path.parent, original)) if kind == "replay" else None


def replayed(ours: RunFolder, theirs: RunFolder) -> ReplayDifference:
    """Compare the replay `ours` with the original `theirs`; raises JournalError if a journal cannot be read."""
    left, right = _candidates(ours), _candidates(theirs)
    both = sorted(left.keys() & right.keys())
    found = {aspect: [c for c in both if left[c].get(aspect) != right[c].get(aspect)] for aspect in ASPECTS}
    differing = {aspect: candidates for aspect, candidates in found.items() if candidates}
    counts = {aspect: len(candidates) for aspect, candidates in differing.items()}
    return ReplayDifference(theirs.run, len(both), counts, {aspect: each[0] for aspect, each in differing.items()})


def _candidates(folder: RunFolder) -> dict[CandidateId, dict[str, Any]]:
    """Return the known aspects of each candidate asked for, by name; the last prompt and outcome of a repaired one."""
    found: dict[CandidateId, dict[str, Any]] = {}
    for _, _, event in read_events(folder.journal, only=(Asked, Evaluated, Rejected, Added)):
        match event:
            case Asked(candidate):
                found.setdefault(candidate, {})["prompt"] = event.prompt.text
            case Evaluated(candidate) if candidate in found:  # the template was not asked for
                found[candidate] |= {"program": event.source, "outcome": "feasible", "score": event.score}
            case Rejected(candidate):
                found[candidate] |= {"program": event.source, "outcome": event.reason}
            case Added(candidate):
                found[candidate]["island"] = event.group
    return found
