"""The workers of a Dask cluster that evaluated a run's programs, as the run's log names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.base.notices import LoggedNotices, Notice

SERVING, NONE_SERVES = "the cluster: ", "no worker of the cluster serves"
"""How a line of the log begins that says which workers serve now, or that none does."""
ONE = "worker "
"""How a line of the log begins that says what happened to one worker."""
MOST = 50
"""Most changes that are listed, the last ones: a large cluster can lose workers every minute."""


@dataclass(frozen=True)
class Change:
    """Something that happened to the workers, in a sentence; `at` is in seconds since the epoch."""

    at: float
    text: str


@dataclass(frozen=True)
class Workers:
    """The workers of a run's cluster: `serving` says how many served last, and which, since `since`, as in `Change.at`.

    `per_minute` is the number of candidates registered for each active minute of the whole run, None before the first.
    `changes` are the last MOST changes, oldest first: workers that came, were lost, or are left out, and why.
    """

    serving: str
    since: float
    per_minute: float | None
    changes: tuple[Change, ...]


def serving(notices: Sequence[Notice]) -> Notice | None:
    """Return the last notice that says which workers of a cluster serve, with only that as its text; None without."""
    found = next((each for each in reversed(notices) if each.text.startswith((SERVING, NONE_SERVES))), None)
    return found and Notice(found.at, found.text.removeprefix(SERVING))


def workers(run: Run) -> Workers | None:
    """Return the workers of a run's cluster, or None if its log names none.

    The log does not say when a session ended and its workers went.
    """
    try:
        said = LoggedNotices(run.folder.log).all
    except OSError:  # the log is for people, and no view of a run needs it
        return None
    if (now := serving(said)) is None:
        return None
    changes = [each for each in said if each.text.startswith((SERVING, NONE_SERVES, ONE))][-MOST:]
    rate = 60 * run.state.registered / run.active_s if run.active_s else None
    return Workers(now.text, now.at.timestamp(), rate, tuple(Change(c.at.timestamp(), c.text) for c in changes))
