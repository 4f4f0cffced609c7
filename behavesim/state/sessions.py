"""Events of a run's sessions: it began, was resumed in another process, was forked from another run, or stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from behavesim.base.score_source import ScoreSource
from behavesim.base.text import one_line
from behavesim.task.evaluated import TRAJECTORY

_LONGEST_BEHAVIOUR = 40


@dataclass(frozen=True)
class RunStarted:
    """The run began. It holds the resolved settings, the provenance (hashes and versions) and the isolation level."""

    settings: Mapping[str, Any]
    provenance: Mapping[str, str]
    isolation: str

    @property
    def score_source(self) -> ScoreSource:
        """Who computes the run's scores; "trusted" if the provenance does not say, as in older journals."""
        return "self-reported" if self.provenance.get("score_source") == "self-reported" else "trusted"

    @property
    def behaviour(self) -> str | None:
        """What programs are compared by; None if unknown, as in older journals of runs with an evaluator.

        It is TRAJECTORY for a task's own trajectories. With an evaluator it is the name of what that left: "calls",
        "answers", "metrics" or "trajectory.json", in any case one line of at most 40 characters.
        """
        if self.score_source == "trusted":
            return TRAJECTORY
        return one_line(self.provenance.get("behaviour", ""), _LONGEST_BEHAVIOUR) or None


@dataclass(frozen=True)
class RunResumed:
    """The run was resumed in a new process.

    The candidates `asked_again` and the notes `notes_again`, by number, have no reply yet. Those that no open batch has
    are requested again while the caps allow it. At most `unanswered` of their earlier requests were sent and may have
    been billed. `price_list` names the list of prices used from here on.
    """

    asked_again: tuple[int, ...]
    isolation: str
    # fields that older journals lack have defaults, and stand last
    unanswered: int = 0
    price_list: str = ""
    notes_again: tuple[int, ...] = ()


@dataclass(frozen=True)
class RunForked:
    """The run was forked from the run with the id `run`: the events before this one are copies of that run's.

    `settings` and `provenance` are the fork's, in force from here on.
    """

    run: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class RunStopped:
    """A session of the run ended, and was not killed.

    `reason` is "budget" if all candidates were registered, else a cap's name, "interrupted", "recovered" or "failed".
    `under_way` counts requests that may have been billed although no stored reply holds their usage; None if unknown.
    `message` says what went wrong, in one line; empty unless the reason is "failed", and in older journals.
    """

    reason: str
    under_way: int | None = field(default=None, repr=False)
    message: str = field(default="", repr=False)
