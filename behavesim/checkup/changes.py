"""Says what small changes of a task's template show: where two programs part, and which differences are chance."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from difflib import unified_diff
from statistics import stdev

from behavesim.base.finding import Finding
from behavesim.base.syntax import parsed
from behavesim.checkup.trials import Changed
from behavesim.prompts.parting import agreement_in_words, first_difference, step_in_words
from behavesim.task import InWords, Task
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Verdict

SECTION = "two programs: the template, and a change of it"
GOAL = 0.01
"""The difference in score that instances should suffice for, as a fraction of the template's score."""

ROUNDING = 1e-9
"""A standard deviation of up to this fraction of the largest absolute score is due to rounding."""
LINES = 12
"""Most changed lines of a program that are shown."""


def parting(task: Task, template: Verdict, changes: Sequence[Changed]) -> Finding:
    """Return a finding that says, as prompts do, where the template and a changed program first behave differently.

    It is about the first of `changes` with another behaviour. If none has, it is a warning if one of them has other
    scores. `template` is the template's verdict. Raises TaskError if the task fails to put an instance or a decision in
    words.
    """
    name = "where they part"
    for each in changes:
        if each.verdict.trajectories != template.trajectories:
            said = _where(InWords(task), template, each.verdict)
            return Finding(name, "ok", said, SECTION, _lines_changed(task, each.source))
    if any(each.verdict.scores != template.scores for each in changes):
        said = f"nowhere, though their scores differ; {_advice(task)}"
        return Finding(name, "warning", said, SECTION)
    said = f"unknown: {len(changes)} changes of the template were feasible, and none does anything else"
    return Finding(name, "ok", said, SECTION)


def noise(task: Task, template: Verdict, changes: Sequence[Changed]) -> Finding:
    """Return a finding on the smallest difference of two programs' mean scores that is more than chance (95 %).

    Chance is which instances were drawn. It is estimated from the differences on each instance between the template and
    the first of `changes` whose differences vary. It is unknown if there is none, with one instance, and for a task
    with a `mean_score` of its own. The finding is always "ok".
    """
    name, score, count = "noise", abs(template.score), len(template.scores)
    spreads = (_spread(template.scores, each.verdict.scores) for each in changes)
    spread = next(filter(None, spreads), 0.0)  # of programs that score alike, whose order is in doubt
    if count < 2:
        said = "unknown: with one instance nothing says how far a score depends on it; add more"
    elif task.has_own_mean:
        said = "unknown: the score is no mean over instances, as the task has a `mean_score` of its own"
    elif not spread:
        said = "unknown: no small change of the template differs from it by more on one instance than on another"
    else:
        least, share = _t(count - 1) * spread / math.sqrt(count), ""
        if score:
            needed = math.ceil((_t(1000) * spread / (GOAL * score)) ** 2)
            enough = f"; for {100 * GOAL:g} % take {needed} instances" if needed > count else ""
            share = f" ({100 * least / score:.3g} % of the template's score){enough}"
        said = f"a difference below {least:.3g} may be chance on {count} instances{share}"
    return Finding(name, "ok", said, SECTION)


def _where(words: InWords, template: Verdict, changed: Verdict) -> str:
    """Return a sentence on where the template and a changed program part on one instance.

    Of the instances on which they behave differently it is the one on which their scores differ most.
    """
    pairs = list(zip(template.trajectories, changed.trajectories, strict=True))
    steps = {at: step for at, pair in enumerate(pairs) if (step := first_difference(*pair)) is not None}
    at = max(steps, key=lambda at: abs(template.scores[at] - changed.scores[at]))
    one, other = (step_in_words(each, at, steps[at], words) for each in pairs[at])
    scores = f"{template.scores[at]:.6g} and {changed.scores[at]:.6g}"
    # of the hashes that an evaluator's task records, the words are the same for both
    choices = f": the template {one}, the changed program {other}" if one != other else ""
    return f"on {words.instance(at)} they {agreement_in_words(steps[at])}{choices}; they score {scores} there"


def _advice(task: Task) -> str:
    """Return what to do so that programs of other scores have other behaviours."""
    if isinstance(task, EvaluatorTask):
        return "let the evaluator call a function of the program for each decision, or a command write trajectory.json"
    return "let `trajectory` tell more of how a solution came about"


def _lines_changed(task: Task, changed: str) -> str:
    """Return up to LINES lines that differ between template and program, after "- " the old ones, after "+ " the new.

    Of Python they are lines of `_code`.
    """
    read = _code if task.suffix == ".py" else str
    before, after = (read(source).splitlines() for source in (task.template, changed))
    lines = unified_diff(before, after, n=0, lineterm="")
    shown = [f"{line[0]} {line[1:]}" for line in list(lines)[2:] if not line.startswith("@@")]
    return "\n".join(shown[:LINES])


def _code(source: str) -> str:
    """Return a program without comments and docstrings of functions, in Python's plain layout."""
    tree = parsed(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
    return ast.unparse(tree)


def _spread(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the standard deviation of two programs' differences on each instance.

    It is 0 for one instance, or if it is no more than rounding errors (ROUNDING).
    """
    differences = [a - b for a, b in zip(one, other, strict=True)]
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return spread if spread > ROUNDING * max(map(abs, one)) else 0.0


def _t(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution with these degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
