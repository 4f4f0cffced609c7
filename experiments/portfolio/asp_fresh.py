"""Admissible sets of sizes that no split of `asp` holds, for the page on portfolios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from behavesim_tasks.asp import AdmissibleSet, AdmissibleSets

from behavesim.task import Split

SIZES = ((9, 4), (9, 5), (9, 6), (9, 7), (12, 5), (12, 6), (12, 9), (12, 10), (15, 8), (15, 11), (15, 12))
"""n and w of each fresh instance, chosen before any program ran on them."""


class FreshAdmissibleSet(AdmissibleSet):
    """The task `asp` with eleven other sizes as its held-out instances."""

    references = tuple(float(math.comb(n, w)) for n, w in SIZES)

    def instances(self, split: Split) -> Sequence[AdmissibleSets]:
        """Return the fresh sizes for the split "held-out", and the instances of `asp` for the others."""
        return _fresh() if split == "held-out" else super().instances(split)


@cache
def _fresh() -> tuple[AdmissibleSets, ...]:
    return tuple(AdmissibleSets(n, w) for n, w in SIZES)


task = FreshAdmissibleSet()
