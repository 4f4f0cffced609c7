"""The objective on a split, from the best scores known of its instances."""

from __future__ import annotations

import math
from collections.abc import Sequence

from behavesim.task import Direction, Objective


def objective_of(direction: Direction, known: Sequence[float], source: str, unit: str) -> Objective:
    """Return the objective whose best known score is the mean of those known, one for each instance of a split."""
    return Objective(direction, math.fsum(known) / len(known), source, unit)
