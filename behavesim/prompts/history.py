"""Says in prompts how far the run has come: its best scores, the ideas it has tried, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from behavesim.base.text import counted
from behavesim.prompts.feedback import IDEA_SHOWN, failure_in_words, prose
from behavesim.prompts.shown import INSTANCES_SHOWN, said_gap, time_in_words
from behavesim.state.events import TEMPLATE, CandidateId
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.state.ways import Way
from behavesim.task import InWords

WAYS_SHOWN = 8
"""Most ideas, or ways, in the list of what was tried; one more line sums up the other ways."""
CHILDREN_SHOWN = 3
"""Most failures shown, the latest, of programs that were written from any of those that the prompt shows."""


def run_in_words(state: RunState, shown: Sequence[Member], words: InWords, limit_s: float = 0.0) -> str:
    """Return how many programs a run has tried, its best score, and how far behind `shown` are on each instance.

    Return "" before the first candidate is registered. `shown` are the prompt's programs, in its order. `words` names
    the instances. If the best program is better than the template, and none of `shown` has its score, its CPU time is
    said beside `limit_s`, the limit in seconds. A limit of 0 leaves it out. Raises TaskError as `InWords` does.
    """
    tried = state.tried
    if not state.registered:
        return ""
    failed = str(tried.failed or "none")
    said = f"The search has tried {counted(state.registered, 'program')} so far, of which {failed} failed."
    best, template = state.best, state.template
    if best is None:
        return f"{said} None of them ran."
    table = "\n".join(_behind(state, shown, words))
    if template is not None and template.utility >= best.utility:
        known = f"which scores {template.score:.6g}{said_gap(state.objective.gap(template.score))}"
        return f"{said} None is better than the program that the search began with, {known}.\n\n{table}".rstrip()
    at = next((number for number, each in enumerate(shown, 1) if each.score == best.score), None)
    which = "is not shown here" if at is None else "is the one above" if len(shown) == 1 else f"is program {at} above"
    said += f" The best one scores {best.score:.6g}{said_gap(state.objective.gap(best.score))}, and {which}."
    if at is None and limit_s:
        said = f"{said} {time_in_words(best, limit_s)}".rstrip()
    return f"{said}\n\n{table}".rstrip()


def _behind(state: RunState, shown: Sequence[Member], words: InWords) -> Iterator[str]:
    """Yield the lines of a table: per instance the best score so far, and how far behind it the shown programs are.

    The template has no column. There are no lines if the task has one instance, or only the template is shown. Of more
    than INSTANCES_SHOWN instances, those are shown on which the last program is furthest behind.
    """
    utility = state.objective.utility
    best = state.tried.best_scores
    if state.template is not None:
        best = tuple(max(pair, key=utility) for pair in zip(best, state.template.scores, strict=False))
    programs = [each for each in shown if each.candidate != TEMPLATE and len(each.scores) == len(best)]
    if len(best) < 2 or not programs:
        return
    relative = all(best)

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


def ideas_in_words(state: RunState, shown: Sequence[Member] = ()) -> str:
    """Return a line for each of the best ideas, at most WAYS_SHOWN, with the score of its best program; "" if none.

    `shown` are the programs that the prompt shows with their ideas; the list leaves these out.
    """
    known = {each.thought for each in shown}
    ideas = [idea for idea in state.tried.ideas if idea.thought not in known]
    if not ideas:
        return ""
    lines = [f"- {idea.score:.6g}: {prose(idea.thought, IDEA_SHOWN)}" for idea in ideas[:WAYS_SHOWN]]
    which = "best other ideas" if shown else "best ideas"
    return "\n".join([f"The {which} tried so far, each with the score of its best program:", *lines])


def ways_in_words(ways: Sequence[Way]) -> str:
    """Return a line for each of the WAYS_SHOWN best ways: its best score, number of programs and idea; one on the rest.

    A way is a group of programs that do nearly the same. `ways` are all of the run, best first. "" if none has an idea.
    """
    if not any(way.idea for way in ways):
        return ""
    said = [
        "What was tried so far, a line for each behaviour (programs that do nearly the same count together): the best "
        "score, how many programs, and the idea of the best one."
    ]
    said += [
        f"- {way.score:.6g} ({way.count}): {prose(way.idea, IDEA_SHOWN) or 'its idea was not told'}"
        for way in ways[:WAYS_SHOWN]
    ]
    if rest := ways[WAYS_SHOWN:]:
        more = counted(sum(way.count for way in rest), "program")
        said.append(f"- {counted(len(rest), 'other behaviour')} ({more}), none of which scores better.")
    return "\n".join(said)


def failures_in_words(state: RunState, parents: Sequence[CandidateId]) -> str:
    """Return the last CHILDREN_SHOWN failures of programs written from `parents`, and the run's; "" if there is none.

    `parents` are the programs that the prompt shows, in its order. What was written from the template alone counts as
    written from none of them.
    """
    known = set(parents) - {TEMPLATE}
    children = [each for each in state.tried.failures if not known.isdisjoint(each.parents)][-CHILDREN_SHOWN:]
    lines = [failure_in_words(each.rejected, _origin(known.intersection(each.parents), parents)) for each in children]
    own = {each.rejected.candidate for each in children}
    lines += [failure_in_words(each) for each in state.failures if each.candidate not in own]
    if not lines:
        return ""
    return "\n".join(["Programs that failed lately; do not repeat their mistakes:", *dict.fromkeys(lines)])


def _origin(parents: Set[CandidateId], shown: Sequence[CandidateId]) -> str:
    """Return from which of the programs `shown` one with these parents was written, as the beginning of a line."""
    if len(shown) == 1:
        return "written from the program above: "
    numbers = [str(number) for number, each in enumerate(shown, 1) if each in parents]
    return f"written from program{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}: "
