"""Circle packing with numbers of circles that no split of `cpp` holds, for the page on portfolios."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim_tasks.cpp import CirclePacking, Circles

from behavesim.task import Split

COUNTS = (8, 12, 14, 15, 18, 19, 21, 22, 24, 25, 27, 28, 30, 31)
"""Circles; written down before any program placed so many."""


class FreshCirclePacking(CirclePacking):
    """The task `cpp`; held out are fourteen other numbers of circles, whose greatest sums nobody has written down."""

    references = ()

    def instances(self, split: Split) -> Sequence[Circles]:
        """Those of `cpp`, and other numbers held out."""
        return tuple(map(Circles, COUNTS)) if split == "held-out" else super().instances(split)


task = FreshCirclePacking()
