"""Doubts self-reported scores that cannot be, or hardly: an evaluator beside the programs believes much.

A score beyond the bound that a person stated is a rejection. One that leaps beyond the best known score is measured
again, kept if it stays, and named to the person.
"""

from __future__ import annotations

from dataclasses import replace

from behavesim.task.evaluated import LEAPED, EvaluatorFile
from behavesim.task.task import Objective
from behavesim.task.verdict import Failure, Verdict

# How far a score may be better than `best_known` before it is doubted, as a fraction of that. A choice: the records of
# such searches that we know of are nearer to what was known before, and programs that break an evaluator gain far more.
LEAP = 0.05
# What a person can do about a score that leaps.
SPLIT = (
    "read that program; to have trusted code score, split the evaluator: "
    "behavesim task init NAME --evaluator E --program FILE"
)


def refuse_impossible(verdict: Verdict, file: EvaluatorFile) -> Verdict | Failure:
    """Return the verdict, or a Failure "beyond-bound" if its score is better than the file's `bound`."""
    utility = Objective(file.direction).utility
    if file.bound is None or utility(verdict.score) <= utility(file.bound):
        return verdict
    said = f"its score {verdict.score:.10g} is better than {file.bound:.10g}, the bound that no score can pass"
    return Failure("beyond-bound", said, verdict.cpu_s, verdict.metrics, verdict.feedback)


def leap(score: float, file: EvaluatorFile) -> float | None:
    """Return how far a score is better than `best_known`, as a fraction of it, if that is more than LEAP; else None.

    Of a `best_known` of 0 it is the difference itself, and any is a leap.
    """
    if file.best_known is None:
        return None
    utility = Objective(file.direction).utility
    gained = utility(score) - utility(file.best_known)
    fraction = gained / abs(file.best_known) if file.best_known else gained
    return fraction if fraction > (LEAP if file.best_known else 0.0) else None


def confirm(first: Verdict, again: Verdict | Failure, file: EvaluatorFile) -> Verdict | Failure:
    """Return the worse of two verdicts on one program, the first of which leaps; its metric LEAPED says if both do."""
    cpu_s = first.cpu_s + again.cpu_s
    if isinstance(again, Failure):
        return replace(again, cpu_s=cpu_s)
    worse = min(first, again, key=lambda each: Objective(file.direction).utility(each.score))
    fraction = leap(worse.score, file)
    metrics = worse.metrics if fraction is None else {**worse.metrics, LEAPED: fraction}
    return replace(worse, metrics=metrics, cpu_s=cpu_s)


def leap_in_words(first: Verdict, again: Verdict | Failure, file: EvaluatorFile) -> str:
    """Return a line for a person on a score that leaps, what a second evaluation gave, and what to do."""
    fraction = leap(first.score, file) or 0.0
    how = f"{100 * fraction:.3g} % better" if file.best_known else "better"
    said = f"a program's score {first.score:.6g} is {how} than best_known {file.best_known:g}"
    if isinstance(again, Failure):
        return f"{said}; evaluated again in a fresh process, it fails ({again.reason}) and is rejected"
    if leap(again.score, file) is None:
        return f"{said}; evaluated again in a fresh process, its score is {again.score:.6g}, which counts"
    return f"{said}, and so it is in a fresh process ({again.score:.6g}); {SPLIT}"
