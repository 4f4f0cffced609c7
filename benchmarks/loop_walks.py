"""The task of `benchmarks/loop.py` (short tours, built city by city), the same code for all tools, and the peers' runs.

`python loop_walks.py openevolve|llm4ad URL CANDIDATES CONNECTIONS FOLDER` runs a peer to its end: it asks the server at
URL for so many candidates, and writes into FOLDER. It runs in the peer's environment, which has no behavesim.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

INSTANCES, CITIES = 5, 50
ENTRY_POINT = "select_next"
DESCRIPTION = "Build a short tour: choose the city to go to next."
TEMPLATE = '''import numpy as np


def select_next(current: int, unvisited: np.ndarray, distances: np.ndarray) -> int:
    """The city to go to next."""
    steps = distances[current, unvisited]
    onwards = distances[unvisited].mean(axis=1)
    return int(unvisited[np.argmin(steps - 0.1 * onwards)])
'''


@cache
def instances() -> list[np.ndarray]:
    """Return the (CITIES, CITIES) distances of each of the INSTANCES instances, the same in every process."""
    places = np.random.default_rng(7).random((INSTANCES, CITIES, 2))
    return [np.linalg.norm(each[:, None] - each[None], axis=2) for each in places]


def tour(function: Callable[..., Any], distances: np.ndarray) -> np.ndarray:
    """Return the tour, (cities,), from city 0 on that `function` builds by choosing one city after another.

    Choices are not checked here; it does not end while `function` chooses cities that were visited before.
    """
    visited, unvisited = [0], np.arange(1, len(distances))
    while unvisited.size:
        chosen = int(function(visited[-1], unvisited, distances))
        visited.append(chosen)
        unvisited = unvisited[unvisited != chosen]
    return np.array(visited)


def length(distances: np.ndarray, order: np.ndarray) -> float:
    """Return the length of a closed tour; raises ValueError if it does not visit every city once."""
    if sorted(order.tolist()) != list(range(len(distances))):
        raise ValueError("a tour visits every city once")
    return float(distances[order, np.roll(order, -1)].sum())


def mean_length(function: Callable[..., Any]) -> float:
    """Return the mean length of a program's tours over all instances; less is better."""
    return float(np.mean([length(each, tour(function, each)) for each in instances()]))


def program(number: int) -> str:
    """Return the template with a weight that no other number from 0 gives."""
    return TEMPLATE.replace("0.1", f"{(number + 1) / 7919:.9f}")


# The evaluator for OpenEvolve, which loads this file.
EVALUATOR = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import loop_walks as walks


def evaluate(path):
    names = {{}}
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), names)
    return {{"combined_score": -walks.mean_length(names[walks.ENTRY_POINT])}}
"""


def run_openevolve(url: str, candidates: int, connections: int, folder: Path) -> None:
    """Run OpenEvolve to its end; programs and checkpoints go into `folder`.

    It asks for whole programs, without a cascade of evaluations and without artifacts, as its documentation recommends
    for speed. It has `connections` processes. All other settings are its defaults.
    """
    from openevolve import run_evolution
    from openevolve.config import Config, LLMModelConfig

    config = Config(max_iterations=candidates, diff_based_evolution=False, log_level="WARNING")
    config.llm.api_base, config.llm.api_key = url, "none"
    config.llm.models = [LLMModelConfig(api_base=url, api_key="none", name="m", timeout=60, retries=3, retry_delay=1)]
    config.evaluator.parallel_evaluations = connections
    config.evaluator.cascade_evaluation = config.evaluator.enable_artifacts = False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "first.py").write_text(f"# EVOLVE-BLOCK-START\n{TEMPLATE}# EVOLVE-BLOCK-END\n")
    run_evolution(folder / "first.py", folder / "evaluator.py", config, candidates, str(folder / "out"), cleanup=False)


def run_llm4ad(url: str, candidates: int, connections: int, folder: Path) -> None:
    """Run LLM4AD's FunSearch to its end; the log goes into `folder`.

    Evaluations fork instead of spawning, which LLM4AD leaves to choose, and `connections` threads send requests. All
    other settings are its defaults.
    """
    from llm4ad.base import Evaluation
    from llm4ad.method.funsearch import FunSearch
    from llm4ad.method.funsearch.profiler import FunSearchProfiler
    from llm4ad.tools.llm.llm_api_openai import OpenAIAPI

    class Walks(Evaluation):
        """This task for LLM4AD."""

        def __init__(self) -> None:
            super().__init__(TEMPLATE, DESCRIPTION, timeout_seconds=20)

        def evaluate_program(self, program_str: str, callable_func: Any, **kwargs: Any) -> float:
            """Return the negative mean length of the program's tours: higher is better."""
            return -mean_length(callable_func)

    FunSearch(
        OpenAIAPI(url, "none", "plain"),
        Walks(),
        FunSearchProfiler(str(folder), log_style="simple", create_random_path=False),
        num_samplers=connections,
        num_evaluators=os.cpu_count() or 1,
        max_sample_nums=candidates,
        fork_proc=True,
    ).run()


if __name__ == "__main__":
    run = {"openevolve": run_openevolve, "llm4ad": run_llm4ad}[sys.argv[1]]
    run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
