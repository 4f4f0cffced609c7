"""What a run remembers of its registered candidates for prompts: best scores, ideas and failures, all bounded."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from behavesim.state.events import CandidateId, Evaluated, Rejected
from behavesim.state.members import OpenCandidate
from behavesim.task import Objective

FAILED = 100
"""Number of rejected candidates that are remembered, the latest ones. A prompt looks among them for those that were
written from the programs that it shows."""
IDEAS = 8
"""Largest number of ideas of good programs that are remembered."""


@dataclass(frozen=True)
class Failed:
    """A rejected candidate, without its source, and the programs that its prompt showed."""

    parents: tuple[CandidateId, ...]
    rejected: Rejected


@dataclass(frozen=True)
class Idea:
    """The thought of a program, which is not empty, and the program's score."""

    score: float
    candidate: CandidateId
    thought: str


@dataclass
class Tried:
    """What prompts say of all registered candidates of a run.

    Candidates that are not registered yet do not count, so the order in which replies arrive does not matter.
    """

    ran: int = 0
    """Number of registered candidates with a score."""
    failed: int = 0
    """Number of registered candidates that were rejected."""
    best_scores: tuple[float, ...] = ()
    """The best score of any registered candidate on each instance; empty before the first with a score."""
    ideas: tuple[Idea, ...] = ()
    """The ideas of the best programs, best first, at most IDEAS; programs with one idea count once, by the best
    score."""
    failures: deque[Failed] = field(default_factory=lambda: deque(maxlen=FAILED))
    """The last FAILED candidates that were rejected, in the order of their numbers."""

    def take(self, registered: OpenCandidate, objective: Objective) -> None:
        """Count a candidate that is registered now; it must have an outcome."""
        outcome = registered.outcome
        if isinstance(outcome, Rejected):
            self.failed += 1
            self.failures.append(Failed(registered.asked.parents, replace(outcome, source="")))
        elif isinstance(outcome, Evaluated):
            self.ran += 1
            better = max if objective.direction == "maximise" else min
            self.best_scores = tuple(map(better, self.best_scores or outcome.scores, outcome.scores))
            if outcome.thought:
                self._take_idea(Idea(outcome.score, outcome.candidate, outcome.thought), objective)

    def _take_idea(self, idea: Idea, objective: Objective) -> None:
        same = next((each for each in self.ideas if each.thought == idea.thought), None)
        if same and objective.utility(same.score) >= objective.utility(idea.score):
            return
        kept = [*(each for each in self.ideas if each is not same), idea]
        # `sorted` is stable: of equally good programs the older one comes first
        self.ideas = tuple(sorted(kept, key=lambda each: -objective.utility(each.score))[:IDEAS])
