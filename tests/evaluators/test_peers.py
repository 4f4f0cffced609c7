"""LLM4AD's own classes, unchanged: the same scores as its own evaluation gives."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from behavesim.evaluators.evaluation import verdict_of
from behavesim.task.verdict import Verdict
from tests.evaluators.judging import file_of, results

pytest.importorskip(
    "llm4ad", reason="llm4ad is not installed with what it imports: pip install --no-deps llm4ad, and pytz"
)

NEXT = "def select_next_node(current_node, depot, unvisited_nodes, *others):\n    distances = others[-1]\n"
TIMED = NEXT.replace("others[-1]", "others[3]")
CITIES = "def select_next_node(current, end, unvisited_nodes, distances):\n"
ITEM = "def select_next_item(capacity, items):\n    fitting = [item for item in items if item[0] <= capacity]\n"
SUBSET = (
    "def select_next_subset(selected, remaining, elements):\n    gain = lambda s: len(set(s) & set(elements))\n"
    "    if not elements: return None\n"
)
ASSIGN = (
    "def select_next_assignment(current, flow, distances):\n    places = range(len(current))\n"
    "    free = [place for place in places if place not in current]\n"
    "    todo = [facility for facility in places if current[facility] == -1]\n"
)
VARIANTS: dict[str, list[str]] = {
    "tsp_construct:TSPEvaluation": [
        CITIES + "    return unvisited_nodes[np.argmin(distances[current][unvisited_nodes])]\n",
        CITIES + "    return unvisited_nodes[np.argmax(distances[current][unvisited_nodes])]\n",
        CITIES + "    score = distances[current] - 0.4 * distances[end]\n"
        "    return unvisited_nodes[np.argmin(score[unvisited_nodes])]\n",
    ],
    "ovrp_construct:OVRPEvaluation": [
        NEXT + "    return unvisited_nodes[np.argmin(distances[current_node][unvisited_nodes])]\n",
        NEXT + "    return unvisited_nodes[-1]\n",
        NEXT + "    return unvisited_nodes[np.argmax(distances[depot][unvisited_nodes])]\n",
    ],
    "vrptw_construct:VRPTWEvaluation": [
        TIMED + "    return unvisited_nodes[-1]\n",
        TIMED + "    return unvisited_nodes[len(unvisited_nodes) // 2]\n",
        TIMED + "    return 1 / 0\n",
    ],
    "knapsack_construct:KnapsackEvaluation": [
        ITEM + "    return max(fitting, key=lambda item: item[1] / item[0], default=None)\n",
        ITEM + "    return min(fitting, key=lambda item: item[0], default=None)\n",
        ITEM + "    return fitting[-1] if fitting else None\n",
    ],
    "set_cover_construct:SCPEvaluation": [
        SUBSET + "    return max(remaining, key=gain, default=None)\n",
        SUBSET + "    return next((s for s in remaining if gain(s)), None)\n",
        SUBSET + "    return remaining[-1] if remaining else None\n",
    ],
    "qap_construct:QAPEvaluation": [
        ASSIGN + "    current[todo[0]] = free[-1]\n    return current\n",
        ASSIGN + "    current[todo[-1]] = free[0]\n    return current\n",
        ASSIGN + "    current[todo[0]] = free[len(free) // 2]\n    return current\n",
    ],
    "online_bin_packing:OBPEvaluation": [
        "def priority(item, bins):\n    return bins - item\n",
        "def priority(item, bins):\n    return -np.abs(bins - item - 30)\n",
        "def priority(item, bins):\n    return bins[0]\n",
    ],
}


@pytest.mark.parametrize("place", VARIANTS)
def test_a_class_gives_the_scores_that_its_own_project_gives(place):
    folder, _, name = place.partition(":")
    module = f"llm4ad.task.optimization.{folder}.evaluation"
    evaluation = getattr(importlib.import_module(module), name)()
    template = str(evaluation.template_program)
    imports = "import numpy as np\n"
    programs = [template, *(imports + variant for variant in VARIANTS[place])]
    theirs = [scored(evaluation, program) for program in programs]
    ours = results(file_of("llm4ad", f"{module}:{name}"), *programs)
    assert [each.score for each in ours] == theirs
    assert sum(score is not None for score in theirs) >= 3
    assert [isinstance(verdict_of(each, 0.0), Verdict) for each in ours] == [score is not None for score in theirs]
    assert {each.traced for each in ours if each.score is not None} <= {"calls", "answers"}


def scored(evaluation: Any, program: str) -> Any:
    """The score of a program by LLM4AD's own evaluation, in this process."""
    from llm4ad.base import SecureEvaluator

    evaluation.safe_evaluate = False
    return SecureEvaluator(evaluation).evaluate_program(program)
