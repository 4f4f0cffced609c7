"""What a run remembers of its registered candidates for prompts: best scores, ideas and failures, all bounded."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from behavesim.state.events import CandidateId, Evaluated, Rejected
from behavesim.state.members import OpenCandidate
from behavesim.task import Objective

FAILED = 100
"""Number of the last rejected candidates among which prompts look for those written from the programs they show."""
IDEAS = 8
"""Most ideas of good programs that are remembered."""


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
    """What was tried so far. Only registered candidates count, so that it does not depend on what arrived first."""

    ran: int = 0
    """Number of candidates with a score."""
    failed: int = 0
    """Number of candidates that were rejected."""
    best_scores: tuple[float, ...] = ()
    """The best score on each instance; empty before the first candidate with a score."""
    ideas: tuple[Idea, ...] = ()
    """The ideas of the best programs, best first, equal ones once; at most IDEAS."""
    failures: deque[Failed] = field(default_factory=lambda: deque(maxlen=FAILED))
    """The last rejected candidates, in the order of their numbers."""

    def take(self, registered: OpenCandidate, objective: Objective) -> None:
        """Take in a candidate that is registered now; it must have an outcome."""
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
