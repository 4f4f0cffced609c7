"""Open vehicle routing: as `cvrp`, but the way back to the depot is not counted."""

from behavesim_tasks.best_known import OVRP
from behavesim_tasks.cvrp import CapacitatedRouting


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
    best_known = OVRP
    objective = OVRP.objective("minimise", "total length of routes")


task = OpenRouting()
