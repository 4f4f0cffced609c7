"""Routes of vehicles from a depot, node 0: what all tasks of such routes share."""

from __future__ import annotations

from typing import Any

import numpy as np
from behavesim_tasks.decisions import DecisionTask, Integers, Random
from behavesim_tasks.places import clustered, uniform
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Route, Solution, as_integer, as_integers


class RoutingTask(DecisionTask):
    """A task whose decisions are the nodes in the order of the visits, from the depot, 0, back to the depot.

    An instance has `places`, (x, y) of each node.
    """

    kind = "constructive"
    normaliser = 100

    def in_words(self, instance: Any, decision: int) -> str:
        """Return the node `decision` as a phrase such as "customer 7", or "back to the depot" for 0."""
        return f"customer {decision}" if decision else "back to the depot"

    def picture(self, instance: Any) -> Route:
        """Return a picture that draws the visits as one line through the nodes' places."""
        return Route(instance.places)


def nodes_drawn(random: Random, kind: str, size: int) -> tuple[NDArray[np.float64], Integers, NDArray[np.float64]]:
    """Return places of a depot and `size` customers in the unit square, demands from 1 to 9, and all distances.

    All places are uniform if `kind` is "uniform". Else the customers are in clusters, and the depot is at (0, 0).
    """
    places = uniform(random, size + 1) if kind == "uniform" else np.vstack([np.zeros(2), clustered(random, size)])
    demands = np.append(0, random.randint(1, 10, size=size)).astype(np.int64)
    return places, demands, np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))


def chosen(answer: Any, choices: Integers, step: int) -> int:
    """Return a program's answer as an int; raises InvalidSolution if it is no integer or none of the choices.

    `step` is the number of decisions before it, for the message.
    """
    node = as_integer(answer, "the ID of a node, an integer")
    if node not in choices:
        raise InvalidSolution(f"step {step}: expected one of the choices, got {node}")
    return node


def routes_checked(solution: Solution, demands: Integers, capacity: int) -> Integers:
    """Return the visits as int64: from the depot to the depot, with every customer once.

    Raises InvalidSolution for anything else, an empty route, and one whose `demands` are more than `capacity`.
    """
    nodes = len(demands)
    visits = as_integers(solution, nodes, "visits of nodes")
    if len(visits) < 2 or visits[0] != 0 or visits[-1] != 0 or not (visits[1:] | visits[:-1]).all():
        raise InvalidSolution("expected routes that begin and end at the depot, 0, none of them empty")
    if not np.array_equal(np.sort(visits[visits > 0]), np.arange(1, nodes)):
        raise InvalidSolution(f"expected every customer of 1…{nodes - 1} once")
    fullest = int(np.bincount((visits == 0).cumsum(), weights=demands[visits]).max())
    if fullest > capacity:
        raise InvalidSolution(f"expected routes that take up to {capacity}, one takes {fullest}")
    return visits
