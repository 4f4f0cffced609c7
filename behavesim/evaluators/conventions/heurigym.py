"""HeuriGym's convention: `solve(input, output)` writes a file, which `verify` checks and `evaluate` gives a cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Convention, EvaluatorFile, Judge, Recorder, Result, Run, Source
from behavesim.evaluators.modules import module_of, program_function
from behavesim.evaluators.source import parameters_of
from behavesim.evaluators.tracing import ANSWERS, numbers, thinned, token

# Name of the file beside the evaluator, by which the convention is found.
_VERIFIER = "verifier.py"
# Where instances are sought, from the evaluator's folder and then from the one above it: the first with files counts.
_DATA = ("dataset/demo", "dataset")


class HeuriGym(Convention):
    """The mean cost over the instances is the score, and a lower one is better."""

    called_as = "HeuriGym calls evaluators"
    shape = "a file with `evaluate(input_file, output_file)` beside a verifier.py"
    example = "--evaluator program/evaluator.py --program solver.py"

    def finds(self, source: Source) -> bool:
        """Whether `evaluate` takes two arguments, and a verifier.py stands beside the file."""
        evaluate = source.functions.get("evaluate")
        has_both = evaluate is not None and len(parameters_of(evaluate)) == 2
        return has_both and (source.path.resolve().parent / _VERIFIER).is_file()

    def decides(self, place: str) -> Mapping[str, Any]:
        """The data may lie one folder up."""
        here = Path(place).parent
        return {"direction": "minimise", **({} if (here / "dataset").is_dir() else {"root": str(here.parent)})}

    def load(self, file: EvaluatorFile) -> Run:
        """Find the instances; return what gives the files that a program writes for them.

        Raises TaskError if there are no instances.
        """
        instances = _instances(Path(file.evaluator).parent)

        def run(program: Path, recorder: Recorder) -> Result:
            solve = program_function(program, "solve", "(input_file, output_file)")
            written: list[str] = []
            for instance in instances:
                output = _output(instance)
                solve(str(instance), str(output))
                written.append(output.read_text())
            return Result(None, answer=json.dumps(written))

        return run

    def load_judge(self, file: EvaluatorFile) -> Judge:
        """Import evaluator and verifier, and find the instances; return what gives the mean cost of the files written.

        Raises TaskError if a file cannot be imported, a function is missing, or there are no instances.
        """
        here = Path(file.evaluator).parent
        evaluate = getattr(module_of(file.evaluator), "evaluate", None)
        verify = getattr(module_of(str(here / _VERIFIER)), "verify", None)
        if not callable(evaluate) or not callable(verify):
            raise TaskError(
                f"{here} needs `evaluate(input_file, output_file)` and, in {_VERIFIER}, `verify` of the same"
            )
        instances = _instances(here)

        def judge(answer: str, _: float) -> Result:
            costs: dict[str, float] = {}
            texts = json.loads(answer)
            for instance, text in zip(instances, texts, strict=True):
                output = _output(instance)
                output.write_text(text)
                is_valid, said = verify(str(instance), str(output))
                if not is_valid:
                    return Result(None, dict(costs), failure=f"{instance.name}: {said or 'invalid'}", is_stated=True)
                cost = numbers({"cost": evaluate(str(instance), str(output))}).get("cost")
                if not isinstance(cost, float):
                    return Result(None, dict(costs), failure=f"{instance.name}: the evaluator gave no finite cost")
                costs[f"cost of {instance.name}"] = cost
            lines = [line for text in texts for line in text.splitlines()]
            steps = tuple(token(line) for line in thinned(lines))
            return Result(sum(costs.values()) / len(costs), dict(costs), steps=steps, traced=ANSWERS)

        return judge


def _output(instance: Path) -> Path:
    return Path(f"/tmp/{instance.name}.output")


def _instances(here: Path) -> Sequence[Path]:
    for place in (folder / name for folder in (here, here.parent) for name in _DATA):
        if place.is_dir() and (found := sorted(filter(_is_instance, place.iterdir()))):
            return found
    raise TaskError(f"there are no instances in a folder {_DATA[0]} beside {here} or in it; fetch the data set first")


def _is_instance(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.suffix.lower() != ".md"


heurigym = HeuriGym()
