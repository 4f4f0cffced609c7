"""Shows programs in a prompt, each in a fenced block of its own, from worse to better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal

from behavesim.programs.fences import fenced
from behavesim.prompts.feedback import feedback_in_words, metrics_in_words, prose
from behavesim.state.members import Member
from behavesim.task import Objective

INSTANCES_SHOWN = 8
"""Most instances whose scores prompts show; of a task with more, the program's score and a table of this many."""
REACHED = 1e-9
"""Gaps to the best known score up to this fraction are rounding errors: the score is as good as the best known."""


def parts_of(
    programs: Sequence[Member], objective: Objective, scores: bool, limit_s: float = 0.0, label: str = "python"
) -> Mapping[str, str]:
    """Return the parts of a text that are about programs, by the names in `wording.PARTS`.

    `programs`, at least one, come worst first. `scores` says whether their scores, metrics and feedback are shown. CPU
    times are shown beside `limit_s`, the limit on them in seconds; 0 leaves them out. `label` is that of the fenced
    blocks.
    """
    one = len(programs) == 1
    last = "second" if len(programs) == 2 else "last"
    has_best = not one and programs[-1].utility > programs[-2].utility
    return {
        "shown": _shown(programs, objective, scores, limit_s, label),
        "programs": _listed("program", programs, label),
        "algorithms": _listed("algorithm", programs, label),
        "worse": fenced(programs[0].source, label),
        "better": fenced(programs[-1].source, label),
        "comparison": f"The {last} program is better than those before it." if has_best else "",
        "aim": "it" if one else "all of them",
        "base": "the program above" if one else "program 1, the first of those above",
        "best": "it" if one else "the best of them",
        "reached": _reached(programs, objective) if scores else "",
    }


def _reached(programs: Sequence[Member], objective: Objective) -> str:
    """Return what else to ask for if the best program's score is at least the best known; "" if worse or none is."""
    gap = objective.gap(programs[-1].score)
    if gap is None or gap > REACHED:
        return ""
    name = "The program above" if len(programs) == 1 else f"Program {len(programs)}"
    than = "as good as" if gap >= -REACHED else "better than"
    return (
        f"{name} is {than} the best score known, so a better one may not exist. If you see no way to one, write a "
        "program that reaches the same score in another way, or in less CPU time."
    )


def paired_spread(programs: Sequence[Member], objective: Objective) -> str:
    """Return a sentence that compares the scores of the last program with those of the first, instance by instance.

    It says on how many instances the last is better, and the mean and standard deviation of the differences. It is ""
    for a single program, if the two have different numbers of scores, or fewer than two.
    """
    if len(programs) < 2 or len(programs[0].scores) != len(programs[-1].scores) or len(programs[0].scores) < 2:
        return ""
    worse, better = programs[0], programs[-1]
    differences = [new - old for old, new in zip(worse.scores, better.scores, strict=True)]
    won = sum(objective.utility(difference) > 0 for difference in differences)
    return (
        f"Program {len(programs)} is better than program 1 on {won} of {len(differences)} instances; its scores differ "
        f"by {fmean(differences):+.3g} ± {stdev(differences):.2g} (mean and standard deviation over the instances)."
    )


def _shown(programs: Sequence[Member], objective: Objective, scores: bool, limit_s: float, label: str) -> str:
    """Return the programs as the wording `full` shows them, with times, ideas and, if `scores`, scores and feedback."""
    if len(programs) == 1:
        said = ["Here is a program that solves the problem."]
    elif _are_equal(programs):
        said = [f"Here are {len(programs)} programs that solve the problem; they score the same."]
    else:
        order = "the better one last" if len(programs) == 2 else "the best one last"
        said = [f"Here are {len(programs)} programs that solve the problem, {order}."]
    for number, each in enumerate(programs, 1):
        title = "" if len(programs) == 1 else f"Program {number}. "
        facts = [said_with_metrics(each, objective)] if scores else []
        facts += [time_in_words(each, limit_s)] if limit_s else []
        facts += [f"Its idea: {prose(each.thought)}"] if each.thought else []
        said += [f"{title}{' '.join([*filter(None, facts), 'Its code:'])}", fenced(each.source, label)]
        said += feedback_in_words(each) if scores else []
    return "\n\n".join(said)


def time_in_words(program: Member, limit_s: float) -> str:
    """Return the CPU time (s) that counts and the limit as a sentence, else all CPU time; "" if neither is known."""
    if program.counted_s is not None:
        return f"It took {program.counted_s:.2g} of the {limit_s:g} s of CPU time that count."
    return "" if program.cpu_s is None else f"It took {program.cpu_s:.2g} s of CPU time."


def said_with_metrics(program: Member, objective: Objective) -> str:
    """Return a program's score, its gap and its metrics as sentences (see `said_score`, `metrics_in_words`)."""
    return f"{said_score(program, objective)} {metrics_in_words(program.metrics, program.score)}".rstrip()


def said_score(program: Member, objective: Objective) -> str:
    """Return a program's score as a sentence, with its gap in % to the best known score, if one is known.

    It has the score of each instance as well if there are 2 to INSTANCES_SHOWN.
    """
    each = " ".join(f"{score:.5g}" for score in program.scores)
    by_instance = f" ({each} on the single instances)" if 1 < len(program.scores) <= INSTANCES_SHOWN else ""
    return f"Score {program.score:.6g}{by_instance}{said_gap(objective.gap(program.score))}."


def said_gap(gap: float | None) -> str:
    """Return a gap, a fraction, as the end of a sentence; "" if it is unknown."""
    if gap is None:
        return ""
    if gap > REACHED:
        return f", {100 * gap:.3g} % behind the best known"
    return ", as good as the best known" if gap >= -REACHED else ", better than the best known"


def _listed(noun: Literal["program", "algorithm"], programs: Sequence[Member], label: str) -> str:
    """Return programs, called `noun`, as the paper's prompts show them, without scores; algorithms have their ideas."""
    ends = [":" if noun == "program" else f". {_idea(each)}" for each in programs]
    if len(programs) == 1:
        article = "a" if noun == "program" else "an"
        return f"Here is {article} {noun} that solves the problem{ends[0]}\n\n{fenced(programs[0].source, label)}"
    order = "; they score the same" if _are_equal(programs) else ", from worse to better"
    said = [f"Here are {len(programs)} {noun}s that solve the problem{order}."]
    for number, (each, end) in enumerate(zip(programs, ends, strict=True), 1):
        said += [f"{noun.capitalize()} {number}{end}", fenced(each.source, label)]
    return "\n\n".join(said)


def _are_equal(programs: Sequence[Member]) -> bool:
    """Whether all programs have the same score."""
    return len({each.score for each in programs}) == 1


def _idea(program: Member) -> str:
    """Return the words before a program's code: its idea in the model's words, if there is one, and "Its code:"."""
    thought = prose(program.thought)
    return f"Its idea: {thought}\nIts code:" if thought else "Its code:"
