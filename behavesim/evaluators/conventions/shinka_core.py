"""Stand-ins for what ShinkaEvolve's scripts import from `shinka.core`, where that package is not installed."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import pickle
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from behavesim.task.evaluated import INSTANCE

__all__ = ["DEFAULT_METRICS_ON_ERROR", "load_program", "run_shinka_eval", "save_json_results"]

Arguments = dict[str, Any]
Aggregate = Callable[[list[Any]], Arguments]
Validate = Callable[[Any], tuple[bool, str | None]]

# The metrics of a program that raises, unless `default_metrics_on_error` gives other values.
DEFAULT_METRICS_ON_ERROR: Arguments = {
    "combined_score": 0.0,
    "execution_time_mean": 0.0,
    "execution_time_std": 0.0,
    "num_successful_runs": 0,
    "num_valid_runs": 0,
    "num_invalid_runs": 0,
    "all_validation_errors": [],
}


def load_program(program_path: str) -> Any:
    """Execute the Python file at a path and return it as a module."""
    spec = importlib.util.spec_from_file_location("program", program_path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{program_path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_json_results(
    results_dir: str, metrics: Arguments, correct: bool, error: str | None = None, verbose: bool = True
) -> None:
    """Write correct.json and metrics.json into a folder, which is made if missing; `verbose` changes nothing."""
    folder = Path(results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "correct.json").write_text(json.dumps({"correct": correct, "error": error}, indent=4))
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=4))


def run_shinka_eval(
    program_path: str,
    results_dir: str,
    experiment_fn_name: str,
    num_runs: int,
    get_experiment_kwargs: Callable[[int], Arguments] | None = None,
    aggregate_metrics_fn: Aggregate | None = None,
    validate_fn: Validate | None = None,
    plotting_fn: Any = None,
    default_metrics_on_error: Arguments | None = None,
    early_stop_method: Any = None,
    early_stop_threshold: float | None = None,
    early_stop_score_fn: Any = None,
    early_stop_kwargs: Arguments | None = None,
    run_workers: int = 1,
    max_workers_cap: int | None = None,
    verbose: bool | None = None,
) -> tuple[Arguments, bool, str | None]:
    """Call a program's function `num_runs` times, validate and aggregate its results, and write the two JSON files.

    Returns the metrics, whether all runs were valid and the score is finite, and the first error or None. An Exception
    of the program or the given functions gives default metrics and counts as incorrect. Call i, from 0, gets `seed` i +
    1 unless `get_experiment_kwargs` gives its arguments. If INSTANCE is set, that call is the only one. Plots are not
    drawn, and runs are never stopped early.
    """
    if run_workers < 1 or (max_workers_cap is not None and max_workers_cap < 1):
        raise ValueError("run_workers and max_workers_cap must be 1 or more")
    workers = min(run_workers, max_workers_cap or run_workers, max(num_runs, 1))
    try:
        number = os.environ.get(INSTANCE)
        runs = range(num_runs) if number is None else [int(number)]
        given = [get_experiment_kwargs(run) if get_experiment_kwargs else {"seed": run + 1} for run in runs]
        results, taken = _runs(program_path, experiment_fn_name, given, workers)
        checked = [validate_fn(result) for result in results] if validate_fn else []
        failures = [error for is_valid, error in checked if not is_valid]
        errors = list(dict.fromkeys(error for error in failures if error))
        is_correct, first = not failures, f"Validation failed: {errors[0]}" if errors else None
        metrics: Arguments = {"num_successful_runs": len(results)}
        metrics = aggregate_metrics_fn(results) if aggregate_metrics_fn else metrics
        metrics["execution_time_mean"] = statistics.fmean(taken) if taken else 0.0
        metrics["execution_time_std"] = statistics.pstdev(taken) if taken else 0.0
        if validate_fn:
            counts = {"num_valid_runs": len(checked) - len(failures), "num_invalid_runs": len(failures)}
            metrics |= {**counts, "all_validation_errors": errors}
        score = metrics.get("combined_score", 0.0)
        if not math.isfinite(score):
            is_correct = False
            first = first or f"combined_score is {'NaN' if math.isnan(score) else f'inf ({score})'}"
    except Exception as error:  # noqa: BLE001 - a program's fault: else the results would not be written
        print(f"Evaluation error: {error}")  # noqa: T201 - what a script writes is shown if it fails
        told = default_metrics_on_error or {}
        metrics = {name: told.get(name, value) for name, value in DEFAULT_METRICS_ON_ERROR.items()}
        is_correct, first = False, str(error)
    if "extra_data" in metrics:
        folder = Path(results_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "extra.pkl").write_bytes(pickle.dumps(metrics.pop("extra_data")))
    save_json_results(results_dir, metrics, is_correct, first)
    return metrics, is_correct, first


def _runs(path: str, name: str, given: list[Arguments], workers: int) -> tuple[list[Any], list[float]]:
    module = load_program(path)
    if not hasattr(module, name):
        raise AttributeError(f"Experiment function '{name}' not found in {path}")
    if workers == 1:
        timed = [_timed(getattr(module, name), each) for each in given]
    else:
        with ProcessPoolExecutor(workers) as pool:
            timed = list(pool.map(_apart, ((path, name, each) for each in given)))
    return [result for result, _ in timed], [seconds for _, seconds in timed]


def _apart(call: tuple[str, str, Arguments]) -> tuple[Any, float]:
    path, name, given = call
    return _timed(getattr(load_program(path), name), given)


def _timed(function: Callable[..., Any], given: Arguments) -> tuple[Any, float]:
    begun = time.perf_counter()
    return function(**given), time.perf_counter() - begun
