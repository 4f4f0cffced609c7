"""Circle packing with numbers of circles that no split of `cpp` holds, for the page on portfolios."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim_tasks.cpp import CirclePacking, Circles

from behavesim.task import Split

COUNTS = (8, 12, 14, 15, 18, 19, 21, 22, 24, 25, 27, 28, 30, 31)
"""Number of circles of each fresh instance, chosen before any program placed so many."""


class FreshCirclePacking(CirclePacking):
    """The task `cpp` with fourteen other numbers of circles as held-out instances.

    Their greatest sums of radii are not known, so `references` is empty.
    """

    references = ()

    def instances(self, split: Split) -> Sequence[Circles]:
        """Return the fresh instances for the split "held-out", and the instances of `cpp` for the others."""
        return tuple(map(Circles, COUNTS)) if split == "held-out" else super().instances(split)


task = FreshCirclePacking()
