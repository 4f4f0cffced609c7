"""OpenEvolve's convention: `evaluate(program_path)`, or stages of it, returns metrics; CodeEvolve's writes them."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.evaluators.conventions import Convention, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.modules import StandIns, function_in, module_of, numbered_arguments
from behavesim.evaluators.scores import choose_score, is_flag, misread_score, stated_error
from behavesim.evaluators.source import parameters_of
from behavesim.evaluators.tracing import is_number, numbers, watch_module

# The name under which an evaluator's file is imported, the same as in OpenEvolve.
_MODULE = "evaluation_module"
_SHOWN = 2_000


@dataclass
class EvaluationResult:
    """Stand-in for OpenEvolve's class of results, used where the package `openevolve` is not installed."""

    metrics: dict[str, Any]
    artifacts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics: dict[str, Any]) -> EvaluationResult:
        """Return a result with these metrics and no artifacts."""
        return cls(metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics."""
        return self.metrics

    def has_artifacts(self) -> bool:
        """Whether there are artifacts."""
        return bool(self.artifacts)

    def get_artifact_keys(self) -> list[str]:
        """Return the names of the artifacts."""
        return list(self.artifacts)

    def get_artifact_size(self, key: str) -> int:
        """Return the size in bytes of an artifact, or of its text in UTF-8; 0 if the name `key` is unknown."""
        value = self.artifacts.get(key, b"")
        return len(value if isinstance(value, bytes) else str(value).encode())

    def get_total_artifact_size(self) -> int:
        """Return the size of all artifacts together in bytes."""
        return sum(map(self.get_artifact_size, self.artifacts))


class OpenEvolve(Convention):
    """Stages run only if there are thresholds: at most one stage more than thresholds."""

    called_as = "OpenEvolve calls evaluators"
    shape = "a file with `evaluate(program_path)`, or `evaluate_stage1` to 3"
    example = "--evaluator evaluator.py --program initial_program.py"
    has_configuration = averages = True
    called = "evaluate"
    judged_by = "judge_program"
    results = ""
    """Path of the file that `evaluate` writes its metrics into; "" if it returns them."""

    def finds(self, source: Source) -> bool:
        """Whether one of the names is bound, and no class is the evaluator."""
        return not source.name and bool({"evaluate", "evaluate_stage1"} & source.names)

    def most_thresholds(self, place: str) -> int:
        """Return one for each stage but the last, one for a single stage, else 0."""
        bound = Source(place).names
        stages = next((stage for stage in range(3) if f"evaluate_stage{stage + 1}" not in bound), 3)
        return max(stages - 1, 1) if stages else 0

    def load(self, file: EvaluatorFile) -> Run:
        """Import the evaluator's file; return a function that runs its stages, or else its `evaluate`, on a program.

        Raises TaskError, in one line, if the file cannot be imported or has no function to call.
        """
        install_stand_ins()
        module = module_of(file.evaluator, _MODULE)
        stages = (_stages(module) if file.thresholds else []) or [_whole(module)]

        def run(program: Path, recorder: Recorder) -> Result:
            watch_module(program, recorder)
            results = Path(self.results) if self.results else None
            return _staged(stages[: len(file.thresholds) + 1], file, str(program), results)

        return run


class CodeEvolve(OpenEvolve):
    """What it does not say is as with OpenEvolve."""

    called_as = "CodeEvolve calls evaluators"
    shape = "a file with `evaluate(program_path, results_path)`, which writes JSON"
    example = "--evaluator evaluate.py --program src/init_program.py"
    has_configuration = averages = False
    results = "/tmp/results.json"

    def finds(self, source: Source) -> bool:
        """Whether `evaluate` takes two arguments, the second of which is for results."""
        taken = parameters_of(source.functions["evaluate"]) if "evaluate" in source.functions else []
        return len(taken) == 2 and taken[1].startswith("result")

    def decides(self, place: str) -> Mapping[str, Any]:
        """Configurations beside the evaluator's folder say which number is the score, if they agree."""
        texts = [path.read_text(errors="replace") for path in sorted(Path(place).parents[1].glob("configs/*.yaml"))]
        found = {name for text in texts for name in re.findall(r"fitness_key['\"]?: *['\"]?(\w+)", text)}
        return {"metric": found.pop()} if len(found) == 1 else {}


openevolve, codeevolve = OpenEvolve(), CodeEvolve()


def install_stand_ins() -> None:
    """Make importable what evaluators import from OpenEvolve, where that package is not installed."""
    offered = {"EvaluationResult": EvaluationResult}
    StandIns({"openevolve": offered, "openevolve.evaluation_result": offered}).install()


def evaluate_program(module: ModuleType, program: Path, metric: str = "") -> Result:
    """Return the result of `evaluate` in a module for a program at a path; without `evaluate`, that of its stages.

    `metric` names the number that is the score, "" for the usual one. CodeEvolve's `evaluate` writes its metrics into
    the program's folder. Stages run up to the first that raises or gives no finite score. Raises TaskError if the
    module has neither, TypeError if a function returns no metrics. Raises what `evaluate`, or a stage that is the only
    one, raises.
    """
    stages = [_whole(module)] if callable(getattr(module, "evaluate", None)) else _stages(module) or [_whole(module)]
    parameters = list(inspect.signature(stages[0]).parameters)
    results = program.parent / "results.json" if parameters[1:] and parameters[1].startswith("result") else None
    file = EvaluatorFile("openevolve", "", "", thresholds=(-math.inf,) * len(stages), metric=metric)
    return _staged(stages, file, str(program), results)


def _whole(module: ModuleType) -> Callable[..., Any]:
    return function_in(module, "evaluate", "(program_path)`; write it, or name another file")


def _stages(module: ModuleType) -> list[Callable[..., Any]]:
    named = (getattr(module, f"evaluate_stage{number}", None) for number in (1, 2, 3))
    return [stage for stage in takewhile(callable, named) if stage]


def _staged(stages: list[Callable[..., Any]], file: EvaluatorFile, program: str, results: Path | None) -> Result:
    # A threshold saves work and rejects nobody: a program that is worse keeps the score by all metrics so far, and the
    # later stages are left out. A stage fails if it raises or gives no score. The exception of an only stage is raised.
    # later stages may leave out what earlier ones measured: all of it counts, as in OpenEvolve
    metrics, artifacts = dict[str, Any](), dict[str, Any]()
    found, metric = Result(None), file.metric
    for number, stage in enumerate(stages, 1):
        try:
            given = _called(stage, program, results)
        except Exception as error:  # a program's fault: else what earlier stages found out is lost
            if len(stages) == 1:
                raise
            said = "".join(traceback.format_exception(error))[-_SHOWN:]
            failure = f"stage {number} of {len(stages)} raised {type(error).__name__}: {error}"
            return replace(found, score=None, feedback=f"{found.feedback}\n{said}", failure=failure, stage=number)
        metrics |= _metrics(given)
        # a plain dict may hold artifacts too: as one text their line breaks would be escapes
        told = metrics.pop("artifacts") if isinstance(metrics.get("artifacts"), Mapping) else None
        artifacts |= told or getattr(given, "artifacts", None) or {}
        # an early stage may lack the metric: its threshold is then for the usual score
        is_early = number < len(stages) and metric not in metrics
        found = _result(metrics, artifacts, "" if is_early else metric, results is None)
        if number == len(stages):
            break
        if found.score is None:
            return replace(found, stage=number)  # its failure says why
        needed, score = file.thresholds[number - 1], found.score
        how = "below" if file.direction == "maximise" else "above"
        if score < needed if how == "below" else score > needed:
            said = f"stopped at stage {number} of {len(stages)}: its score {score:.6g} is {how} {needed:g}"
            if metric and is_early:  # scores of two kinds cannot be compared
                return replace(found, score=None, stage=number, failure=f"{said}, and it gives no {metric}")
            return replace(found, stage=number, feedback=f"{said}\n{found.feedback}".rstrip())
    return found


def _called(stage: Callable[..., Any], program: str, results: Path | None) -> Any:
    """Return what a stage returns for a program at a path; a coroutine is run to its end."""
    more = numbered_arguments(stage)
    returned = stage(program, **more) if results is None else stage(program, str(results), **more)
    if results is not None:
        return json.loads(results.read_text()) if results.is_file() else {}
    if inspect.isawaitable(returned):

        async def wait() -> Any:
            return await returned

        return asyncio.run(wait())
    return returned


def _metrics(returned: Any) -> Mapping[str, Any]:
    if is_number(returned) and not is_flag(returned):
        return {"score": returned}
    found = returned if isinstance(returned, Mapping) else getattr(returned, "metrics", None)
    if not isinstance(found, Mapping):
        raise TypeError(
            f"`evaluate` must return a number, a dict of metrics or an EvaluationResult, not {type(returned).__name__}"
        )
    return found


def _result(
    metrics: Mapping[str, Any], artifacts: Mapping[str, Any], metric: str = "", averages: bool = True
) -> Result:
    """Return the Result of metrics and artifacts; the artifacts and metrics that are not numbers become feedback."""
    known = numbers(metrics)
    said = {name: value for name, value in metrics.items() if name not in known} | dict(artifacts)
    feedback = "\n".join(f"{name}: {_text(value)}" for name, value in said.items() if value is not None)
    if words := stated_error(metrics, artifacts):
        return Result(None, known, feedback, words, is_stated=True)
    if not metric and (words := misread_score(metrics, known)):
        return Result(None, known, feedback, words)
    # as in OpenEvolve, neither flags nor an `error` are averaged, and several numbers are
    scored = {name: known[name] for name in known if name != "error" and not is_flag(metrics.get(name))}
    score, why = choose_score(known if metric else scored, metric, averages)
    return Result(score, known, feedback, why)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
