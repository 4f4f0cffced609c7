"""What one evaluation of a program found, as the evaluator reports it: nothing in it is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any

from behavesim.task.score import Metrics, bounded_feedback, bounded_metrics

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_STEPS = 1_000
"""Largest number of steps of a behaviour that is kept."""
LONGEST_FAILURE = 2_000
"""Longest `failure` of a Result that is sent, in characters; the rest is cut."""


@dataclass(frozen=True)
class Result:
    """One evaluation. `failure` says why the program failed; it is empty if it did not.

    `score` is None for a failed program, except one that stopped at a stage with a score too low. `metrics` are named
    numbers; one that is not finite is kept as its text, such as "nan". `feedback` is text for people and models.
    `steps` is the behaviour, a number for each step, and `traced` what it was taken from. `stage` is the stage, from 1,
    that raised, or before the last gave no score or one too low; 0 if none did, or the evaluator has one stage.
    """

    score: float | None
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
    failure: str = ""
    stage: int = 0
    steps: tuple[int, ...] = ()
    traced: str = ""

    def encoded(self) -> bytes:
        """Return the result as JSON, with metrics, feedback, failure and steps cut to their limits.

        A metric that is not finite becomes a text, such as "nan". Raises ValueError if the score is not finite.
        """
        values = {
            **asdict(self),
            "metrics": bounded_metrics(self.metrics),
            "feedback": bounded_feedback(self.feedback),
            "failure": bounded_feedback(self.failure[:LONGEST_FAILURE]),
        }
        return json.dumps({**values, "steps": self.steps[:MOST_STEPS]}, allow_nan=False).encode()

    @classmethod
    def decoded(cls, frame: bytes) -> Result:
        """Return the result in JSON that an untrusted process sent, with metrics and feedback cut to their limits.

        Raises ValueError if it is not a result, its score is not finite, or it has more than MOST_STEPS steps.
        """
        found = _adapter().validate_json(frame, strict=False)
        if found.score is not None and not math.isfinite(found.score):
            raise ValueError("the score is not finite")
        if len(found.steps) > MOST_STEPS:
            raise ValueError("the result is larger than it may be")
        told = bounded_metrics(found.metrics), bounded_feedback(found.feedback)
        return replace(found, metrics=told[0], feedback=told[1])


@cache
def _adapter() -> TypeAdapter[Result]:
    from pydantic import TypeAdapter  # imported late: the sandbox does without it

    return TypeAdapter(Result)


def numbers(metrics: Mapping[Any, Any]) -> dict[str, float | str]:
    """Return the numbers among an evaluator's metrics, by name; those that are not finite as text, such as "nan".

    Truth values are 1 and 0; other values are left out. At most MOST_METRICS are kept, `combined_score` and `score`
    first.
    """
    known = {name: value for name, value in metrics.items() if _is_number(value)}
    return bounded_metrics({name: known[name] for name in ("combined_score", "score") if name in known} | known)


def combined(metrics: Metrics) -> float | None:
    """Return OpenEvolve's score: `combined_score`, else the mean of all metrics but those that are NaN.

    None if `combined_score` or any of the averaged metrics is not finite, or there is nothing to average.
    """
    if "combined_score" in metrics:
        named = metrics["combined_score"]
        return named if isinstance(named, float) else None
    counted = [value for value in metrics.values() if value != "nan"]
    finite = [value for value in counted if isinstance(value, float)]
    return math.fsum(finite) / len(finite) if finite and len(finite) == len(counted) else None


def _is_number(value: Any) -> bool:
    is_numpys = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return isinstance(value, Real) or (is_numpys and value.dtype.kind in "biuf")
