"""What a person is told of a cluster's workers: which serve, which were lost, and that none serves."""

from __future__ import annotations

from collections.abc import Callable, Collection

from behavesim.base.text import counted
from behavesim.cluster.link import Link
from behavesim.sandbox.isolation import LEVELS

MOST_NAMED = 8
"""Most serving workers that one line names, and most lost ones that are told of between two looks."""
LOOKS_WITHOUT = 5
"""Looks in a row at which no worker serves, after which a person is told."""


class News:
    """Calls `tell` with a line for a person when the workers that serve have changed.

    A look is an answer of the scheduler to the question which workers there are. `window` is the most programs in
    progress at once, None for no bound: a person is told, once, if workers have more places than that.
    """

    def __init__(self, tell: Callable[[str], None], window: int | None) -> None:
        self._tell = tell
        self._window = window
        self._told = ""  # the last line on the workers that serve
        self._lost = 0  # workers lost since the last look
        self._looks_without = 0

    def lost(self, name: str, why: object) -> None:
        """Tell that a worker was lost and why; of those between two looks, only the first MOST_NAMED are told."""
        self._told = ""  # if it serves again, that is told
        self._lost += 1
        if self._lost <= MOST_NAMED:
            self._tell(f"worker {name} was lost: {why}")

    def looked(self, links: Collection[Link], starting: int) -> None:
        """Tell after a look which workers serve, if that changed, and once if none did at LOOKS_WITHOUT looks.

        `links` lead to the workers that serve; `starting` is the number of those that do not serve yet.
        """
        if (more := self._lost - MOST_NAMED) > 0:
            self._tell(f"worker losses: {more} more at the same time")
        self._lost = 0
        self._looks_without = 0 if links else self._looks_without + 1
        if links and (said := _serving(links)) != self._told:
            self._tell(said)
            self._told = said
            self._tell_idle(sum(link.places for link in links))
        elif self._looks_without == LOOKS_WITHOUT:
            also = f" yet; {counted(starting, 'worker')} starting" if starting else ""
            self._tell(f"no worker of the cluster serves{also}; programs wait for one")
            self._told = ""

    def _tell_idle(self, places: int) -> None:
        """Tell, once, if some of the workers' places will never be used."""
        if self._window is not None and places > self._window:
            said = f"at most {self._window} of these places are used: the window is {self._window}"
            self._tell(f"{said}, which is fixed for a run; begin another with --window {4 * places}")
            self._window = None


def _serving(links: Collection[Link]) -> str:
    """Return how many workers serve, their places, the weakest isolation among them, and the names of the first."""
    names = sorted(link.name for link in links)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    isolation = min((link.isolation for link in links), key=LEVELS.index)
    places = counted(sum(link.places for link in links), "place")
    said = f"the cluster: {counted(len(names), 'worker')}, {places}, isolation {isolation}"
    return f"{said} ({', '.join(names[:MOST_NAMED])}{more})"
