"""Open vehicle routing: as `cvrp`, but the way back to the depot is not counted."""

from __future__ import annotations

from behavesim_tasks.cvrp import FOUND, UNIT, CapacitatedRouting
from behavesim_tasks.known import objective_of

from behavesim.task import Objective, Split

BEST: dict[Split, tuple[float, ...]] = {
    "search": (6.443278, 5.919517, 7.920994, 6.603655, 6.355883),
    "validation": (4.754094, 4.377051, 6.724354, 5.941317),
    "held-out": (4.767865, 4.938237, 6.419500, 6.989520, 8.738524, 9.310229, 9.407995),
}
"""Total length of the shortest open routes known on each instance, in order."""


class OpenRouting(CapacitatedRouting):
    """Serve all customers from a depot by short open routes; a vehicle of limited capacity drives them one by one.

    At each step the function receives the current node, the customers that still fit into the vehicle, nearest first,
    and the depot as the last choice; it returns the node to visit next. The depot ends the route, and a new one begins
    there. The vehicle also goes back when no customer fits. The way back does not count. The score is the mean length
    of all routes together: the shorter the better.
    """

    used_by = "LLM4AD: other instances"
    shifted = ""
    rules = CapacitatedRouting.rules + "\n- A route costs nothing from its last customer back to the depot."
    returns = False
    objective = objective_of("minimise", BEST["search"], FOUND, UNIT)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of BEST."""
        return objective_of("minimise", BEST[split], FOUND, UNIT)


task = OpenRouting()
