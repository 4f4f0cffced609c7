"""Shows programs in a prompt, each in a fenced block of its own, from worse to better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from behavesim.programs.fences import fenced
from behavesim.state.members import Member
from behavesim.task import Objective

INSTANCES_SHOWN = 8
"""Up to this many instances a prompt shows each score, so that a model sees where a program is weak."""


def parts_of(programs: Sequence[Member], objective: Objective, scores: bool, times: bool = False) -> Mapping[str, str]:
    """Return the parts of a text that are about programs, given in ascending order of score; none for no program.

    `scores` and `times` say whether scores and CPU times (s) are among them.
    """
    if not programs:
        return {}
    one = len(programs) == 1
    return {
        "shown": _shown(programs, objective, scores, times),
        "programs": _listed("program", programs, ["Program {}:"] * len(programs)),
        "algorithms": _listed("algorithm", programs, [f"Algorithm {{}}. {_idea(each)}" for each in programs]),
        "worse": fenced(programs[0].source),
        "better": fenced(programs[-1].source),
        "comparison": f"The {_last(programs)} program is better than those before it." if _has_best(programs) else "",
        "aim": "it" if one else "all of them",
        "best": "it" if one else "the best of them",
    }


def _shown(programs: Sequence[Member], objective: Objective, scores: bool, times: bool) -> str:
    """Return the programs with their scores, times and ideas, as the wording `full` shows them."""
    if len(programs) == 1:
        said = ["Here is a program that solves the problem."]
    elif _are_equal(programs):
        said = [f"Here are {len(programs)} programs that solve the problem; they score the same."]
    else:
        said = [f"Here are {len(programs)} programs that solve the problem, the best one last."]
    for number, each in enumerate(programs, 1):
        title = "" if len(programs) == 1 else f"Program {number}. "
        facts = [said_score(each, objective)] if scores else []
        facts += [f"It took {each.cpu_s:.2g} s of CPU time."] if times and each.cpu_s is not None else []
        facts += [f"Its idea: {prose(each.thought)}"] if each.thought else []
        said += [f"{title}{' '.join([*facts, 'Its code:'])}", fenced(each.source)]
    return "\n\n".join(said)


def said_score(program: Member, objective: Objective) -> str:
    """Return a program's score in words, with that of each instance and its gap to the best known score."""
    gap = objective.gap(program.score)
    behind = "" if gap is None else f", {100 * gap:.3g} % behind the best known" if gap > 0 else ", as good as known"
    each = " ".join(f"{score:.5g}" for score in program.scores)
    by_instance = f" ({each} on the single instances)" if 1 < len(program.scores) <= INSTANCES_SHOWN else ""
    return f"Score {program.score:.6g}{by_instance}{behind}."


def _listed(noun: str, programs: Sequence[Member], titles: Sequence[str]) -> str:
    """Return the programs as the paper's prompts show them: without scores."""
    if len(programs) == 1:
        article = "a" if noun == "program" else "an"
        behind = ":" if noun == "program" else f". {_idea(programs[0])}"
        return f"Here is {article} {noun} that solves the problem{behind}\n\n{fenced(programs[0].source)}"
    order = "; they score the same" if _are_equal(programs) else ", from worse to better"
    said = [f"Here are {len(programs)} {noun}s that solve the problem{order}."]
    for number, (each, title) in enumerate(zip(programs, titles, strict=True), 1):
        # replace and not format: a thought may hold braces
        said += [title.replace("{}", str(number), 1), fenced(each.source)]
    return "\n\n".join(said)


def _are_equal(programs: Sequence[Member]) -> bool:
    return len({each.score for each in programs}) == 1


def _has_best(programs: Sequence[Member]) -> bool:
    """Return whether the last of several programs is better than each one before it."""
    return len(programs) > 1 and programs[-1].utility > programs[-2].utility


def _last(programs: Sequence[Member]) -> str:
    return "second" if len(programs) == 2 else "last"


def _idea(program: Member) -> str:
    thought = prose(program.thought)
    return f"Its idea: {thought}\nIts code:" if thought else "Its code:"


def prose(text: str, longest: int | None = None) -> str:
    """Return a model's words on one line, cut at `longest` characters. They cannot open a fenced block."""
    # a back-quote could open a fenced block, which readers would take for a program
    return " ".join(text[:longest].replace("`", "'").split())
