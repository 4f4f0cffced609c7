"""Pictures: how the HTML page of a run draws trajectories on an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Route:
    """Draws a trajectory of prefixes as a closed tour; the decision `d` stands for the point `places[d]`, as (x, y)."""

    places: tuple[tuple[float, float], ...]
    kind: Literal["route"] = "route"


@dataclass(frozen=True)
class Disks:
    """Draws each state of a trajectory of vectors as disks in the unit square; every three numbers are x, y, radius.

    A disk of radius 0 is not drawn.
    """

    kind: Literal["disks"] = "disks"


@dataclass(frozen=True)
class Bins:
    """Draws a trajectory of prefixes as bins: the i-th decision is the number, from 0, of the i-th item's bin."""

    sizes: tuple[float, ...]
    """The sizes of the items, in the order of the decisions."""
    capacity: float
    """The height of every bin, in the unit of the sizes."""
    kind: Literal["bins"] = "bins"


Picture = Route | Disks | Bins
"""Any of the pictures."""
