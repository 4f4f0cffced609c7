"""Shows programs in a prompt, from worse to better, and says how far the run has come: scores, ideas, failures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import unified_diff
from statistics import fmean, stdev
from typing import Literal

from behavesim.base.text import count_noun, shorten, without_exponent
from behavesim.programs.answer import add_fence, fenced_blocks
from behavesim.programs.edits import within_markers
from behavesim.programs.functions import without_docstrings
from behavesim.prompts.feedback import (
    FEEDBACK_SHOWN,
    OTHERS_FEEDBACK,
    failure_in_words,
    feedback_in_words,
    metrics_in_words,
    prose,
    tuning_in_words,
)
from behavesim.state.events import TEMPLATE, CandidateId, Rejected
from behavesim.state.members import Member
from behavesim.state.race import scores_told_apart
from behavesim.state.state import RunState
from behavesim.state.views import Attempt, BehaviourGroup
from behavesim.task import InWords, Objective
from behavesim.task.task import REACHED

# Most instances whose scores prompts show; of a task with more, the program's score and a table of this many.
INSTANCES_SHOWN = 8

# The words before the best program where it is none of those to start from. The offline proposer leaves that one out.
LEADER = "The best program so far, to compare with."
# A program is shown as the lines in which it differs from another one if they have at most this share of its text.
#
# Near copies stood side by side in up to 74 % of later prompts. A model reads the difference sooner than both texts.
DIFFERENCE = 1 / 3
# Programs with as many lines are shown whole: the time that finding the difference takes can grow with their square.
COMPARED = 3000
# Begins each run of lines in which two programs differ, and so the block with them.
_RUN = "@@"


@dataclass(frozen=True)
class Code:
    """How prompts show the text of a program."""

    # The label of fenced blocks.
    label: str = "python"
    # The program whose long docstrings the prompt gives elsewhere; "" if programs keep theirs.
    documented: str = ""
    # Whether a program beside another one is shown without what both have; the offline proposer needs each whole.
    is_short: bool = False

    def whole(self, source: str) -> str:
        """Return a program in a fenced block."""
        return add_fence(without_docstrings(source, self.documented), self.label)

    def beside(self, source: str, base: str, name: str, is_best: bool) -> tuple[str, str]:
        """Return the words before the code of a program, and its code, where `base`, called `name`, stands below it.

        A near copy of `base` is shown as the lines in which it differs, unless it `is_best`: a model begins from that.
        Others are shown without the fixed text around.
        """
        if not self.is_short:
            return "Its code:", self.whole(source)
        old, new = (without_docstrings(each, self.documented).strip() for each in (base, source))
        if not is_best and max(old.count("\n"), new.count("\n")) < COMPARED:
            lines = [*unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")][2:]  # without files' names
            said = "\n".join(_RUN if line.startswith(_RUN) else line for line in lines)
            if said and len(said) <= DIFFERENCE * len(new):
                words = f"Its code is that of {name} below, but for these lines (- there, + here):"
                return words, add_fence(said, "diff")
        within = within_markers(new)
        if within != new and new.replace(within, "", 1) == old.replace(within_markers(old), "", 1):
            return f"Its code, without the fixed text around it, which {name} has:", add_fence(within, self.label)
        return "Its code:", self.whole(source)


def parts_of(
    programs: Sequence[Member],
    objective: Objective,
    scores: bool,
    limit_s: float = 0.0,
    code: Code = Code(),
    is_tried_unseen: bool = False,
) -> Mapping[str, str]:
    """Return the parts of a text that are about programs, at least one, by the names in `wording.PARTS`.

    `scores`: whether scores, metrics and feedback are shown. `limit_s` is the limit on CPU times in seconds, beside
    which these are shown; 0 leaves them out. `is_tried_unseen`: whether the run ends with unseen instances.
    """
    one = len(programs) == 1
    last = "second" if len(programs) == 2 else "last"
    title = "The program above" if one else f"Program {len(programs)}"
    has_best = not one and programs[-1].utility > programs[-2].utility
    return {
        "shown": _shown(programs, objective, scores, limit_s, code),
        "programs": _listed("program", programs, code),
        "algorithms": _listed("algorithm", programs, code),
        "worse": code.whole(programs[0].source),
        "better": code.whole(programs[-1].source),
        "comparison": f"The {last} program is better than those before it." if has_best else "",
        "aim": "it" if one else "all of them",
        "goal": f"better than {'it' if one else 'all of them'}",
        "base": "the last program above",
        "best": "it" if one else "the best of them",
        "reached": _reached(programs[-1], objective, title, is_tried_unseen) if scores else "",
    }


def _shown(programs: Sequence[Member], objective: Objective, scores: bool, limit_s: float, code: Code) -> str:
    """Return the programs as the wording `full` shows them, with times, ideas and, if `scores`, scores and feedback."""
    if len(programs) == 1:
        said = ["Here is a program that solves the problem."]
    elif _are_equal(programs[0].score, programs[-1].score):
        said = [f"Here are {len(programs)} programs that solve the problem; they score the same."]
    else:
        order = "the better one last" if len(programs) == 2 else "the best one last"
        if _may_be_chance(programs[0], programs[-1]):
            order += f"; its lead of {_much(programs[-1].utility - programs[0].utility)} may be chance"
        said = [f"Here are {len(programs)} programs that solve the problem, {order}."]
    for number, each in enumerate(programs, 1):
        words, text = _text(each, () if each is programs[-1] else programs, code, is_best=False)
        title = "" if len(programs) == 1 else f"Program {number}. "
        said += [f"{title}{_facts(each, objective, scores, limit_s, each is programs[-1])} {words}", text]
        most = FEEDBACK_SHOWN if each is programs[-1] else OTHERS_FEEDBACK
        said += feedback_in_words(each, most) if scores else []
    return "\n\n".join(said)


def _facts(program: Member, objective: Objective, scores: bool, limit_s: float, is_best: bool = False) -> str:
    """Return the words before a program's code: score and metrics if `scores`, its time, its numbers and its idea.

    The idea is cut, unless `is_best`: the code beside it says the rest.
    """
    # scores on single instances stand in the table of `describe_run`
    said = [f"{describe_score(program, objective, False)} {metrics_in_words(program.metrics, program.score)}".strip()]
    facts = said if scores else []
    facts += [time_in_words(program, limit_s)]
    facts += [tuning_in_words(program.tuning)] if scores and program.tuning is not None else []
    thought = prose(program.thought) if is_best else mechanism(program.thought, IDEA // 2)
    facts += [f"Its idea: {thought}"] if thought else []
    return " ".join(filter(None, facts))


def _text(program: Member, shown: Sequence[Member], code: Code, is_best: bool) -> tuple[str, str]:
    """Return the words before a program's code, and the code: whole unless the last of `shown` stands below it."""
    if shown:
        name = "the program" if len(shown) == 1 else f"program {len(shown)}"
        return code.beside(program.source, shown[-1].source, name, is_best)
    return "Its code:", code.whole(program.source)


def leader_beside(state: RunState, shown: Sequence[Member]) -> Member | None:
    """Return the best program so far if it is to stand beside `shown`; None if it is among them or one is as good."""
    leader = state.leader
    return None if leader is None or any(each.utility >= leader.utility for each in shown) else leader


def leader_in_words(
    state: RunState, shown: Sequence[Member], limit_s: float, code: Code, is_tried_unseen: bool = False
) -> str:
    """Return the best program so far with score, idea, code and feedback; "" if `leader_beside` finds none.

    `is_tried_unseen`: whether the run ends with unseen instances.
    """
    leader = leader_beside(state, shown)
    if leader is None:
        return ""
    words, text = _text(leader, shown, code, is_best=True)
    said = [f"{LEADER} {_facts(leader, state.objective, True, limit_s, is_best=True)} {words}", text]
    said += feedback_in_words(leader)
    # what is said of the best of `shown` below need not be said twice
    is_said = any(_reached(each, state.objective, "", is_tried_unseen) for each in shown)
    reached = "" if is_said else _reached(leader, state.objective, "It", is_tried_unseen)
    return "\n\n".join(filter(None, [*said, reached]))


def programs_to_vary(prompt: str) -> list[str]:
    """Return the programs in the fenced blocks of a prompt, without the best one that stands beside them."""
    # a model's run that goes on offline has prompts with differences, which are no programs
    found = [block for block in fenced_blocks(prompt) if not block.startswith(_RUN)]
    return found[1:] if LEADER in prompt.partition("```")[0] else found


def goal_in_words(state: RunState) -> str:
    """Return what a new program should score, as "better than 6.21, the best so far"; "better" if nothing has run."""
    leader = state.leader
    if leader is None:
        return "better"
    gap = state.objective.gap(leader.score)
    if gap is not None and abs(gap) <= REACHED:  # to ask for more would be to ask for what may not exist
        return f"no worse than {leader.score:.6g}, the best known"
    return f"better than {leader.score:.6g}, the best so far"


def _listed(noun: Literal["program", "algorithm"], programs: Sequence[Member], code: Code) -> str:
    """Return programs, called `noun`, as the paper's prompts show them, without scores; algorithms have their ideas."""
    ends = [":" if noun == "program" else f". {_idea(each)}" for each in programs]
    if len(programs) == 1:
        article = "a" if noun == "program" else "an"
        return f"Here is {article} {noun} that solves the problem{ends[0]}\n\n{code.whole(programs[0].source)}"
    order = "; they score the same" if _are_equal(programs[0].score, programs[-1].score) else ", from worse to better"
    said = [f"Here are {len(programs)} {noun}s that solve the problem{order}."]
    for number, (each, end) in enumerate(zip(programs, ends, strict=True), 1):
        said += [f"{noun.capitalize()} {number}{end}", code.whole(each.source)]
    return "\n\n".join(said)


def _idea(program: Member) -> str:
    """Return the words before a program's code: its idea in the model's words, if there is one, and "Its code:"."""
    thought = prose(program.thought)
    return f"Its idea: {thought}\nIts code:" if thought else "Its code:"


def _are_equal(one: float, other: float) -> bool:
    """Whether two scores are the same but for rounding."""
    return math.isclose(one, other, rel_tol=REACHED)


def _much(difference: float) -> str:
    """Return the size of a difference with three significant digits."""
    return without_exponent(f"{abs(difference):.3g}")


def _may_be_chance(one: Member | Attempt, other: Member | Attempt) -> bool:
    """Whether two programs' scores differ by no more than which instances were drawn can explain."""
    # a model would otherwise explain noise
    return scores_told_apart(one, other) is False


def _reached(program: Member, objective: Objective, name: str, is_tried_unseen: bool) -> str:
    """Return what else to ask for if a program, called `name`, is at least as good as the best known; else ""."""
    gap = objective.gap(program.score)
    if gap is None or not objective.is_reached(program.score):
        return ""
    than = "as good as" if gap >= -REACHED else "better than"
    said = f"{name} is {than} the best score known, so a better one may not exist."
    if is_tried_unseen:
        return (
            f"{said} In the end the best programs are tried on instances that no program has seen: write one that "
            "reaches its score by its method and not by luck, so that it does so there too."
        )
    return f"{said} Unless you see a way to one, write a program that reaches the same score in another way."


def compare_by_instance(programs: Sequence[Member], objective: Objective) -> str:
    """Return a sentence that compares the scores of the last program with those of the first, instance by instance."""
    # "" where there is nothing to compare: a single program, or fewer than two scores of each
    if len(programs) < 2 or len(programs[0].scores) != len(programs[-1].scores) or len(programs[0].scores) < 2:
        return ""
    worse, better = programs[0], programs[-1]
    differences = [new - old for old, new in zip(worse.scores, better.scores, strict=True)]
    if math.isinf(sum(map(abs, differences))):  # `fmean` and `stdev` raise beyond the largest float
        return ""
    won = sum(objective.utility(difference) > 0 for difference in differences)
    may_be = ", which may be chance" if _may_be_chance(worse, better) else ""
    mean, spread = (without_exponent(each) for each in (f"{fmean(differences):+.3g}", f"{stdev(differences):.2g}"))
    return (
        f"Program {len(programs)} is better than program 1 on {won} of {len(differences)} instances{may_be}; its "
        f"scores differ by {mean} ± {spread} (mean and standard deviation over the instances)."
    )


def describe_score_and_metrics(program: Member, objective: Objective) -> str:
    """Return a program's score, its gap and its metrics as sentences."""
    return f"{describe_score(program, objective)} {metrics_in_words(program.metrics, program.score)}".rstrip()


def describe_score(program: Member, objective: Objective, by_instance: bool = True) -> str:
    """Return a score as a sentence, with its gap to the best known and, if asked for, the scores of few instances."""
    each = " ".join(f"{score:.5g}" for score in program.scores)
    is_told = by_instance and 1 < len(program.scores) <= INSTANCES_SHOWN
    single = f" ({each} on the single instances)" if is_told else ""
    gap = objective.gap(program.score)
    # scores that differ from the best known in late digits only would look equal to it
    digits = 8 if gap is not None and REACHED < abs(gap) < 1e-4 else 6
    return f"Score {program.score:.{digits}g}{single}{describe_gap(gap)}."


def describe_gap(gap: float | None) -> str:
    """Return a gap, a fraction, as the end of a sentence; "" if it is unknown."""
    if gap is None:
        return ""
    if gap > REACHED:
        return f", {100 * gap:.3g} % behind the best known"
    return ", as good as the best known to six digits" if gap >= -REACHED else ", better than the best known"


# Share of the limit on CPU time from which prompts give a program's time as a number.
#
# What is below it depends little on the machine, so that most runs ask in the same words everywhere.
TOLD_FROM = 1 / 10


def time_in_words(program: Member, limit_s: float) -> str:
    """Return the CPU time (s) that counts, or all, beside the limit; "" if it is unknown or `limit_s` is 0."""
    used = program.cpu_s if program.counted_s is None else program.counted_s
    if used is None or not limit_s:
        return ""
    least = TOLD_FROM * limit_s
    return f"CPU time {f'{used:.2g}' if used >= least else f'below {least:.2g}'} of {limit_s:g} s."


def describe_run(state: RunState, shown: Sequence[Member], words: InWords, is_leader_shown: bool = False) -> str:
    """Return how many programs a run has tried, its best score, and how far behind `shown` are on each instance.

    "" before the first candidate is registered. `is_leader_shown` is whether the prompt has a place for the best
    program beside `shown`. Raises TaskError as `InWords` does.
    """
    tried = state.tried
    if not state.registered:
        return ""
    failed = f", of which {tried.failed} failed" if tried.failed else ""
    said = f"The search has tried {count_noun(state.registered, 'program')} so far{failed}"
    best, template = state.best, state.template
    if best is None:
        return f"{said}. None of them ran."
    beside = (
        leader_beside(state, shown) if is_leader_shown and any(each.candidate != TEMPLATE for each in shown) else None
    )
    table = "\n".join(filter(None, _behind(state, shown, beside, words)))
    at = next((number for number, each in enumerate(shown, 1) if each.score == best.score), None)
    if template is not None and template.utility >= best.utility:
        known = f"which scores {template.score:.6g}{describe_gap(state.objective.gap(template.score))}"
        said += f". None is better than the program that the search began with, {known}."
    elif at is not None:
        said += f"; the best is {'the one' if len(shown) == 1 else f'program {at}'} above."
    # a score alone, without the program that has it, helps nobody
    elif is_leader_shown or all(each.candidate == TEMPLATE for each in shown):
        said += "."
    else:
        said += f". The best one scores {best.score:.6g}{describe_gap(state.objective.gap(best.score))}."
    return f"{said}\n\n{table}".rstrip()


# Most instances that are named as those on which a program is better than the best one.
BETTER_ON = 3


def _ahead(shown: Sequence[Member], best: Member, which: str, told: Sequence[int], words: InWords, sign: int) -> str:
    """Return a sentence on where programs are better than the best one, called `which`: what to take from each.

    `told` are the instances whose names the prompt tells already; `sign` is 1 where higher scores are better, else -1.
    """
    said = []
    for number, each in enumerate(shown, 1):
        if each is not best and len(each.scores) == len(best.scores):
            lead = [sign * (ours - theirs) for ours, theirs in zip(each.scores, best.scores, strict=True)]
            # rounding is no lead
            least = [REACHED * max(1.0, abs(score)) for score in best.scores]
            ahead = sorted((i for i in range(len(lead)) if lead[i] > least[i]), key=lambda i: -lead[i])
            named = [f"{i + 1} {'' if i in told else words.name(i)}".rstrip() for i in ahead[:BETTER_ON]]
            rest = len(ahead) - BETTER_ON
            named += [f"{rest} other{'s' if rest > 1 else ''}"] if rest > 0 else []
            which_ones = " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))
            name = "it" if len(shown) == 1 else f"program {number}"
            said += [f"{name} on instance{'s' if len(ahead) > 1 else ''} {which_ones}"] if ahead else []
    return f"Better than {which}: {'; '.join(said)}." if said else ""


def _behind(state: RunState, shown: Sequence[Member], beside: Member | None, words: InWords) -> Iterator[str]:
    """Yield the lines of a table: per instance the best score so far, and how far behind it the shown programs are.

    `beside` is the best program, if it stands beside `shown`. After the table stands where the others are better.
    """
    # The template has no column. Instances on which no program is behind have no row. Of more than INSTANCES_SHOWN,
    # those are shown on which the best of the programs is furthest behind: there is most to gain.
    utility = state.objective.utility
    best = state.tried.best_scores
    if state.template is not None:
        best = tuple(max(pair, key=utility) for pair in zip(best, state.template.scores, strict=False))
    columns = [*shown, *filter(None, [beside])]
    programs = [each for each in columns if each.candidate != TEMPLATE and len(each.scores) == len(best)]
    if len(best) < 2 or not programs:
        return
    # a share of a logarithm, or of scores on both sides of 0, says nothing
    relative = all(score > 0 for score in (*best, *(score for each in programs for score in each.scores)))

    def behind(member: Member, index: int) -> float:
        much = utility(best[index]) - utility(member.scores[index])
        return 100 * much / abs(best[index]) if relative else much

    # rounding is no gap
    least = [100 * REACHED if relative else REACHED * max(1.0, abs(score)) for score in best]
    open_to = [index for index in range(len(best)) if any(behind(each, index) > least[index] for each in programs)]
    if not open_to:
        yield "On no instance has another program scored better."
        return
    rows = sorted(open_to, key=lambda index: -behind(programs[-1], index))[:INSTANCES_SHOWN]
    unit = "in %" if relative else "in the unit of the score"
    which = " on each instance" if len(rows) == len(best) else ""
    if len(rows) < len(open_to):
        which = " on the instances on which the best of them is furthest behind"
    more = " (level on all others)" if len(rows) == len(open_to) < len(best) else ""
    yield f"How far behind the best score so far{which}, {unit}{more}:"
    names = {index: f"{index + 1} {words.name(index)}".rstrip() for index in rows}
    width = max(len("instance"), *map(len, names.values()))
    numbered = ["program" if len(shown) == 1 else f"program {number}" for number in range(1, len(shown) + 1)]
    titles = [title for each, title in zip(columns, [*numbered, "the best"], strict=False) if each in programs]
    yield f"    {'instance':<{width}}  best so far  {'  '.join(titles)}"
    for index in sorted(rows):
        much = (0.0 if (by := behind(each, index)) <= least[index] else by for each in programs)
        cells = (f"{_much(by):>{len(title)}}" for by, title in zip(much, titles, strict=True))
        yield f"    {names[index]:<{width}}  {best[index]:>11.6g}  {'  '.join(cells)}"
    to_beat, which = (shown[-1], f"program {len(shown)}") if beside is None else (beside, "the best program")
    yield _ahead(shown, to_beat, which, rows, words, 1 if state.objective.direction == "maximise" else -1)


# Most groups in the list of what was tried; one more line sums up the others.
GROUPS_SHOWN = 8
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
    ideas = [idea for idea in state.tried.ideas if idea.thought not in told][: IDEAS_SHOWN if shown else GROUPS_SHOWN]
    said = [attempts_in_words(state, shown, operator)]
    if ideas:
        which = "best other ideas" if shown else "best ideas"
        said.append(f"The {which} so far, by score:")
        # without its code, the best idea is all that a prompt says of the best program
        best = "" if shown or state.best is None else state.best.thought
        said += [
            f"- {each.score:.6g}: {prose(best) if each.thought == best else mechanism(each.thought)}" for each in ideas
        ]
    return "\n".join(filter(None, said)).replace("\nThe best other", "\n\nThe best other")


def attempts_in_words(state: RunState, shown: Sequence[Member], operator: str) -> str:
    """Return a line for each attempt at the shown programs, losses first, those by the same `operator` preferred.

    Each is compared with the better of the shown programs that it was written from, and with the best so far. ""
    without any.
    """
    lines, best, is_lost = [], state.leader, False
    for attempt, number, change in _attempts(state, shown, operator):
        may_be = " (may be chance)" if change and _may_be_chance(attempt, shown[number - 1]) else ""
        became = f"{_much(change)} {'better' if change > 0 else 'worse'} than" if change else "a tie with"
        which = "it" if len(shown) == 1 else f"program {number}"
        became = f"{became} {which}{may_be}"
        behind = 0.0 if best is None else best.utility - state.objective.utility(attempt.score)
        is_even = best is None or _are_equal(attempt.score, best.score) or _may_be_chance(attempt, best)
        if behind > 0 and change >= 0 and not is_even:
            # a gain on a weak parent is no success: the model may have begun from the best program beside it
            became = f"{_much(behind)} worse than the best"
        lines.append(f"- {attempt.score:.6g}, {became}: {mechanism(attempt.thought)}")
        is_lost = is_lost or (change < 0 and not may_be)
    which = "this program" if len(shown) == 1 else "these programs"
    warning = "; do not repeat the losses, which come first" if is_lost else ""
    return "\n".join([f"Tried from {which} before{warning}:", *lines]) if lines else ""


def _attempts(state: RunState, shown: Sequence[Member], operator: str) -> list[tuple[Attempt, int, float]]:
    """Return the attempts that a prompt tells: each with the number of its parent, and how much better it is than it.

    Losses come first: what was tried and did not help is what a model would otherwise try again.
    """
    told, utility = _told(state, shown), state.objective.utility
    found: dict[CandidateId, tuple[Attempt, int, float]] = {}
    for number, parent in enumerate(shown, 1):  # the better parent comes later, and counts
        for attempt in state.tried.attempts.get(parent.candidate, ()):
            if attempt.thought not in told:
                is_tie = _are_equal(attempt.score, parent.score)
                change = 0.0 if is_tie else utility(attempt.score) - parent.utility
                found[attempt.candidate] = attempt, number, change
    latest = sorted(found.values(), key=lambda each: (each[2] > 0, each[0].operator != operator, -each[0].candidate))
    return sorted(latest[:ATTEMPTS_SHOWN], key=lambda each: each[2])


def _told(state: RunState, shown: Sequence[Member]) -> set[str]:
    """Return the thoughts that a prompt with these programs tells beside their code: theirs and the best program's."""
    leader = [state.leader] if shown and state.leader is not None else []
    return {each.thought for each in (*shown, *leader)}


# Most characters of an idea, unless it is the best program's. Half of a language model's ideas have 410 or fewer.
#
# Cut to 240, most of them told what was wrong, and no longer what was done about it.
IDEA = 400
# Fewest characters of an idea that is cut.
LEAST = 60


def mechanism(thought: str, most: int = IDEA) -> str:
    """Return the first sentences of an idea, as many as have `most` characters; it is cut in one if they fill less
    than half of that, then after a clause or, without one, after a word.
    """
    words = prose(thought)
    if len(words) <= most:
        return words

    def last_end(ends: re.Pattern[str]) -> int:
        return max((end.start() for end in ends.finditer(words) if LEAST <= end.start() < most), default=0)

    at = last_end(_SENTENCE)
    if at < most / 2:  # one short sentence says what was wrong, and not yet what was done about it
        at = max(at, last_end(_CLAUSE))
    return f"{words[:at]}…" if at else shorten(words, most)


_SENTENCE, _CLAUSE = re.compile(r"(?<=[^.;])[.;] "), re.compile(r"[,:] | \(")


def groups_in_words(groups: Sequence[BehaviourGroup], attempts: str = "") -> str:
    """Return `attempts` and a line for each of the best groups, and one on the rest; "" if there is nothing to tell."""
    # the programs of a group do nearly the same; `groups` are all of the run, best first
    if not any(group.idea for group in groups):
        return attempts
    said = [
        "What was tried so far, by behaviour: the best score, how many programs do nearly the same, and the best one's "
        "idea."
    ]
    most = IDEAS_SHOWN if attempts else GROUPS_SHOWN
    for group in groups[:most]:
        idea = mechanism(group.idea) or "its idea was not told"
        said.append(f"- {group.score:.6g} ({group.count}): {idea}")
    if rest := groups[most:]:
        more = count_noun(sum(group.count for group in rest), "program")
        said.append(f"- {count_noun(len(rest), 'other behaviour')} ({more}), none of which scores better.")
    return "\n".join([*filter(None, [attempts]), *said])


# The words before what failed. A bug says nothing against an idea, so that none is ruled out.
FAILED_LATELY = "Failed by a bug, a rule or a limit; these ideas are untested:"
# Most failures shown, the latest, of programs that were written from any of those that the prompt shows.
CHILDREN_SHOWN = 3
# Most other failures shown, the latest of the run: more would make up most of a prompt.
LATEST_SHOWN = 3
# For how many further candidates a failure is told.
TOLD_FOR = 10


def failures_in_words(state: RunState, parents: Sequence[CandidateId]) -> str:
    """Return the last failures of programs written from `parents`, then the run's; "" if there is none.

    Equal messages are told once, with their number: the first, in the place of the last. They are told for TOLD_FOR
    candidates.
    """
    known = set(parents) - {TEMPLATE}  # every first program would count as its child
    # the child of a program that is shown again and again would otherwise stand in each later prompt
    lately = [each for each in state.tried.failures if state.registered - each.rejected.candidate <= TOLD_FOR]
    children = [each for each in lately if not known.isdisjoint(each.parents)][-CHILDREN_SHOWN:]
    told = [(each.rejected, _origin(known.intersection(each.parents), parents)) for each in children]
    told += [(each.rejected, "") for each in lately[-LATEST_SHOWN:] if each not in children]
    times = Counter(_cause(each) for each, _ in told)
    last = {_cause(each): (each, origin) for each, origin in reversed(told)}
    lines = [failure_in_words(each, origin, times[_cause(each)]) for each, origin in reversed(last.values())]
    return "\n".join([FAILED_LATELY, *lines]) if lines else ""


def _cause(rejected: Rejected) -> tuple[str, str]:
    return rejected.reason, rejected.message


def _origin(parents: Set[CandidateId], shown: Sequence[CandidateId]) -> str:
    """Return from which of the programs `shown` one with these parents was written, as the beginning of a line."""
    if len(shown) == 1:
        return "written from the program above: "
    numbers = [str(number) for number, each in enumerate(shown, 1) if each in parents]
    return f"written from program{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}: "
