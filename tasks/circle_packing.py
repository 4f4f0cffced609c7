"""Circle packing with 26 and 32 circles: as `cpp`, for programs that work for more than one number of circles."""

from behavesim_tasks.best_known import CIRCLE_PACKING
from behavesim_tasks.cpp import CirclePacking, Circles, greatest_distance

from behavesim.task import Objective, Split

# The number of circles in each instance of each split.
SIZES: dict[Split, tuple[int, ...]] = {"search": (26, 32), "validation": (20, 29), "held-out": (15, 23, 30, 35)}


class CirclePackings(CirclePacking):
    """Pack circles into the unit square so that none overlap and the sum of their radii is as great as possible.

    The function receives the number of circles and returns an array with a row (x, y, radius) for each. Every circle
    must lie inside the square, and no two may overlap; a radius may be zero. The score is the mean over two numbers of
    circles of the sum of the radii.
    """

    search_size = "2 instances of {} and {} circles".format(*SIZES["search"])
    rules = CirclePacking.rules.replace(
        "called once, with n = 26; it must work", "called twice, with n = 26 and n = 32; it must work"
    )
    objective = CIRCLE_PACKING.objective("maximise", "sum of radii")
    normaliser = greatest_distance(32)

    def instances(self, split: Split) -> list[Circles]:
        """Return the instances of a split: 26 and 32 circles for the search, other numbers for the others."""
        return [Circles(n) for n in SIZES[split]]

    def objective_on(self, split: Split) -> Objective:
        """Return the objective on a split, with the mean of the sums known there."""
        return CIRCLE_PACKING.objective(self.objective.direction, self.objective.unit, split)


task = CirclePackings()
