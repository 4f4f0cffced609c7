"""Reads what an evaluator returned: which of its numbers is the score, and whether it says that the program failed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from behavesim.base.text import last_line
from behavesim.evaluators.tracing import Result, is_number, numbers
from behavesim.task.score import PRIVATE, Metrics

# Names under which an evaluator says that a program is no solution: with False, or with 0 where it is no count.
_VALID = ("valid", "is_valid", "validity")
# Names of numbers that say how an evaluation went, not how good the program is: an average with them is no score.
_NO_SCORE = re.compile(
    r"time|second|duration|latency|memory|(^|_)m?s$|^(seed|num|n|count)_|(^|_)(seeds?|counts?|runs|trials|iterations|calls)$",
    re.IGNORECASE,
)

_NOT_FINITE = "the evaluator gave no finite score"


def stated_error(returned: Mapping[str, Any], artifacts: Mapping[str, Any] | None = None) -> str:
    """Return the words with which an evaluator says that a program failed, whatever score it gives; "" if it does not.

    They are the text `error`, which may be an artifact, or say that `valid`, `is_valid`, `validity` or `correct` is
    False, or one of the first three 0. A number named `error` is a metric.
    """
    for given in (returned, artifacts or {}):
        words = given.get("error")
        if isinstance(words, str) and words.strip():
            return words.strip()
    for name in (*_VALID, "correct"):
        value = returned.get(name)
        # `correct 0` may count right answers
        if is_number(value) and not value and (is_flag(value) or name in _VALID):
            return f"the evaluator says {name} {value}"
    return ""


def misread_score(returned: Mapping[str, Any], known: Metrics) -> str:
    """Return words for a `combined_score` or `score` that is no number, such as a text; "" if there is none.

    Without them another of the numbers, which are `known`, would be taken for the score.
    """
    names = ("combined_score", "score")
    given = [name for name in names if returned.get(name) is not None]
    if not given or any(name in known for name in names):
        return ""
    return f"{given[0]} must be a number, not {returned[given[0]]!r:.50}"


def is_flag(value: Any) -> bool:
    """Whether a value is a truth value of Python or numpy."""
    return type(value).__name__ in ("bool", "bool_")


def choose_score(known: Metrics, metric: str = "", averages: bool = False) -> tuple[float | None, str]:
    """Return the score among an evaluator's numbers, and why there is none; None and words, or a score and "".

    It is `metric` if that is not empty, else `combined_score`, else `score`, else the only number beside times, seeds
    and counts. Of several it is the mean if `averages`; else a person must name one.
    """
    if metric or "combined_score" in known or "score" in known:
        name = metric or next(name for name in ("combined_score", "score") if name in known)
        value = known.get(name)
        if isinstance(value, float):
            return value, ""
        return None, _NOT_FINITE if name in known else f"it gave no number called {name}; {_names(known)}"
    counted = _counted(known)
    finite = [value for value in counted.values() if isinstance(value, float)]
    if len(finite) < len(counted):
        return None, _NOT_FINITE
    if len(finite) == 1 or (finite and averages):
        return math.fsum(finite) / len(finite), ""
    if not known:
        return None, "the evaluator gave no number"
    return None, f"no number is called score or combined_score; {_names(known)}; choose one with --metric NAME"


def judged(known: Metrics, feedback: str, words: str, metric: str = "", averages: bool = False) -> Result:
    """Return the Result of an evaluator's numbers, failed if it says so with `words`; else see `choose_score`."""
    if words:
        return Result(None, known, feedback, words, is_stated=True)
    score, why = choose_score(known, metric, averages)
    return Result(score, known, feedback, why)


def averaged(known: Metrics, metric: str = "") -> tuple[str, ...]:
    """Return the names of the metrics that a mean score is made of; () if one number is the score."""
    if metric or "combined_score" in known or "score" in known:
        return ()
    names = tuple(_counted(known))
    return names if len(names) > 1 else ()


def _counted(known: Metrics) -> Metrics:
    return {name: value for name, value in known.items() if value != "nan" and not _NO_SCORE.search(name)}


def silent_failure(score: float, metrics: Metrics, feedback: str) -> str:
    """Return a line for a person if a first program's numbers, beside times and counts, are all 0; else "".

    Some evaluators catch what goes wrong, such as a tool that is not installed, and return zeros without an error.
    """
    counted = [value for name, value in metrics.items() if not _NO_SCORE.search(name) and not name.startswith(PRIVATE)]
    if score or any(isinstance(value, float) and value for value in counted):
        return ""
    said = f'; its last words: "{shorten(last_line(feedback), 300, placeholder=" …")}"' if feedback.strip() else ""
    return f"the first program got 0 for everything, as if it had failed{said}"


def _names(known: Metrics) -> str:
    return f"it gave {', '.join(known)}" if known else "it gave no numbers"


# Largest number of examples whose infos become feedback.
_MOST_TOLD = 5


def combine_scores(returned: Sequence[Any], metric: str = "") -> Result:
    """Return the Result of what an evaluator returned for each example: the mean score, and infos as feedback.

    Each is a score, or a pair of a score and an info: a mapping, in which `metric` is the score if that is not empty.
    """
    scores: list[float] = []
    said: list[str] = []
    metrics: dict[str, float | str] = {}
    for place, each in enumerate(returned):
        value, info = each if isinstance(each, tuple) and len(each) == 2 else (each, {})
        info = info if isinstance(info, Mapping) else {"info": info}
        where = f"example {place + 1}: " if len(returned) > 1 else ""
        if words := stated_error(info):
            return Result(None, failure=f"{where}{words}", feedback=_in_lines(info), is_stated=True)
        known = numbers({"score": info.get(metric) if metric else value})
        score = known.get("score")
        if not isinstance(score, float):
            return Result(
                None, failure=f"{where}the evaluator gave no finite {metric or 'score'}", feedback=_in_lines(info)
            )
        scores.append(score)
        if len(returned) == 1:
            metrics = numbers(info)
        else:
            metrics[f"example {place + 1}"] = score
        if info and len(said) < _MOST_TOLD:
            said.append(f"{where}{_in_lines(info)}")
    return Result(sum(scores) / len(scores), metrics, "\n".join(said))


def _in_lines(info: Mapping[str, Any]) -> str:
    known = numbers(info)
    return "\n".join(f"{name}: {value}" for name, value in info.items() if name not in known and value is not None)
