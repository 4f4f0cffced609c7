"""Pictures: how the page of a run draws what programs do on an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Route:
    """A picture: prefixes of decisions are a way from place to place, and home; (x, y) of each decision's place."""

    places: tuple[tuple[float, float], ...]
    kind: Literal["route"] = "route"


@dataclass(frozen=True)
class Disks:
    """A picture: each vector is rows of (x, y, radius) in the unit square; a radius of 0 is none yet."""

    kind: Literal["disks"] = "disks"


@dataclass(frozen=True)
class Bins:
    """A picture: decision i is the bin, from 0, that takes an item of size i; bins are as high as their capacity."""

    sizes: tuple[float, ...]
    capacity: float
    kind: Literal["bins"] = "bins"


Picture = Route | Disks | Bins
"""How the trajectories on an instance are drawn."""
