"""Pack circles into a square: the program returns a packing, and an evaluator's own validator judges it, trusted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import behavesim as bs

TEMPLATE = '''
import numpy as np


def pack(count: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns the centres (count, 2) and the radii (count,) of circles in the unit square that do not overlap.
    Args:
        count: Number of circles.
    """
    side = int(np.ceil(np.sqrt(count)))
    grid = (np.arange(side) + 0.5) / side
    centres = np.array([(x, y) for x in grid for y in grid])[:count]
    return centres, np.full(count, 0.45 / side)
'''


def fault_of(centres: np.ndarray, radii: np.ndarray, count: int) -> str:
    """The validator as the evaluator had it: what is wrong with a packing, "" if nothing is."""
    if centres.shape != (count, 2) or radii.shape != (count,) or not np.isfinite(centres.sum() + radii.sum()):
        return f"{count} centres and radii are wanted"
    if (radii < 0).any() or (centres - radii[:, None] < 0).any() or (centres + radii[:, None] > 1).any():
        return "a circle leaves the square"
    for i in range(count):
        for j in range(i):
            if np.hypot(*(centres[i] - centres[j])) < radii[i] + radii[j]:
                return f"circles {j} and {i} overlap"
    return ""


class Packing(bs.Task):
    """Pack circles into the unit square; the score is the sum of their radii: the greater the better."""

    template = TEMPLATE
    objective = bs.Objective("maximise")
    normaliser = 5.0  # two states of 11 circles are nearer than sqrt(11 * (1 + 1 + 0.25))

    def instances(self, split: bs.Split) -> Sequence[int]:
        """The numbers of circles."""
        return {"search": [7, 10], "validation": [8], "held-out": [11]}[split]

    def solve(self, pack: Callable[..., Any], count: int) -> dict[str, np.ndarray]:
        """Runs in the sandbox: the evaluator's line that calls the program."""
        centres, radii = pack(count)
        return {"centres": np.asarray(centres, float), "radii": np.asarray(radii, float)}

    def score(self, count: int, solution: Mapping[str, np.ndarray]) -> bs.Score:
        """Runs in trusted code: the rest of the evaluator. It adds up the radii itself."""
        centres, radii = solution["centres"], solution["radii"]
        if fault := fault_of(centres, radii, count):
            raise bs.InvalidSolution(fault)
        return bs.Score(float(radii.sum()), {"smallest": float(radii.min())})

    def trajectory(self, count: int, solution: Mapping[str, np.ndarray]) -> bs.Trajectory:
        """State t is the first t circles in the order of the program; the others are zero."""
        circles = np.column_stack([solution["centres"], solution["radii"]])
        shown = np.tri(count)[:, :, None]
        return bs.Trajectory.vectors((shown * circles).reshape(count, -1))


task = Packing()
