"""Makes the best known scores of tasks/best_known.py: solvers work on each instance for a given time.

    python -m benchmarks.best_known cvrp ovrp vrptw --seconds 60

For each instance it prints the score found, beside the one that is written down. A solution counts only if the task
itself takes it, and by the task's own score. Needs the extra `solvers`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from behavesim_tasks.facility_location import Sites
from behavesim_tasks.set_cover import COVERED_BY, Sets
from behavesim_tasks.vrptw import CAPACITY, DAY, SERVICE
from numba import njit

from behavesim.task import Solution, TaskReference

# The best solutions found, by task and split; tests hold that the scores written down are theirs.
SOLUTIONS = Path(__file__).parents[1] / "tests" / "tasks" / "best_known.json"
# PyVRP counts in integers: so many to a unit of distance or time. Its penalties end at 1e5 a unit of load.
UNIT = 1e5


def route(instance: Any, seconds: float, seed: int, returns: bool = True) -> Solution:
    """Return visits of short routes, found by PyVRP; for open routes, `returns` is False and the way back is free."""
    import pyvrp

    timed = hasattr(instance, "windows")
    lengths = np.rint(UNIT * instance.distances).astype(int)
    if not returns:
        lengths[:, 0] = 0
    # times are rounded against the vehicle, so that what is in time here is in time for the task
    times = np.ceil(UNIT * instance.distances).astype(int) if timed else np.zeros_like(lengths)
    day, service = (int(UNIT * DAY), math.ceil(UNIT * SERVICE)) if timed else (0, 0)
    capacity = CAPACITY if timed else instance.capacity
    model = pyvrp.Model()
    places = [model.add_location(x=UNIT * x, y=UNIT * y) for x, y in instance.places]
    depot = model.add_depot(location=places[0])
    for node in range(1, len(places)):
        window: dict[str, int] = {}
        if timed:
            early, late = instance.windows[node]
            window = {"tw_early": math.ceil(UNIT * early), "tw_late": math.floor(UNIT * late)}
        model.add_client(
            location=places[node], delivery=int(instance.demands[node]), service_duration=service, **window
        )
    model.add_vehicle_type(
        num_available=len(places),
        capacity=capacity,
        start_depot=depot,
        end_depot=depot,
        **({"tw_early": 0, "tw_late": day} if timed else {}),
    )
    for a, b in np.ndindex(*lengths.shape):
        if a != b:
            model.add_edge(places[a], places[b], distance=int(lengths[a, b]), duration=int(times[a, b]))
    ends = time.process_time() + seconds
    found = model.solve(lambda _: time.process_time() > ends, seed=seed, display=False).best
    visits = [0]
    for each in found.routes():
        visits += [*(1 + stop.idx for stop in each if not stop.is_depot()), 0]
    return np.array(visits)


def cover(instance: Sets, seconds: float, seed: int) -> Solution:
    """Return sets that cover all elements at a low cost, found by a local search that weights uncovered elements."""
    covers, costs = instance.covers, instance.costs
    lists = [np.flatnonzero(each) for each in covers]
    elements = np.full((len(costs), max(map(len, lists))), -1)
    for row, each in zip(elements, lists, strict=True):
        row[: len(each)] = each
    sets = np.nonzero(covers.T)[1].reshape(covers.shape[1], COVERED_BY)
    best, ends = np.ones(len(costs), bool), time.process_time() + seconds
    _seed(seed)
    while time.process_time() < ends:
        _cover_steps(elements, sets, costs, best, 200_000)
    # in the order of their numbers, each covers something that none before it does: a needless one is left out
    taken: list[int] = []
    for each in np.flatnonzero(best).tolist():
        if (covers[each] & ~covers[taken].any(axis=0)).any():
            taken.append(each)
    return np.array(taken)


@njit
def _seed(seed: int) -> None:
    np.random.seed(seed)


@njit
def _cover_steps(elements, sets, costs, best, steps):  # type: ignore[no-untyped-def]
    """Search from the best cover: drop sets until the cost is below the best, and cover again what that uncovers."""
    # Elements that stay uncovered weigh more after each step, so that the search leaves covers that lead nowhere. A
    # better cover takes the place of the best. What follows is kept up to date by `_drop` and `_add`, as counting all
    # elements anew would cost most of a step.
    taken, cost, least = best.copy(), (costs * best).sum(), (costs * best).sum()
    counts, weights = np.zeros(len(sets), np.int64), np.ones(len(sets))  # taken sets that cover an element; its weight
    for e in range(len(sets)):
        for k in sets[e]:
            counts[e] += taken[k]
    worth = np.zeros(len(costs))  # weight that a set covers alone, or would cover anew
    for e in range(len(sets)):
        for k in sets[e]:
            if counts[e] == 0 or (counts[e] == 1 and taken[k]):
                worth[k] += 1
    # the step in which a set last moved, and whether a neighbour moved since it was dropped: else it would come back
    moved, ready = np.zeros(len(costs), np.int64), np.ones(len(costs), np.bool_)
    # the uncovered elements are open_[:count], in any order; place[e] is where e stands there, or -1
    open_, place, count = np.zeros(len(sets), np.int64), np.full(len(sets), -1), 0
    for step in range(1, steps + 1):
        # drop sets until it is no cover any more, and one more set, which leaves room for others
        forced = False
        while not forced or count == 0:
            if count == 0 and cost < least:
                least = cost
                best[:] = taken
            forced = forced or count > 0
            # a set that moved in the last step stays, or two sets would take turns; any may go while all is covered
            out = _set_to_drop(taken, moved, step - 1 if count > 0 else step + 1, worth, costs)
            if out < 0:
                break
            taken[out], ready[out], moved[out] = False, False, step
            cost -= costs[out]
            count = _drop(out, elements, sets, taken, counts, weights, worth, ready, open_, place, count)
        # cover again, below the best cost
        while count > 0:
            e = open_[np.random.randint(count)]
            into = _set_to_add(sets[e], ready, least - cost, moved, worth, costs)
            if into < 0:
                break
            taken[into], moved[into] = True, step
            cost += costs[into]
            count = _add(into, elements, sets, taken, counts, weights, worth, ready, open_, place, count)
            _make_heavier(open_[:count], sets, weights, worth)
        _make_heavier(open_[:count], sets, weights, worth)


@njit
def _set_to_drop(taken, moved, before, worth, costs):  # type: ignore[no-untyped-def]
    """Return the set of least worth for its cost that last moved before a step; -1 if there is none."""
    out = -1
    for k in range(len(costs)):
        if not taken[k] or moved[k] >= before:
            continue
        # worth / cost, without a division
        is_less = out < 0 or worth[k] * costs[out] < worth[out] * costs[k]
        if is_less or (worth[k] * costs[out] == worth[out] * costs[k] and moved[k] < moved[out]):
            out = k
    return out


@njit
def _set_to_add(covering, ready, room, moved, worth, costs):  # type: ignore[no-untyped-def]
    """Return the set of most worth for its cost that costs less than `room`; -1 if there is none."""
    into = -1
    for k in covering:
        if not ready[k] or costs[k] >= room:
            continue
        is_more = into < 0 or worth[k] * costs[into] > worth[into] * costs[k]
        if is_more or (worth[k] * costs[into] == worth[into] * costs[k] and moved[k] < moved[into]):
            into = k
    return into


@njit
def _drop(out, elements, sets, taken, counts, weights, worth, ready, open_, place, count):  # type: ignore[no-untyped-def]
    """Bring all up to date with a set that was dropped; return the number of uncovered elements."""
    for e in elements[out]:
        if e < 0:
            break
        counts[e] -= 1
        if counts[e] == 0:
            place[e], open_[count], count = count, e, count + 1
        for k in sets[e]:
            ready[k] = ready[k] or k != out
            if k != out and (counts[e] == 0 or (counts[e] == 1 and taken[k])):
                worth[k] += weights[e]
    return count


@njit
def _add(into, elements, sets, taken, counts, weights, worth, ready, open_, place, count):  # type: ignore[no-untyped-def]
    """Bring all up to date with a set that was taken; return the number of uncovered elements."""
    for e in elements[into]:
        if e < 0:
            break
        counts[e] += 1
        if counts[e] == 1:  # the last open element takes its place
            count -= 1
            last = open_[count]
            open_[place[e]], place[last], place[e] = last, place[e], -1
        for k in sets[e]:
            ready[k] = ready[k] or k != into
            if k != into and (counts[e] == 1 or (counts[e] == 2 and taken[k])):
                worth[k] -= weights[e]
    return count


@njit
def _make_heavier(uncovered, sets, weights, worth):  # type: ignore[no-untyped-def]
    """Raise the weights of elements, and the worth of the sets that would cover them."""
    for e in uncovered:
        weights[e] += 1
        for k in sets[e]:
            worth[k] += 1


def open_sites(instance: Sites, seconds: float, seed: int) -> Solution:
    """Return sites to open, found by a tabu search that opens or closes one site at a time."""
    best, ends = np.ones(len(instance.opening), bool), time.process_time() + seconds
    _seed(seed)
    while time.process_time() < ends:
        _site_steps(instance.opening, instance.costs, best, 20_000)
    return np.flatnonzero(best)


@njit
def _site_steps(opening, costs, best, steps):  # type: ignore[no-untyped-def]
    """Search from a disturbed copy of the best sites, and put better ones in their place."""
    sites, customers = costs.shape
    is_open = best.copy()
    for _ in range(np.random.randint(2, 12)):
        k = np.random.randint(sites)
        is_open[k] = not is_open[k]
    is_open[np.random.randint(sites)] = True
    until = np.zeros(sites, np.int64)
    least = _site_cost(opening, costs, best)
    for step in range(steps):
        first, second = np.full(customers, 1 << 40), np.full(customers, 1 << 40)
        nearest = np.zeros(customers, np.int64)
        total = 0
        for k in range(sites):
            if is_open[k]:
                total += opening[k]
                for u in range(customers):
                    if costs[k, u] < first[u]:
                        second[u], first[u], nearest[u] = first[u], costs[k, u], k
                    elif costs[k, u] < second[u]:
                        second[u] = costs[k, u]
        total += first.sum()
        if total < least:
            least = total
            best[:] = is_open
        changes = np.where(is_open, -opening, opening)
        for u in range(customers):
            changes[nearest[u]] += second[u] - first[u]
        for k in range(sites):
            if not is_open[k]:
                for u in range(customers):
                    changes[k] -= max(0, first[u] - costs[k, u])
        chosen = -1
        for k in range(sites):
            if (until[k] <= step or total + changes[k] < least) and (chosen < 0 or changes[k] < changes[chosen]):
                chosen = k
        if chosen >= 0:
            is_open[chosen] = not is_open[chosen]
            until[chosen] = step + np.random.randint(5, 15)


@njit
def _site_cost(opening, costs, is_open):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(len(opening)):
        if is_open[k]:
            total += opening[k]
    for u in range(costs.shape[1]):
        low = 1 << 40
        for k in range(len(opening)):
            if is_open[k]:
                low = min(low, costs[k, u])
        total += low
    return total


# For each task the function that returns a good solution of an instance, within some seconds.
SOLVERS: dict[str, Callable[[Any, float, int], Solution]] = {
    "cvrp": route,
    "ovrp": lambda instance, seconds, seed: route(instance, seconds, seed, returns=False),
    "vrptw": route,
    "set_cover": cover,
    "facility_location": open_sites,
}


def read() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the best solution of each instance, by task and split, with the CPU seconds that were spent on it."""
    return json.loads(SOLUTIONS.read_text()) if SOLUTIONS.exists() else {}


def write(found: dict[str, dict[str, list[dict[str, Any]]]]) -> None:
    """Write the solutions, one instance a line; the file is replaced whole, so that a stop loses nothing."""
    text = json.dumps(found, indent=1, sort_keys=True)
    text = re.sub(r"\n {4,}|\n {3}(?=\})", " ", text)
    draft = SOLUTIONS.with_suffix(".new")
    draft.write_text(text + "\n")
    draft.replace(SOLUTIONS)


def work(name: str, seconds: float, seed: int) -> None:
    """Work on each instance of a task until it has had so many CPU seconds in all, and keep what is better."""
    task = TaskReference(name).load()
    for split in task.splits:
        instances = task.instances(split)
        for place, instance in enumerate(instances):
            kept = read().get(name, {}).get(split, [{}] * len(instances))[place]
            if seconds - (before := kept.get("cpu_s", 0)) < 1:
                continue
            began = time.process_time()
            solution = SOLVERS[name](instance, seconds - before, seed)
            score = task.score(instance, solution)
            old = task.score(instance, np.array(kept["solution"])) if kept else None
            if old is None or (score < old if task.objective.direction == "minimise" else score > old):
                kept["solution"] = solution.tolist()
            kept["cpu_s"] = round(before + time.process_time() - began)
            found = read()
            found.setdefault(name, {}).setdefault(split, [{} for _ in instances])[place] = kept
            write(found)
            print(f"{name} {split} {place}: {score:.6f} after {kept['cpu_s']} s, the best was {old}", flush=True)


def main() -> None:
    """Work on the instances of the tasks that the command names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=SOLVERS)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="CPU seconds that an instance shall have had in all"
    )
    parser.add_argument("--seed", type=int, default=0, help="another one for each time that work goes on")
    arguments = parser.parse_args()
    for name in arguments.tasks:
        work(name, arguments.seconds, arguments.seed)


if __name__ == "__main__":
    main()
