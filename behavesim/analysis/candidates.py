"""The candidates of a run, built from its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from behavesim.state.events import TEMPLATE, Added, Asked, CandidateId, Evaluated, Event, GroupName, Rejected, Responded


@dataclass(frozen=True)
class Candidate:
    """One candidate of a run; a field is None, or empty, while its value is unknown.

    `score` and `scores`, one per instance, are in the task's unit. `group` is the group that the candidate was added
    to. `stage`, `reason` and `message` say where and why it was rejected. `copy_of` is the candidate whose result it
    shares. `cpu_s` is the CPU time of its evaluation in seconds.
    """

    candidate: CandidateId
    status: Literal["feasible", "rejected", "open"]
    parents: tuple[CandidateId, ...]
    operator: str
    group: GroupName | None = None
    stage: str | None = None
    reason: str | None = None
    message: str = ""
    score: float | None = None
    scores: tuple[float, ...] = ()
    source: str | None = None
    thought: str = ""
    model: str | None = None
    program_hash: str = ""
    copy_of: CandidateId | None = None
    cpu_s: float | None = None


class Candidates:
    """All candidates that a run asked for, and its template; only `apply` changes them."""

    def __init__(self) -> None:
        self.template: Candidate | None = None
        """The program that the search starts from, which `all` does not contain; None until it is evaluated."""
        self._known: dict[CandidateId, dict[str, Any]] = {}
        self._made: dict[CandidateId, Candidate] = {}  # cache of `_candidate`; a change removes the candidate's entry

    def apply(self, event: Event) -> None:
        """Update the candidate that the event names; events come in the journal's order, others are ignored."""
        match event:
            case Asked(candidate):
                self._known[candidate] = {}
                self._update(candidate, status="open", parents=event.parents, operator=event.prompt.operator)
            case Responded(candidate, reply):
                self._update(candidate, model=reply.model)
            case Evaluated(candidate) if candidate == TEMPLATE:
                self.template = Candidate(TEMPLATE, parents=(), operator="template", **_evaluated(event))
            case Evaluated(candidate):
                self._update(candidate, **_evaluated(event))
            case Rejected(candidate, stage, reason, message):
                failed = {"status": "rejected", "stage": stage, "reason": reason, "message": message}
                self._update(candidate, **failed, **_program(event))
            case Added(candidate, group):
                self._update(candidate, group=group)

    def all(self) -> list[Candidate]:
        """Return the candidates that were asked for, in the order of asking."""
        return [self._candidate(number) for number in self._known]

    def get(self, number: CandidateId) -> Candidate | None:
        """Return a candidate by its number, or the template for -1; None if there is no such candidate."""
        if number == TEMPLATE:
            return self.template
        return self._candidate(number) if number in self._known else None

    def _update(self, candidate: CandidateId, **changes: Any) -> None:
        self._known[candidate].update(changes)
        self._made.pop(candidate, None)

    def _candidate(self, number: CandidateId) -> Candidate:
        if number not in self._made:
            self._made[number] = Candidate(number, **self._known[number])
        return self._made[number]


def _evaluated(event: Evaluated) -> dict[str, Any]:
    worth = {"status": "feasible", "stage": "evaluation", "score": event.score, "scores": event.scores}
    return {**worth, **_program(event)}


def _program(event: Evaluated | Rejected) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ("source", "thought", "program_hash", "copy_of", "cpu_s")}
