"""Shows programs in a prompt, from worse to better, and says how far the run has come: scores, ideas, failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from statistics import fmean, stdev
from typing import Literal

from behavesim.base.text import count_noun, shorten
from behavesim.programs.answer import add_fence, fenced_blocks
from behavesim.prompts.feedback import failure_in_words, feedback_in_words, metrics_in_words, prose
from behavesim.state.events import TEMPLATE, CandidateId
from behavesim.state.members import Member
from behavesim.state.race import is_mean, told_apart
from behavesim.state.state import RunState
from behavesim.state.views import Attempt, BehaviourGroup
from behavesim.task import InWords, Objective

# Most instances whose scores prompts show; of a task with more, the program's score and a table of this many.
INSTANCES_SHOWN = 8
# Gaps to the best known score up to this fraction are nothing to win: such scores are written down with 7 digits.
REACHED = 1e-6


# The words before the best program where it is none of those to start from. The offline proposer leaves that one out.
LEADER = "The best program so far, to compare with."
# Returns a program's text as prompts show it, in a fenced block.
Code = Callable[[str], str]


def parts_of(
    programs: Sequence[Member], objective: Objective, scores: bool, limit_s: float = 0.0, code: Code = add_fence
) -> Mapping[str, str]:
    """Return the parts of a text that are about programs, at least one, by the names in `wording.PARTS`.

    `scores`: whether scores, metrics and feedback are shown. CPU times are shown if they are above a third of
    `limit_s`, the limit on them in seconds; 0 leaves them out.
    """
    one = len(programs) == 1
    last = "second" if len(programs) == 2 else "last"
    title = "The program above" if one else f"Program {len(programs)}"
    has_best = not one and programs[-1].utility > programs[-2].utility
    return {
        "shown": _shown(programs, objective, scores, limit_s, code),
        "programs": _listed("program", programs, code),
        "algorithms": _listed("algorithm", programs, code),
        "worse": code(programs[0].source),
        "better": code(programs[-1].source),
        "comparison": f"The {last} program is better than those before it." if has_best else "",
        "aim": "it" if one else "all of them",
        "goal": f"better than {'it' if one else 'all of them'}",
        "base": "the last program above" if one else "program 1 above",
        "best": "it" if one else "the best of them",
        "reached": _reached(programs[-1], objective, title) if scores else "",
    }


def _shown(programs: Sequence[Member], objective: Objective, scores: bool, limit_s: float, code: Code) -> str:
    """Return the programs as the wording `full` shows them, with times, ideas and, if `scores`, scores and feedback."""
    if len(programs) == 1:
        said = ["Here is a program that solves the problem."]
    elif _are_equal(programs):
        said = [f"Here are {len(programs)} programs that solve the problem; they score the same."]
    elif _may_be_chance(programs[0], programs[-1]):
        said = [f"Here are {len(programs)} programs that solve the problem; by their scores they are about as good."]
    else:
        order = "the better one last" if len(programs) == 2 else "the best one last"
        said = [f"Here are {len(programs)} programs that solve the problem, {order}."]
    for number, each in enumerate(programs, 1):
        title = "" if len(programs) == 1 else f"Program {number}. "
        said += [f"{title}{_facts(each, objective, scores, limit_s)}", code(each.source)]
        said += feedback_in_words(each) if scores else []
    return "\n\n".join(said)


def _facts(program: Member, objective: Objective, scores: bool, limit_s: float) -> str:
    """Return the words before a program's code: score and metrics if `scores`, its time, and its whole idea."""
    # scores on single instances stand in the table of `describe_run`
    said = [f"{describe_score(program, objective, False)} {metrics_in_words(program.metrics, program.score)}".strip()]
    facts = said if scores else []
    facts += [time_in_words(program, limit_s)] if limit_s else []
    facts += [f"Its idea: {prose(program.thought)}"] if program.thought else []
    return " ".join([*filter(None, facts), "Its code:"])


def leader_in_words(state: RunState, shown: Sequence[Member], limit_s: float, code: Code) -> str:
    """Return the best program so far with score, idea and code; "" if it is among `shown`, or another as good is."""
    leader = state.leader
    if leader is None or any(each.utility >= leader.utility for each in shown):
        return ""
    said = [f"{LEADER} {_facts(leader, state.objective, True, limit_s)}", code(leader.source)]
    return "\n\n".join(filter(None, [*said, _reached(leader, state.objective, "It")]))


def programs_to_vary(prompt: str) -> list[str]:
    """Return the programs in the fenced blocks of a prompt, without the best one that stands beside them."""
    found = fenced_blocks(prompt)
    return found[1:] if LEADER in prompt.partition("```")[0] else found


def goal_in_words(state: RunState) -> str:
    """Return what a new program should score, as "better than 6.21, the best so far"; "better" if nothing has run."""
    leader = state.leader
    return "better" if leader is None else f"better than {leader.score:.6g}, the best so far"


def _listed(noun: Literal["program", "algorithm"], programs: Sequence[Member], code: Code) -> str:
    """Return programs, called `noun`, as the paper's prompts show them, without scores; algorithms have their ideas."""
    ends = [":" if noun == "program" else f". {_idea(each)}" for each in programs]
    if len(programs) == 1:
        article = "a" if noun == "program" else "an"
        return f"Here is {article} {noun} that solves the problem{ends[0]}\n\n{code(programs[0].source)}"
    order = "; they score the same" if _are_equal(programs) else ", from worse to better"
    said = [f"Here are {len(programs)} {noun}s that solve the problem{order}."]
    for number, (each, end) in enumerate(zip(programs, ends, strict=True), 1):
        said += [f"{noun.capitalize()} {number}{end}", code(each.source)]
    return "\n\n".join(said)


def _idea(program: Member) -> str:
    """Return the words before a program's code: its idea in the model's words, if there is one, and "Its code:"."""
    thought = prose(program.thought)
    return f"Its idea: {thought}\nIts code:" if thought else "Its code:"


def _are_equal(programs: Sequence[Member]) -> bool:
    """Whether all programs have the same score."""
    return len({each.score for each in programs}) == 1


def _may_be_chance(one: Member | Attempt, other: Member | Attempt) -> bool:
    """Whether two programs' scores differ by no more than which instances were drawn can explain."""
    # a model would otherwise explain noise; where the score is no mean of those on instances, nothing is known
    are_means = all(is_mean(each.score, each.scores) for each in (one, other))
    return are_means and not told_apart(one.scores, other.scores)


def _reached(program: Member, objective: Objective, name: str) -> str:
    """Return what else to ask for if a program, called `name`, is at least as good as the best known; else ""."""
    gap = objective.gap(program.score)
    if gap is None or gap > REACHED:
        return ""
    than = "as good as" if gap >= -REACHED else "better than"
    return (
        f"{name} is {than} the best score known, so a better one may not exist. If you see no way to one, write a "
        "program that reaches the same score in another way, or in less CPU time."
    )


def compare_by_instance(programs: Sequence[Member], objective: Objective) -> str:
    """Return a sentence that compares the scores of the last program with those of the first, instance by instance."""
    # "" where there is nothing to compare: a single program, or fewer than two scores of each
    if len(programs) < 2 or len(programs[0].scores) != len(programs[-1].scores) or len(programs[0].scores) < 2:
        return ""
    worse, better = programs[0], programs[-1]
    differences = [new - old for old, new in zip(worse.scores, better.scores, strict=True)]
    won = sum(objective.utility(difference) > 0 for difference in differences)
    may_be = ", which may be chance" if _may_be_chance(worse, better) else ""
    return (
        f"Program {len(programs)} is better than program 1 on {won} of {len(differences)} instances{may_be}; its "
        f"scores differ by {fmean(differences):+.3g} ± {stdev(differences):.2g} (mean and standard deviation over the "
        "instances)."
    )


def describe_score_and_metrics(program: Member, objective: Objective) -> str:
    """Return a program's score, its gap and its metrics as sentences."""
    return f"{describe_score(program, objective)} {metrics_in_words(program.metrics, program.score)}".rstrip()


def describe_score(program: Member, objective: Objective, by_instance: bool = True) -> str:
    """Return a score as a sentence, with its gap to the best known and, if asked for, the scores of few instances."""
    each = " ".join(f"{score:.5g}" for score in program.scores)
    is_told = by_instance and 1 < len(program.scores) <= INSTANCES_SHOWN
    single = f" ({each} on the single instances)" if is_told else ""
    return f"Score {program.score:.6g}{single}{describe_gap(objective.gap(program.score))}."


def describe_gap(gap: float | None) -> str:
    """Return a gap, a fraction, as the end of a sentence; "" if it is unknown."""
    if gap is None:
        return ""
    if gap > REACHED:
        return f", {100 * gap:.3g} % behind the best known"
    return ", as good as the best known" if gap >= -REACHED else ", better than the best known"


# Share of the limit on CPU time from which prompts say what a program used: below it there is room enough.
TOLD_FROM = 1 / 3


def time_in_words(program: Member, limit_s: float) -> str:
    """Return the CPU time (s) that counts, or all, and what is left of the limit; "" if unknown or below a third."""
    used = program.cpu_s if program.counted_s is None else program.counted_s
    if used is None or used <= TOLD_FROM * limit_s:
        return ""
    return f"It took {used:.2g} s of CPU time and left {max(0.0, limit_s - used):.2g} s."


def describe_run(state: RunState, shown: Sequence[Member], words: InWords, is_leader_shown: bool = False) -> str:
    """Return how many programs a run has tried, its best score, and how far behind `shown` are on each instance.

    "" before the first candidate is registered. `is_leader_shown` is whether the prompt has a place for the best
    program beside `shown`. Raises TaskError as `InWords` does.
    """
    tried = state.tried
    if not state.registered:
        return ""
    failed = f", of which {tried.failed} failed" if tried.failed else ""
    said = f"The search has tried {count_noun(state.registered, 'program')} so far{failed}."
    best, template = state.best, state.template
    if best is None:
        return f"{said} None of them ran."
    table = "\n".join(_behind(state, shown, words))
    if template is not None and template.utility >= best.utility:
        known = f"which scores {template.score:.6g}{describe_gap(state.objective.gap(template.score))}"
        return f"{said} None is better than the program that the search began with, {known}.\n\n{table}".rstrip()
    at = next((number for number, each in enumerate(shown, 1) if each.score == best.score), None)
    if at is None and is_leader_shown:
        return f"{said}\n\n{table}".rstrip()
    which = "" if at is None else ", and is the one above" if len(shown) == 1 else f", and is program {at} above"
    said += f" The best one scores {best.score:.6g}{describe_gap(state.objective.gap(best.score))}{which}."
    return f"{said}\n\n{table}".rstrip()


def _behind(state: RunState, shown: Sequence[Member], words: InWords) -> Iterator[str]:
    """Yield the lines of a table: per instance the best score so far, and how far behind it the shown programs are."""
    # The template has no column. Of more than INSTANCES_SHOWN instances, those are shown on which the last program is
    # furthest behind: there is most to gain.
    utility = state.objective.utility
    best = state.tried.best_scores
    if state.template is not None:
        best = tuple(max(pair, key=utility) for pair in zip(best, state.template.scores, strict=False))
    programs = [each for each in shown if each.candidate != TEMPLATE and len(each.scores) == len(best)]
    if len(best) < 2 or not programs:
        return
    # a share of a logarithm, or of scores on both sides of 0, says nothing
    relative = all(score > 0 for score in (*best, *(score for each in programs for score in each.scores)))

    def behind(member: Member, index: int) -> float:
        much = utility(best[index]) - utility(member.scores[index])
        return 100 * much / abs(best[index]) if relative else much

    rows = sorted(range(len(best)), key=lambda index: -behind(programs[-1], index))[:INSTANCES_SHOWN]
    unit = "in %" if relative else "in the unit of the score"
    which = "each instance" if len(rows) == len(best) else "the instances on which the last one is furthest behind"
    yield f"How far behind the best score so far on {which}, {unit}:"
    names = {index: f"{index + 1} {words.name(index)}".rstrip() for index in rows}
    width = max(len("instance"), *map(len, names.values()))
    titles = ["program"] if len(shown) == 1 else [f"program {shown.index(each) + 1}" for each in programs]
    yield f"    {'instance':<{width}}  best so far  {'  '.join(titles)}"
    for index in sorted(rows):
        cells = (f"{behind(each, index):>{len(title)}.3g}" for each, title in zip(programs, titles, strict=True))
        yield f"    {names[index]:<{width}}  {best[index]:>11.6g}  {'  '.join(cells)}"


# Most ways in the list of what was tried; one more line sums up the others.
WAYS_SHOWN = 8
# Most ideas of other programs, and most attempts at the shown ones, in the list of what was tried.
IDEAS_SHOWN = 2
ATTEMPTS_SHOWN = 3


def ideas_in_words(state: RunState, shown: Sequence[Member] = (), operator: str = "") -> str:
    """Return what was tried from the shown programs, and the best other ideas; "" if there is neither.

    Ideas that the prompt tells whole, of `shown` and of the best program, are left out, the others cut after their
    mechanism. `operator` is as in `attempts_in_words`.
    """
    attempts = _attempts(state, shown, operator)
    told = _told(state, shown) | {attempt.thought for attempt, *_ in attempts}
    ideas = [idea for idea in state.tried.ideas if idea.thought not in told][: IDEAS_SHOWN if shown else WAYS_SHOWN]
    said = [attempts_in_words(state, shown, operator)]
    if ideas:
        which = "best other ideas" if shown else "best ideas"
        said.append(f"The {which} so far, by score:")
        said += [f"- {idea.score:.6g}: {mechanism(idea.thought)}" for idea in ideas]
    return "\n".join(filter(None, said)).replace("\nThe best other", "\n\nThe best other")


def attempts_in_words(state: RunState, shown: Sequence[Member], operator: str) -> str:
    """Return a line for each attempt at the shown programs, losses first, those by the same `operator` preferred.

    Each is compared with the better of the shown programs that it was written from, and with the best so far. ""
    without any.
    """
    lines, best = [], state.leader
    for attempt, number, change in _attempts(state, shown, operator):
        became = f"{abs(change):.3g} {'better' if change > 0 else 'worse'} than" if change else "as good as"
        if change and _may_be_chance(attempt, shown[number - 1]):
            became = "about as good as"
        which = "it" if len(shown) == 1 else f"program {number}"
        # a gain on a weak parent is no success: the model may have begun from the best program beside it
        behind = 0.0 if best is None else best.utility - state.objective.utility(attempt.score)
        is_behind = best is not None and behind > 0 and change >= 0 and not _may_be_chance(attempt, best)
        lost = f", {behind:.3g} worse than the best" if is_behind else ""
        lines.append(f"- {attempt.score:.6g}, {became} {which}{lost}: {mechanism(attempt.thought)}")
    which = "this program" if len(shown) == 1 else "these programs"
    return "\n".join([f"Tried from {which} before, the losses first:", *lines]) if lines else ""


def _attempts(state: RunState, shown: Sequence[Member], operator: str) -> list[tuple[Attempt, int, float]]:
    """Return the attempts that a prompt tells: each with the number of its parent, and how much better it is than it.

    Losses come first: what was tried and did not help is what a model would otherwise try again.
    """
    told, utility = _told(state, shown), state.objective.utility
    found: dict[CandidateId, tuple[Attempt, int, float]] = {}
    for number, parent in enumerate(shown, 1):  # the better parent comes later, and counts
        for attempt in state.tried.attempts.get(parent.candidate, ()):
            if attempt.thought not in told:
                found[attempt.candidate] = attempt, number, utility(attempt.score) - parent.utility
    latest = sorted(found.values(), key=lambda each: (each[2] > 0, each[0].operator != operator, -each[0].candidate))
    return sorted(latest[:ATTEMPTS_SHOWN], key=lambda each: each[2])


def _told(state: RunState, shown: Sequence[Member]) -> set[str]:
    """Return the thoughts that a prompt with these programs tells whole: theirs and the best program's beside them."""
    leader = [state.leader] if shown and state.leader is not None else []
    return {each.thought for each in (*shown, *leader)}


# Fewest and most characters of an idea's mechanism: its first sentences that are long enough.
#
# Cut after the first clause, half of the ideas lost what was new in them.
MECHANISM = (60, 200)


def mechanism(thought: str) -> str:
    """Return the beginning of an idea: up to the first end of a sentence, at most MECHANISM[1] characters."""
    fewest, most = MECHANISM
    words = prose(thought)
    ends = [end.start() for end in _SENTENCE.finditer(words) if fewest <= end.start() <= most]
    return words if len(words) <= most else words[: ends[0]] + "…" if ends else shorten(words, most)


_SENTENCE = re.compile(r"(?<=[^.;])[.;] ")


def ways_in_words(ways: Sequence[BehaviourGroup], attempts: str = "") -> str:
    """Return `attempts` and a line for each of the best ways, and one on the rest; "" if there is nothing to tell."""
    # a way is a group of programs that do nearly the same; `ways` are all of the run, best first
    if not any(way.idea for way in ways):
        return attempts
    said = [
        "What was tried so far, by behaviour: the best score, how many programs do nearly the same, and the best one's "
        "idea."
    ]
    most = IDEAS_SHOWN if attempts else WAYS_SHOWN
    said += [
        f"- {way.score:.6g} ({way.count}): {mechanism(way.idea) or 'its idea was not told'}" for way in ways[:most]
    ]
    if rest := ways[most:]:
        more = count_noun(sum(way.count for way in rest), "program")
        said.append(f"- {count_noun(len(rest), 'other behaviour')} ({more}), none of which scores better.")
    return "\n".join([*filter(None, [attempts]), *said])


# Most failures shown, the latest, of programs that were written from any of those that the prompt shows.
CHILDREN_SHOWN = 3


def failures_in_words(state: RunState, parents: Sequence[CandidateId]) -> str:
    """Return the last failures of programs written from `parents`, then the run's; "" if there is none."""
    known = set(parents) - {TEMPLATE}  # every first program would count as its child
    children = [each for each in state.tried.failures if not known.isdisjoint(each.parents)][-CHILDREN_SHOWN:]
    lines = [failure_in_words(each.rejected, _origin(known.intersection(each.parents), parents)) for each in children]
    own = {each.rejected.candidate for each in children}
    lines += [failure_in_words(each) for each in state.failures if each.candidate not in own]
    if not lines:
        return ""
    return "\n".join(["Programs that failed lately; do not repeat it:", *dict.fromkeys(lines)])


def _origin(parents: Set[CandidateId], shown: Sequence[CandidateId]) -> str:
    """Return from which of the programs `shown` one with these parents was written, as the beginning of a line."""
    if len(shown) == 1:
        return "written from the program above: "
    numbers = [str(number) for number, each in enumerate(shown, 1) if each in parents]
    return f"written from program{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}: "
