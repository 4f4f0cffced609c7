"""OpenEvolve's convention: `evaluate(program_path)`, or stages of it, returns metrics; CodeEvolve's writes them."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run, numbered_arguments
from behavesim.evaluators.modules import StandIns, module_of
from behavesim.evaluators.scores import choose_score, is_flag, misread_score, stated_error
from behavesim.evaluators.tracing import Recorder, Result, is_number, numbers, watch_module
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.task import Direction

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


def load(file: EvaluatorFile) -> Run:
    """Import the evaluator's file; return a function that runs its stages, or else its `evaluate`, on a program.

    CodeEvolve's `evaluate` also gets a path, and writes its metrics there as JSON.

    Stages run only if there are thresholds: at most one stage more than thresholds. Raises TaskError, in one line, if
    the file cannot be imported or has no function to call.
    """
    install_stand_ins()
    module = module_of(file.evaluator, _MODULE)
    stages = (_stages(module) if file.thresholds else []) or [_whole(module)]
    if any(map(inspect.iscoroutinefunction, stages)):
        importlib.import_module("asyncio")  # once, and only for those that need it: it makes each fork slower

    def run(program: Path, recorder: Recorder) -> Result:
        watch_module(program, recorder)
        results = Path("/tmp/results.json") if file.convention == "codeevolve" else None
        used = stages[: len(file.thresholds) + 1]
        return _staged(used, file.thresholds, str(program), file.metric, file.direction, results)

    return run


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
    return _staged(stages, (-math.inf,) * len(stages), str(program), metric, results=results)


def _whole(module: ModuleType) -> Callable[[str], Any]:
    found: Callable[[str], Any] | None = getattr(module, "evaluate", None)
    if not callable(found):
        raise TaskError(f"{module.__file__} has no function `evaluate(program_path)`; write it, or name another file")
    return found


def _stages(module: object) -> list[Callable[[str], Any]]:
    found: list[Callable[[str], Any]] = []
    for number in (1, 2, 3):
        stage = getattr(module, f"evaluate_stage{number}", None)
        if not callable(stage):
            break
        found.append(stage)
    return found


def _staged(
    stages: list[Callable[..., Any]],
    thresholds: tuple[float, ...],
    program: str,
    metric: str = "",
    direction: Direction = "maximise",
    results: Path | None = None,
) -> Result:
    # A threshold saves work and rejects nobody: a program that is worse keeps the score by all metrics so far, and the
    # later stages are left out. A stage fails if it raises or gives no score. The exception of an only stage is raised.
    # later stages may leave out what earlier ones measured: all of it counts, as in OpenEvolve
    metrics: dict[str, Any] = {}
    artifacts: dict[str, Any] = {}
    found = Result(None)
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
        needed, score = thresholds[number - 1], found.score
        if score < needed if direction == "maximise" else score > needed:
            how = "below" if direction == "maximise" else "above"
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
        import asyncio  # imported late: see `load`

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
