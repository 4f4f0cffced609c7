"""The tasks of the library: golden values, optima of small instances by enumeration, and strict checks."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from behavesim_offline.proposer import Breeder
from behavesim_tasks import (
    best_known,
    cap_set,
    cvrp,
    facility_location,
    graphs,
    job_shop,
    knapsack,
    offline_bin_packing,
    qap,
    schedule,
    set_cover,
    vrptw,
)
from behavesim_tasks.decisions import DecisionTask

from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import judge_of
from behavesim.state.settings import value_hash
from behavesim.task import SPLITS, InvalidSolution, InWords, Solution, Split, Task, TaskReference, installed_tasks
from behavesim.task.verdict import Verdict

GOLDEN: dict[str, tuple[float, float, float]] = {
    "bbob": (0.7419, 0.3199, 0.686),
    "cap_set": (256, 64, 58.6667),
    "circle_packing": (0.78, 0.735, 0.7475),
    "cvrp": (14.3627, 11.922, 15.0349),
    "facility_location": (74706.5, 63975.6667, 75164.7143),
    "flow_shop": (1640.25, 1460.3333, 1484.25),
    "graph_colouring": (12.875, 12.25, 11.625),
    "independent_set": (41, 39.5, 42.25),
    "job_shop": (1655, 1624, 1409.5714),
    "knapsack": (40299, 28796.25, 36139.1667),
    "offline_bin_packing": (36.7, 39, 58.8),
    "ovrp": (9.2933, 7.6537, 10.3535),
    "qap": (2066.5, 1395.5, 2159.5),
    "set_cover": (6095.4, 5266.0, 6123.3333),
    "vrptw": (17.2592, 16.1529, 18.751),
}
"""Mean score of the template on each split."""
TASKS = {name: TaskReference(name).load() for name in GOLDEN}
NAMES = [
    pytest.param(name, marks=pytest.mark.skipif(name == "bbob" and find_spec("ioh") is None, reason="needs ioh"))
    for name in TASKS
]
RANDOM = np.random.RandomState(7)


def function_of(task: Task, source: str = "") -> Callable[..., Any]:
    """Return the function of a program, the template's if no source is given."""
    names: dict[str, Any] = {}
    exec(source or task.template, names)
    function: Callable[..., Any] = names[task.entry_point]
    return function


def score_of(task: Task, function: Callable[..., Any], split: Any) -> float:
    solved = [(instance, task.solve(function, instance)) for instance in task.instances(split)]
    return task.mean_score([float(task.score(*each)) for each in solved])


@pytest.mark.parametrize("name", installed_tasks())
def test_a_copy_of_a_task_file_alone_is_the_same_task(name: str, tmp_path: Path) -> None:
    task, file = TaskReference(name).load(), tmp_path / "copied.py"
    file.write_bytes(Path(str(sys.modules[type(task).__module__].__file__)).read_bytes())
    copied = TaskReference(str(file)).load()
    assert type(copied).__module__ != type(task).__module__
    for asked in ("template", "description", "rules", "grammar", "objective", "normaliser", "splits"):
        assert getattr(copied, asked) == getattr(task, asked)


@pytest.mark.parametrize("name", [name for name in installed_tasks() if TaskReference(name).load().endless])
def test_instances_by_number_begin_with_those_of_the_split_and_go_on_with_others(name: str) -> None:
    task = TaskReference(name).load()
    seen = list[str]()
    for split in task.splits:
        known = task.instances(split)
        made = [value_hash(task.instance(split, number)) for number in range(len(known) + 2)]
        assert made[: len(known)] == list(map(value_hash, known))
        assert made[-1] == value_hash(task.instance(split, len(known) + 1))
        seen += made
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("name", NAMES)
def test_the_template_has_its_golden_score_and_is_not_better_than_the_best_known(name: str) -> None:
    task = TASKS[name]
    for split, golden in zip(SPLITS, GOLDEN[name], strict=True):
        score, objective = score_of(task, function_of(task), split), task.objective_on(split)
        assert score == pytest.approx(golden, abs=5e-5)
        assert objective.direction == task.objective.direction
        gap = objective.gap(score)
        assert gap is None or (gap > 0 and objective.source)
    assert task.objective == task.objective_on("search")


def test_no_independent_set_that_is_known_is_larger_than_the_normaliser() -> None:
    known = best_known.INDEPENDENT_SET
    assert TASKS["independent_set"].normaliser >= max(*known.search, *known.validation, *known.held_out)


@pytest.mark.parametrize(
    ("name", "most"),
    [("set_cover", lambda one: len(one.costs)), ("facility_location", lambda one: len(one.opening))],
)
def test_no_solution_can_have_more_decisions_than_the_normaliser(name: str, most: Callable[[Any], int]) -> None:
    assert TASKS[name].normaliser >= max(map(most, TASKS[name].instances("search")))


BEST_KNOWN = json.loads((Path(__file__).parent / "best_known.json").read_text())
"""The best solutions that `python -m benchmarks.best_known` found, by task and split, and the CPU seconds spent."""


@pytest.mark.parametrize("name", BEST_KNOWN)
def test_the_best_known_scores_are_those_of_solutions_that_the_task_takes_and_none_has_a_gap_below_0(name: str) -> None:
    task = TASKS[name]
    assert set(BEST_KNOWN[name]) == set(task.splits)
    for split, solutions in BEST_KNOWN[name].items():
        scores = [
            float(task.score(instance, np.array(each["solution"])))
            for instance, each in zip(task.instances(split), solutions, strict=True)
        ]
        known = getattr(task.best_known, split.replace("-", "_"))
        for score, best in zip(scores, known, strict=True):
            assert best <= score < best + 1e-6  # written down to six decimals, the rest cut off
        assert (task.objective_on(split).gap(task.mean_score(scores)) or 0) >= 0


def to_any_place(shop: Any) -> float:
    """Return the least length of the ways to all customers, each from the place nearest to it."""
    distances = shop.distances + np.diag(np.full(len(shop.distances), np.inf))
    return float(distances[:, 1:].min(axis=0).sum())


def relaxed(items: knapsack.Items) -> float:
    """Return the most that fits if items can be cut, and one resource alone is limited: the scarcest."""
    least = np.inf
    for weights, room in zip(items.weights.T, items.room, strict=True):
        order = np.argsort(-items.values / weights)
        taken = np.clip((room - (weights[order].cumsum() - weights[order])) / weights[order], 0, 1)
        least = min(least, float((taken * items.values[order]).sum()))
    return least


def cliques(graph: graphs.Graph) -> int:
    """Return a number of cliques that have all vertices: an independent set has at most one of each."""
    found: list[list[int]] = []
    for vertex in range(len(graph)):
        fitting = next((clique for clique in found if graph[vertex, clique].all()), None)
        if fitting is None:
            found.append(fitting := [])
        fitting.append(vertex)
    return len(found)


def clique(graph: graphs.Graph) -> int:
    """Return the size of a clique: as many colours are needed."""
    found: list[int] = []
    for vertex in np.argsort(-graph.sum(axis=0)):
        if graph[vertex, found].all():
            found.append(vertex)
    return len(found)


def flow_bound(times: np.ndarray[Any, Any]) -> int:
    """Return how long the busiest machine takes, with the shortest way to it and from it."""
    before = np.cumsum(times, axis=1) - times
    after = times.sum(axis=1, keepdims=True) - before - times
    return int((times.sum(axis=0) + before.min(axis=0) + after.min(axis=0)).max())


def assignment_bound(sites: qap.Sites) -> int:
    """Return what it costs if the greatest flows go the shortest ways."""
    pairs = np.triu_indices(len(sites.flows), 1)
    return int(np.sort(sites.flows[pairs]) @ -np.sort(-sites.distances[pairs]))


BOUNDS: dict[str, Callable[[Any], float]] = {
    "cvrp": to_any_place,
    "ovrp": to_any_place,
    "vrptw": to_any_place,
    "knapsack": relaxed,
    "set_cover": lambda sets: float(
        (sets.costs / sets.covers.sum(axis=1))[:, None]
        .repeat(sets.covers.shape[1], 1)
        .min(axis=0, where=sets.covers, initial=np.inf)
        .sum()
    ),
    "facility_location": lambda sites: float(sites.opening.min() + sites.costs.min(axis=0).sum()),
    "independent_set": cliques,
    "graph_colouring": clique,
    "flow_shop": flow_bound,
    "job_shop": lambda shop: max(
        shop.times.sum(axis=1).max(), np.bincount(shop.machines.ravel(), weights=shop.times.ravel()).max()
    ),
    "qap": assignment_bound,
    "offline_bin_packing": lambda items: -(-int(items.sizes.sum()) // items.capacity),
    "cap_set": lambda space: 3**space.n,
}
"""For each task a bound on all scores of an instance: from below if they are minimised, else from above."""


@pytest.mark.parametrize("name", BOUNDS)
def test_a_best_known_score_lies_between_a_bound_and_the_template_on_every_instance(name: str) -> None:
    task, sign = TASKS[name], 1 if TASKS[name].objective.direction == "minimise" else -1
    for split in task.splits:
        known, instances = getattr(task.best_known, split.replace("-", "_")), task.instances(split)
        assert len(known) in (0, len(instances))
        for instance, best in zip(instances, known, strict=False):
            template = float(task.score(instance, task.solve(function_of(task), instance)))
            assert sign * BOUNDS[name](instance) <= sign * best <= sign * template


def numbers_of(instance: Any) -> str:
    """Return what an instance is given by, in words: all its numbers."""
    fields = {"": instance} if isinstance(instance, np.ndarray) else dataclasses.asdict(instance)
    return str({name: np.asarray(value).tolist() for name, value in fields.items()})


@pytest.mark.parametrize("name", NAMES)
def test_splits_differ_and_a_program_that_writes_into_what_it_is_given_changes_none(name: str) -> None:
    task = TASKS[name]
    drawn = [numbers_of(instance) for split in SPLITS for instance in task.instances(split)]
    assert len(set(drawn)) == len(drawn)
    function, instance = function_of(task), task.instances("search")[0]

    def spoiling(*arguments: Any) -> Any:
        answer = copy.deepcopy(function(*arguments))
        for each in arguments:
            if isinstance(each, np.ndarray) and each.ndim < 2:
                each[...] = 0
        return answer

    solution = task.solve(spoiling, instance)
    assert numbers_of(instance) == drawn[0] == numbers_of(copy.deepcopy(instance))  # the sandbox copies it
    assert np.array_equal(solution, task.solve(function, instance))


@pytest.mark.parametrize("name", NAMES)
def test_decisions_have_words_and_the_trajectory_grows(name: str) -> None:
    task = TASKS[name]
    instance = task.instances("search")[0]
    solution = task.solve(function_of(task), instance)
    trajectory = task.trajectory(instance, solution)
    assert len(trajectory) > 1
    assert task.kind != "other" and task.search_size and task.rules.count("\n- ") >= 1
    if task.kind in ("constructive", "priority"):
        assert task.in_words(instance, int(np.asarray(solution)[0]))
        assert len(trajectory) <= 1.1 * float(task.normaliser)
    task.picture(instance)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_a_prompt_has_words_and_what_the_steps_cost_is_the_score(name: str) -> None:
    task, words = TASKS[name], InWords(TASKS[name])
    instance = task.instances("search")[0]
    solution = task.solve(function_of(task), instance)
    trajectory = task.trajectory(instance, solution)
    assert words.instance(0)
    if trajectory.kind != "prefixes":
        return
    decisions = [int(each) for each in trajectory.data]
    said = [words.choice(0, decisions[:at], each) for at, each in enumerate(decisions)]
    assert all(said)
    assert len(set(said)) > 1
    if costs := words.costs(0, decisions):
        assert sum(costs) == pytest.approx(float(task.score(instance, solution)))


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_its_grammar_run(name: str) -> None:
    task, breeder = TASKS[name], Breeder(TASKS[name])
    instance, scores = task.instances("search")[0], []
    for seed in range(8):
        _, reply = breeder.write("i1", [], np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            solution = task.solve(function_of(task, reply.split("```")[1].removeprefix("python\n")), instance)
        scores.append(float(task.score(instance, solution)))
    assert len(set(scores)) > 1


def wrong(solution: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return what is never a solution, from one that is: a row of integers."""
    return {
        "nothing": None,
        "a list": solution.tolist(),
        "a text": np.array("0"),
        "a number": np.array(0),
        "empty": solution[:0],
        "two rows": np.stack([solution, solution]),
        "fractions": solution.astype(float),
        "texts": solution.astype(str),
        "below 0": np.where(solution == solution.max(), -1, solution),
        "too great": np.where(solution == solution.max(), 10**6, solution),
        "twice": np.concatenate([solution, solution]),
        "the last one repeated": np.append(solution[:-2], [solution[-1]] * 2),
    }


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.kind in ("constructive", "priority")])
def test_what_is_no_solution_is_refused_with_a_reason(name: str) -> None:
    task = TASKS[name]
    instance = task.instances("search")[0]
    for words, solution in wrong(np.asarray(task.solve(function_of(task), instance))).items():
        for judge in (task.score, task.trajectory):
            with pytest.raises(InvalidSolution, match=r"expected"):
                pytest.fail(f"{words}: {judge(instance, solution)!r:.80} was taken")


@pytest.mark.parametrize("split", SPLITS)
def test_the_best_known_packings_of_items_that_are_all_known_are_lower_bounds(split: Split) -> None:
    task = TASKS["offline_bin_packing"]
    bounds = [-(-int(items.sizes.sum()) // items.capacity) for items in task.instances(split)]
    assert task.objective_on(split).best_known == pytest.approx(np.mean(bounds))


def test_the_rules_of_two_packings_name_both_numbers_of_circles() -> None:
    assert "called twice, with n = 26 and n = 32" in TASKS["circle_packing"].rules


REVERSING = """
import sys

def {name}(*arguments, _honest={name}):
    def reverse(frame, event, answer):
        if event == "return" and frame.f_code.co_name == "solve":
            answer[:] = answer[::-1].copy()
    sys.setprofile(reverse)
    return _honest(*arguments)
"""


@pytest.mark.parametrize("name", ["cap_set", "facility_location", "independent_set", "knapsack", "set_cover"])
async def test_a_program_that_turns_its_solution_round_once_it_is_made_has_the_behaviour_of_its_choices(
    name: str,
) -> None:
    task = TaskReference(name).load()
    settings = settings_from_person({"task": name, "allow_weak_isolation": True}, task=task)
    async with judge_of(settings, task) as judge:
        honest = await judge.evaluate(task.template)
        turned = await judge.evaluate(task.template + REVERSING.replace("{name}", task.entry_point))
    assert isinstance(honest, Verdict) and isinstance(turned, Verdict), turned
    assert (turned.score, turned.trajectories) == (honest.score, honest.trajectories)


DEAR_APART = {"asp", "tsp"}
"""Tasks whose questions are too many or too large to be sent to a process of its own; docs/explanation/security.md."""


@pytest.mark.parametrize("name", installed_tasks())
def test_a_program_shares_no_process_with_the_choices_of_its_task_but_on_tours_and_admissible_sets(name: str) -> None:
    task = TaskReference(name).load()
    assert task.runs_apart or not isinstance(task, DecisionTask) or name in DEAR_APART


def few(answer: str) -> tuple[Callable[..., int], Callable[..., Any]]:
    """Return how many answers a function of this kind can give to its arguments, and the i-th of them."""
    match answer:
        case "choice":
            return lambda current, choices, *_: len(choices), lambda i, current, choices, *_: choices[i]
        case "placement":
            return lambda added, *_: added.size, lambda i, added, *_: (np.arange(added.size) == i).reshape(added.shape)
        case "or none":
            return lambda first, *_: len(first) + 1, lambda i, first, *_: 1.0 * (np.arange(len(first)) == i)
        case "left":
            return lambda *each: len(each[-1]), lambda i, *each: np.arange(len(each[-1])) == i
    return lambda first, *_: len(first), lambda i, first, *_: np.arange(len(first)) == i


def every_solution(task: Task, instance: Any, answer: str) -> Iterator[Solution]:
    """Yield the solutions that all sequences of answers lead to."""
    count, answered = few(answer)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script, asked = scripts.pop(), []

        def function(*arguments: Any, script: tuple[int, ...] = script, asked: list[int] = asked) -> Any:
            asked.append(count(*arguments))
            return answered(script[len(asked) - 1] if len(asked) <= len(script) else 0, *arguments)

        yield task.solve(function, instance)
        for place in range(len(script), len(asked)):
            rest = (0,) * (place - len(script))
            scripts += [(*script, *rest, other) for other in range(1, asked[place])]


def subsets(count: int) -> Iterator[list[int]]:
    return (list(each) for size in range(1, count + 1) for each in itertools.combinations(range(count), size))


def routes_of(order: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield all ways to cut an order of customers into routes."""
    for cuts in itertools.product([False, True], repeat=len(order) - 1):
        routes = [[order[0]]]
        for customer, cut in zip(order[1:], cuts, strict=True):
            if cut:
                routes.append([])
            routes[-1].append(customer)
        yield routes


def best_routes(instance: Any, customers: int, fits: Callable[[list[int]], bool], returns: bool = True) -> float:
    """Return the least total length of routes that fit, over all orders and cuts."""
    d = instance.distances

    def length(route: list[int]) -> float:
        stops = [0, *route, 0] if returns else [0, *route]
        return sum(float(d[pair]) for pair in itertools.pairwise(stops))

    cut = (routes for order in itertools.permutations(range(1, customers + 1)) for routes in routes_of(order))
    return min(sum(map(length, routes)) for routes in cut if all(map(fits, routes)))


def in_time(shop: vrptw.Customers, route: list[int]) -> bool:
    time, here = 0.0, 0
    for node in route:
        time = max(time + shop.distances[here, node], shop.windows[node, 0])
        if time > shop.windows[node, 1]:
            return False
        time, here = time + vrptw.SERVICE, node
    return bool(time + shop.distances[here, 0] <= vrptw.DAY)


def makespan(shop: job_shop.Shop, order: Sequence[int]) -> int:
    done, ready, free = [0] * len(shop.times), [0] * len(shop.times), [0] * shop.times.shape[1]
    for job in order:
        machine = shop.machines[job, done[job]]
        ready[job] = free[machine] = max(ready[job], free[machine]) + int(shop.times[job, done[job]])
        done[job] += 1
    return max(ready)


def flow_time(times: np.ndarray[Any, Any], order: Sequence[int]) -> int:
    ends = np.zeros((len(order) + 1, times.shape[1] + 1), int)
    for (i, job), machine in itertools.product(enumerate(order, 1), range(1, times.shape[1] + 1)):
        ends[i, machine] = max(ends[i - 1, machine], ends[i, machine - 1]) + times[job, machine - 1]
    return int(ends[-1, -1])


def fewest_bins(sizes: Sequence[int], capacity: int) -> int:
    groups = itertools.product(range(len(sizes)), repeat=len(sizes))
    loads = (np.bincount(group, weights=sizes) for group in groups)
    return min(int((load > 0).sum()) for load in loads if load.max() <= capacity)


def fewest_colours(graph: graphs.Graph) -> int:
    edges = np.argwhere(np.triu(graph))
    colourings = itertools.product(range(len(graph)), repeat=len(graph))
    return min(max(c) + 1 for c in colourings if all(c[a] != c[b] for a, b in edges))


KNAPSACK = knapsack.Knapsack.draw(RANDOM, 6, 5, 0.5)
COVER = set_cover.Sets(RANDOM.randint(1, 9, 6), RANDOM.rand(6, 5) < 0.5)
SITES = facility_location.Sites(RANDOM.randint(500, 900, 4), RANDOM.randint(1, 999, (4, 5)))
GRAPH = graphs.uniform_graph(RANDOM, 6, 0.5)
CROWN = np.kron([[0, 1], [1, 0]], 1 - np.eye(3)).astype(bool)
FLOW = schedule.draw_times(873654221, 5, 4)
SHOP = job_shop.Shop(schedule.draw_times(840612802, 3, 3), schedule.draw_orders(398197754, 3, 3))
PLACES = qap.QuadraticAssignment.draw(RANDOM, 2, 2)
ITEMS = offline_bin_packing.Items(np.array([60, 50, 40, 30, 20]), 100)
CITIES = cvrp.Customers(
    cvrp.CapacitatedRouting.draw(RANDOM, "uniform", 50).distances[:5, :5], np.array([0, 9, 8, 2, 5]), 12, ()
)
TIMED = vrptw.RoutingWithTimeWindows.draw(RANDOM, 4)
SMALL: dict[str, tuple[Any, str, float]] = {
    "knapsack": (
        *(KNAPSACK, "priority"),
        max(KNAPSACK.values[s].sum() for s in subsets(6) if (KNAPSACK.weights[s].sum(0) <= KNAPSACK.room).all()),
    ),
    "set_cover": (COVER, "priority", min(COVER.costs[s].sum() for s in subsets(6) if COVER.covers[s].any(0).all())),
    "facility_location": (
        *(SITES, "or none"),
        min(SITES.opening[s].sum() + SITES.costs[s].min(0).sum() for s in subsets(4)),
    ),
    "independent_set": (GRAPH, "priority", max(len(s) for s in subsets(6) if not GRAPH[np.ix_(s, s)].any())),
    "graph_colouring": (CROWN, "left", fewest_colours(CROWN)),
    "flow_shop": (FLOW, "priority", min(flow_time(FLOW, p) for p in itertools.permutations(range(5)))),
    "job_shop": (SHOP, "priority", min(makespan(SHOP, p) for p in {*itertools.permutations([0, 1, 2] * 3)})),
    "qap": (
        *(PLACES, "placement"),
        min((PLACES.flows * PLACES.distances[np.ix_(p, p)]).sum() / 2 for p in itertools.permutations(range(4))),
    ),
    "offline_bin_packing": (ITEMS, "priority", fewest_bins(ITEMS.sizes.tolist(), 100)),
    "cvrp": (CITIES, "choice", best_routes(CITIES, 4, lambda route: CITIES.demands[route].sum() <= 12)),
    "ovrp": (CITIES, "choice", best_routes(CITIES, 4, lambda route: CITIES.demands[route].sum() <= 12, returns=False)),
    "vrptw": (TIMED, "choice", best_routes(TIMED, 4, lambda route: in_time(TIMED, route))),
}
"""A small instance of each task, how its function answers, and the optimum by enumeration of all solutions."""


@pytest.mark.parametrize("name", SMALL)
def test_some_sequence_of_answers_leads_to_the_optimum_of_a_small_instance_and_none_beyond(name: str) -> None:
    task, (instance, answer, optimum) = TASKS[name], SMALL[name]
    best = min if task.objective.direction == "minimise" else max
    scores = [float(task.score(instance, solution)) for solution in every_solution(task, instance, answer)]
    assert len(set(scores)) > 1
    assert best(scores) == pytest.approx(optimum)


def test_cap_sets_of_small_dimensions_have_no_three_on_a_line_and_reach_the_largest() -> None:
    task, found = TASKS["cap_set"], []
    space = cap_set.Space(3)
    for seed in range(60):
        priorities = dict(zip(space.vectors, np.random.default_rng(seed).random(27), strict=True))
        solution = task.solve(lambda el, n, priorities=priorities: priorities[el], space)
        rows = np.array(space.vectors)[solution]
        lines = (rows[:, None, None] + rows[:, None] + rows) % 3
        assert ((lines == 0).all(axis=-1).sum()) == len(rows)  # a line's vectors add up to 0; so does thrice one vector
        found.append(float(task.score(space, solution)))
    assert max(found) == 9
    with pytest.raises(InvalidSolution, match="on a line"):
        task.score(space, np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("name", "solution", "reason"),
    [
        ("knapsack", np.arange(100), "too much of resource"),
        ("set_cover", np.array([0, 1]), "are not covered"),
        ("independent_set", np.arange(100), "two of its vertices are joined"),
        ("cvrp", np.array([0, *range(1, 51), 0]), "routes that take up to 40"),
        ("cvrp", np.array([*range(1, 51), 0]), "begin and end at the depot"),
        ("cvrp", np.array([0, *range(1, 50), 0]), "every customer of 1…50 once"),
        (
            "vrptw",
            np.array([0, *itertools.chain(*([c, 0] for c in range(1, 49))), 49, 50, 0]),
            "served in time|take up",
        ),
        ("qap", np.arange(20), "each facility and each location once"),
        ("job_shop", np.zeros(225, int), "each of 15 jobs 15 times"),
        ("graph_colouring", np.zeros(49, int), "each of 0…48 once"),
    ],
)
def test_a_solution_that_breaks_a_rule_of_its_task_is_refused(name: str, solution: Any, reason: str) -> None:
    with pytest.raises(InvalidSolution, match=reason):
        TASKS[name].score(TASKS[name].instances("search")[0], solution)


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("qap", np.zeros(3), "expected priorities of shape (20, 20), got (3,)"),
        ("qap", np.zeros((20, 19)), "expected priorities of shape (20, 20), got (20, 19)"),
        ("cvrp", 999, "step 1: expected one of the choices, got 999"),
        ("ovrp", -1, "step 1: expected one of the choices, got -1"),
        ("vrptw", 999, "step 1: expected one of the choices, got 999"),
    ],
)
def test_an_answer_that_is_none_of_the_choices_is_refused(name: str, answer: Any, reason: str) -> None:
    with pytest.raises(InvalidSolution, match=re.escape(reason)):
        TASKS[name].solve(lambda *_: answer, TASKS[name].instances("search")[0])


def test_published_items_are_held_out_alone() -> None:
    published, usual = [TaskReference(f"bin_packing{size}").load() for size in (":weibull5k", "")]
    for split in ("search", "validation"):
        pairs = zip(published.instances(split), usual.instances(split), strict=True)
        assert all(np.array_equal(one.sizes, other.sizes) for one, other in pairs)
    assert [published.instance_name(each) for each in published.instances("held-out")] == ["5000 items"] * 5


def test_published_instances_are_those_of_their_lists() -> None:
    assert schedule.draw_times(873654221, 5, 20)[0].tolist()[:10] == [54, 83, 15, 71, 77, 36, 53, 38, 27, 87]  # ta001
    assert schedule.draw_times(840612802, 15, 15)[0].tolist()[:5] == [94, 66, 10, 53, 26]  # ta01
    assert (schedule.draw_orders(398197754, 15, 15)[0] + 1).tolist()[:5] == [7, 13, 5, 8, 4]
    assert sum(map(sum, job_shop.FT06[0])) == 197
    queens = graphs.queens_graph(8)
    assert (len(queens), int(queens.sum()) // 2) == (64, 728)
