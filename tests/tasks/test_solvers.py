"""Best known scores against independent solvers, those of the extra `solvers`; skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from behavesim_tasks import best_known, cvrp, independent_set, job_shop, knapsack, set_cover
from scipy.optimize import Bounds, LinearConstraint, milp

from behavesim.task import Split
from tests.tasks.test_library import function_of

cp_model, nx, pyvrp = (
    pytest.importorskip(name, reason="needs the extra `solvers`")
    for name in ("ortools.sat.python.cp_model", "networkx", "pyvrp")
)


def highs(costs: Any, rows: Any, low: Any, high: Any) -> float:
    """Return the least value of a program over 0 and 1."""
    found = milp(
        costs, constraints=LinearConstraint(rows, low, high), bounds=Bounds(0, 1), integrality=np.ones(len(costs))
    )
    assert found.status == 0
    return float(found.fun)


def test_no_packing_of_a_knapsack_is_worth_more() -> None:
    items = knapsack.task.instances("validation")[0]
    found = highs(-items.values, items.weights.T, -np.inf, items.room)
    assert -found == pytest.approx(best_known.KNAPSACK.validation[0])


def test_integer_programming_does_not_solve_a_cover_in_200_nodes() -> None:
    sets = set_cover.task.instances("search")[0]
    rows, limit = LinearConstraint(sets.covers.T.astype(int), 1, np.inf), {"node_limit": 200}
    found = milp(sets.costs, constraints=rows, bounds=Bounds(0, 1), integrality=np.ones(150), options=limit)
    assert not found.success
    assert found.mip_dual_bound < 0.9 * best_known.SET_COVER.search[0] <= 0.9 * found.fun


@pytest.mark.parametrize(("split", "place"), [("shifted", 1), ("held-out", 6)])
def test_no_schedule_of_a_job_shop_is_shorter(split: Split, place: int) -> None:
    shop, model = job_shop.task.instances(split)[place], cp_model.CpModel()
    machines: dict[int, list[Any]] = {}
    longest = model.new_int_var(0, int(shop.times.sum()), "longest")
    for times, route in zip(shop.times.tolist(), shop.machines.tolist(), strict=True):
        ready: Any = 0
        for time, machine in zip(times, route, strict=True):
            begin = model.new_int_var(0, int(shop.times.sum()), "begin")
            machines.setdefault(machine, []).append(model.new_fixed_size_interval_var(begin, time, "step"))
            model.add(begin >= ready)
            ready = begin + time
        model.add(longest >= ready)
    for steps in machines.values():
        model.add_no_overlap(steps)
    model.minimize(longest)
    solver = cp_model.CpSolver()
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    assert solver.objective_value == getattr(best_known.JOB_SHOP, split.replace("-", "_"))[place]


@pytest.mark.parametrize(("split", "place"), [("validation", 0), ("shifted", 0)])
def test_routes_are_as_short_as_those_of_another_solver(split: Split, place: int) -> None:
    shop, model = cvrp.task.instances(split)[place], pyvrp.Model()
    places = [model.add_location(x=x, y=y) for x, y in shop.places]
    depot = model.add_depot(location=places[0])
    for location, demand in zip(places[1:], shop.demands[1:].tolist(), strict=True):
        model.add_client(location=location, delivery=demand)
    model.add_vehicle_type(num_available=len(places), capacity=shop.capacity, start_depot=depot, end_depot=depot)
    for a, b in np.ndindex(*shop.distances.shape):
        if a != b:
            model.add_edge(places[a], places[b], distance=round(1e4 * shop.distances[a, b]))
    found = model.solve(pyvrp.stop.MaxIterations(1500), seed=3, display=False).best
    visits = [
        node for route in found.routes() for node in (0, *(each.idx + 1 for each in route if not each.is_depot()))
    ]
    assert cvrp.task.score(shop, np.array([*visits, 0])) == pytest.approx(found.distance() / 1e4, abs=0.01)
    known = getattr(best_known.CVRP, split)[place]
    assert known - 0.01 <= found.distance() / 1e4 <= 1.01 * known


def test_sets_of_vertices_are_independent_as_another_library_has_it() -> None:
    task = independent_set.task
    for instance in task.instances("search")[:3]:
        chosen = task.solve(function_of(task), instance)
        graph = nx.from_numpy_array(instance)
        assert nx.is_dominating_set(graph, chosen.tolist())  # none can be added
        assert not graph.subgraph(chosen.tolist()).edges
