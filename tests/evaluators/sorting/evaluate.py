"""ShinkaEvolve's kind: how few comparisons a program sorts with."""

import argparse

from shinka.core import run_shinka_eval


def given(run):
    return {"values": [(7 * place * place + run) % 31 for place in range(12)]}


def validate(result):
    values, _ = result
    if values != sorted(values):
        return False, "the values are not sorted"
    return True, None


def summed_up(results):
    comparisons = [comparisons for _, comparisons in results]
    return {
        "combined_score": 100.0 - sum(comparisons) / len(comparisons),
        "public": {"comparisons": sum(comparisons), "runs": len(results)},
        "private": {"most": max(comparisons), "instance": "secret"},
        "text_feedback": "Fewer comparisons are better.",
        "extra_data": {"all": comparisons},
    }


def main(program_path, results_dir, workers=1):
    run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="sort",
        num_runs=3,
        get_experiment_kwargs=given,
        aggregate_metrics_fn=summed_up,
        validate_fn=validate,
        run_workers=workers,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", default="initial.py")
    parser.add_argument("--results_dir", default="results")
    arguments = parser.parse_args()
    main(arguments.program_path, arguments.results_dir)
