"""Checks a task's instances, and what small changes of its template show of its scores."""

from __future__ import annotations

import ast
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import unified_diff
from itertools import combinations
from statistics import stdev
from typing import Any

import numpy as np

from behavesim.base.errors import Finding, TaskError
from behavesim.base.text import count_noun, parse
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Program, Request
from behavesim.prompts.behaviour_diff import agreement_in_words, first_difference, step_in_words
from behavesim.proposers.proposer import OfflineProposer, ProgramWriter, offline_proposer
from behavesim.state.settings import FRESH, differing_parts, hashes_elsewhere, instances_hash, value_hash
from behavesim.task import InWords, Split, Task, TaskReference, further_instances, instances_of
from behavesim.task.calls import call_task, task_error
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Failure, Verdict

# Most instances solved to see whether `solve` changes them; all would double the time of the check.
SOLVED_HERE = 3


def check_instances_present(task: Task, split: Split) -> Finding:
    """Return a finding on whether a split has instances, can make them, and gives the same ones in two calls.

    It is "fail" if they cannot be made or differ, a warning if there are none.
    """
    name = f"{split} instances"
    try:
        first, second = instances_hash(task, split), instances_hash(task, split, anew=True)
        count = len(instances_of(task, split))
    except TaskError as error:
        return Finding(name, "fail", str(error))
    if not count:
        return Finding(name, "warning", f"instances({split!r}) gives none")
    if first != second:
        return Finding(name, "fail", "two calls give different instances; draw them from a fixed seed")
    return Finding(name, "ok", f"{count}, the same on every call")


def check_splits_distinct(task: Task) -> Finding:
    """Return a finding on whether the splits share no instance: a shared one could hide overfitting.

    It is about the first two splits that share any: "fail" if all instances of one are in the other, else "warning".
    Raises TaskError if the instances cannot be made.
    """
    hashes = {split: {value_hash(instance) for instance in instances_of(task, split)} for split in task.splits}
    advice = "draw those of each split from a seed of its own"
    for first, second in combinations(task.splits, 2):
        shared = hashes[first] & hashes[second]
        if shared:
            among = f"{len(shared)} of {len(hashes[second])} {second} instances are among the {first} instances, too"
            is_all = shared in (hashes[first], hashes[second])
            return Finding("splits", "fail" if is_all else "warning", f"{among}; {advice}")
    return Finding("splits", "ok", "no instance belongs to two of them")


def check_instances_unchanged(task: Task) -> Finding:
    """Return a finding on whether `solve` leaves instances unchanged: "fail" if not.

    It runs in this process with the template, on copies of the first SOLVED_HERE search instances. Raises TaskError if
    `solve` fails or an instance cannot be copied.
    """
    namespace: dict[str, Any] = {}
    exec(task.template, namespace)
    for number, instance in enumerate(instances_of(task, "search")[:SOLVED_HERE], 1):
        try:
            copy = deepcopy(instance)
            before = value_hash(copy)
            task.solve(namespace[task.entry_point], copy)
        except Exception as error:  # of the task's own code: else the check would end in its traceback
            raise task_error(task, "solve", error) from error
        if value_hash(copy) != before:
            advice = "let it work on a copy: the function would see what is left of the instance"
            return Finding("solve", "fail", f"`solve` changes its instance (search instance {number}); {advice}")
    return Finding("solve", "ok", "it leaves its instance as it was")


def check_fresh_instances(task: Task) -> Finding:
    """Return a finding on what an endless task gives by number: "fail" if races on fresh instances could not trust it.

    The numbers below the split's length must be its own instances, and the others the same on each call, and new.
    """
    name = "fresh instances"
    try:
        for split in task.splits:
            own = instances_of(task, split)
            if len(own) and value_hash(call_task(task, "instance", task.instance, split, 0)) != value_hash(own[0]):
                said = f"instance({split!r}, 0) is not the first of instances({split!r})"
                return Finding(name, "fail", f"{said}; let one of the two call the other")
        once, again = (further_instances(task, "validation", FRESH) for _ in range(2))
        known = {value_hash(each) for split in task.splits for each in instances_of(task, split)}
    except TaskError as error:
        return Finding(name, "fail", f"{error}; set endless = False if there are no others")
    found = [value_hash(each) for each in once]
    if found != [value_hash(each) for each in again]:
        return Finding(name, "fail", "two calls give different instances; draw each from its split and number alone")
    if len(set(found)) < len(found) or known & set(found):
        return Finding(name, "fail", "some are equal, or are among those of a split; draw each from its number")
    return Finding(name, "ok", "without end: by number the same on every call, and none belongs to a split")


async def check_instances_elsewhere(reference: TaskReference, pristine: Mapping[str, str]) -> Finding:
    """Return a finding on whether another process makes the same instances; resuming a run needs that.

    `reference` names the task; `pristine` are the hashes of each split's instances in this process, and the
    `fresh_hash`. It is "fail" if the other process fails or has other hashes.
    """
    try:
        found = await hashes_elsewhere(reference)
    except TaskError as error:
        return Finding("another process", "fail", str(error))
    moved = [split for split in pristine if found.get(split) != pristine[split]]
    if moved:
        return Finding("another process", "fail", differing_parts(moved[0]))
    return Finding("another process", "ok", "it has the same instances")


def check_instances_after_use(before: str, after: str) -> Finding:
    """Return a finding on whether the search's instances have equal hashes before and after use: "fail" if not."""
    if before == after:
        return Finding("use", "ok", "instances are the same after their first use, so a run can be resumed")
    advice = "keep what is computed from them in functools.cached_property, or outside"
    return Finding("use", "fail", f"instances change when they are used, so no run could be resumed; {advice}")


# Tries programs on a task: forged ones, and small changes of its template.


# CPU seconds that all forged answers, or all small changes, may take together, if each takes as much as the template;
# one is always tried.
MOST_S = 30.0
# Most changes of the template that are tried.
MOST_CHANGES = 12
# Number of changes that behave otherwise than the template after which no more are tried.
ENOUGH = 3


@dataclass(frozen=True)
class Changed:
    """A program that is a small change of a task's template, and its verdict."""

    source: str
    verdict: Verdict


def count_affordable(cpu_s: float) -> int:
    """Return how many programs may be tried in MOST_S if each takes `cpu_s` CPU seconds; at least one."""
    return max(1, int(MOST_S / max(cpu_s, 1e-3)))


async def small_changes(
    task: Task, evaluate: Callable[[str], Awaitable[Verdict | Failure]], template: Verdict
) -> Sequence[Changed]:
    """Return feasible programs made by a small change of the template, such as a number, nearest in score to it first.

    Up to MOST_CHANGES are tried, until ENOUGH behave otherwise than the template, of which `template` is the verdict.
    If none does, up to ENOUGH programs of the offline proposer are tried, too, until one does. `evaluate` takes a
    program's source. If the template takes long, only as many small changes are tried as fit MOST_S CPU seconds, at
    least one.
    """
    offline, count, found = offline_proposer(), min(MOST_CHANGES, count_affordable(template.cpu_s)), list[Changed]()
    mutator = offline.text_writer(task)
    others = _breeder(offline, task) or mutator
    for number in range(count + ENOUGH):
        parted = sum(each.verdict.trajectories != template.trajectories for each in found)
        if parted >= (ENOUGH if number < count else 1):
            break
        writer = mutator if number < count else others
        _, block = writer.write("improve", [task.template], np.random.default_rng(number))
        program = extract(form_of(task), Request(block, task.template))
        if isinstance(program, Program) and isinstance(verdict := await evaluate(program.source), Verdict):
            found.append(Changed(program.source, verdict))
    return sorted(found, key=lambda each: abs(each.verdict.score - template.score))


def _breeder(offline: OfflineProposer, task: Task) -> ProgramWriter | None:
    """Return what builds programs from the task's grammar; None if none suits, or it is faulty."""
    try:
        return offline.grammar_writer(task)
    except TaskError:  # the finding on building blocks has said so
        return None


# Says what small changes of a task's template show: where two programs part, and which differences are chance.


SECTION = "two programs: the template, and a change of it"
# The difference in score that instances should suffice for, as a fraction of the template's score.
GOAL = 0.01
# Largest difference of two scores, as a fraction of the template's, at which the programs tell what chance is: how far
# a nonsensical program scatters says nothing of good ones.
ALIKE = 0.5

# A standard deviation of up to this fraction of the largest absolute score is due to rounding.
ROUNDING = 1e-9
# Most changed lines of a program that are shown.
LINES = 12


def compare_changed(task: Task, template: Verdict, changes: Sequence[Changed]) -> Finding:
    """Return a finding that says, as prompts do, where the template and a changed program first behave differently.

    It is about the first of `changes` with another behaviour. If none has, it is a warning if one of them has other
    scores. `template` is the template's verdict. Raises TaskError if the task fails to put an instance or a decision in
    words.
    """
    name = "where they part"
    for each in changes:
        if each.verdict.trajectories != template.trajectories:
            said = _first_difference_in_words(InWords(task), template, each.verdict)
            return Finding(name, "ok", said, SECTION, _changed_lines(task, each.source))
    if any(each.verdict.scores != template.scores for each in changes):
        said = f"nowhere, though their scores differ; {_advice(task)}"
        return Finding(name, "warning", said, SECTION)
    said = f"unknown: {count_noun(len(changes), 'change')} of the template ran, and none behaves differently"
    return Finding(name, "ok", said, SECTION)


def smallest_real_difference(task: Task, template: Verdict, changes: Sequence[Changed]) -> Finding:
    """Return a finding on the smallest difference of two programs' mean scores that is more than chance (95 %).

    Chance is which instances were drawn. It is estimated from the differences on each instance between the template and
    the first of `changes` whose differences vary, among those that score alike (ALIKE). It is unknown if there is none,
    with one instance, and for a task with a `mean_score` of its own. The finding is always "ok".
    """
    name, score, count = "noise", abs(template.score), len(template.scores)
    alike = [each.verdict for each in changes if abs(each.verdict.score - template.score) <= ALIKE * score or not score]
    spreads = (_spread(template.scores, each.scores) for each in alike)
    spread = next(filter(None, spreads), 0.0)  # of programs that score alike, whose order is in doubt
    if count < 2:
        said = "unknown: with one instance nothing says how far a score depends on it; add more"
    elif task.has_own_mean:
        said = "unknown: the score is no mean over instances, as the task has a `mean_score` of its own"
    elif not spread:
        said = "unknown: no small change of the template differs from it by more on one instance than on another"
        if len(alike) < len(changes):
            said = f"unknown: no small change of the template has another score within {100 * ALIKE:g} % of its own"
    else:
        least, share = _t(count - 1) * spread / math.sqrt(count), ""
        if score:
            needed = math.ceil((_t(1000) * spread / (GOAL * score)) ** 2)
            enough = f"; for {100 * GOAL:g} % take {needed} instances" if needed > count else ""
            share = f" ({100 * least / score:.3g} % of the template's score){enough}"
        said = f"a difference below {least:.3g} may be chance on {count} instances{share}"
    return Finding(name, "ok", said, SECTION)


def _first_difference_in_words(words: InWords, template: Verdict, changed: Verdict) -> str:
    """Return a sentence on where template and changed program part, on the instance whose scores differ most."""
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


def _changed_lines(task: Task, changed: str) -> str:
    """Return up to LINES lines in which template and program differ, after "- " the old ones, after "+ " the new."""
    read = _code if task.suffix == ".py" else str
    before, after = (read(source).splitlines() for source in (task.template, changed))
    lines = unified_diff(before, after, n=0, lineterm="")
    shown = [f"{line[0]} {line[1:]}" for line in list(lines)[2:] if not line.startswith("@@")]
    return "\n".join(shown[:LINES])


def _code(source: str) -> str:
    """Return a program without comments and docstrings of functions, in Python's plain layout."""
    tree = parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
    return ast.unparse(tree)


def _spread(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the standard deviation of two programs' differences over instances, 0 if it may be rounding alone."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return spread if spread > ROUNDING * max(map(abs, one)) else 0.0


def _t(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution with these degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
