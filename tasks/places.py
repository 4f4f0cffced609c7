"""Places in the unit square: drawn uniformly, or in clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from behavesim_tasks.decisions import Random
from numpy.typing import NDArray

Places = NDArray[np.float64]
"""(x, y) of each place, (places, 2) float64."""
A_CLUSTER = 25
"""Mean number of places in a cluster."""
SPREAD = 0.05
"""Standard deviation of a cluster's places around its centre, in each direction, before the map is scaled."""
DIGITS = 6
"""Decimals of rounded coordinates; rounding makes a map with clusters the same on every machine."""


def uniform(random: Random, size: int) -> Places:
    """Return `size` places drawn uniformly from the unit square."""
    return random.rand(size, 2)


def clustered(random: Random, size: int) -> Places:
    """Return `size` places around uniform centres, one for A_CLUSTER places, at least two; scaled and rounded."""
    centres = random.rand(max(2, size // A_CLUSTER), 2)
    places = filling(centres[random.randint(len(centres), size=size)] + SPREAD * random.randn(size, 2))
    return np.round(places, DIGITS)


def places_drawn(random: Random, kind: str, size: int) -> Places:
    """Return `size` places of a kind, "uniform" or "clustered", in the unit square."""
    return uniform(random, size) if kind == "uniform" else clustered(random, size)


def filling(places: NDArray[Any]) -> Places:
    """Return places moved and scaled so that the longer side of their map is 1."""
    corner = places.min(axis=0)
    scaled: Places = (places - corner) / (places.max(axis=0) - corner).max()
    return scaled
