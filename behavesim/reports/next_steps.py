"""Say what to do next: after a session of a run ended, and why it ended; and after a report of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import given_up
from behavesim.base.config import Settings
from behavesim.base.text import count_noun, one_line
from behavesim.engine.caps import BY_NAME
from behavesim.proposers.proposer import keeps_requests
from behavesim.reports.words import rejections
from behavesim.state.events import TEMPLATE, Responded
from behavesim.store.reading import read_last

if TYPE_CHECKING:
    from behavesim.analysis.report import RunReport

# Largest number of reasons for rejection that a sentence names: the most frequent ones.
USUAL = 3
# Largest number of characters of a reply, or of an error message, that are shown: the rest is cut off.
SHOWN = 300

# Advice by the most frequent reason for rejection, shown with an example of a rejected candidate.
ADVICE: Mapping[str, str] = {
    "truncated": "replies are cut off: raise max_completion_tokens, or ask a model that thinks less",
    "given-up": "the endpoint refuses these prompts: read its message, and mend what it names",
    "timeout": "programs take longer than timeout_s: raise it in a fork",
    "keeps-state": "programs keep state between calls, which this task does not allow: say so in the prompt",
    "memory": "programs take more than memory_mb: raise it in a fork",
    "costly-score": "solutions cost too much to score: let `solve` do the work, or, in a fork, raise timeout_s "
    "(above 30, the least that scoring gets) or memory_mb",
    "incomparable": "behaviours cannot be compared: mend what the message names in the task, and resume with --fork",
}
# Advice for a reason that ADVICE does not have, with any proposer but the offline one.
OTHER_MODEL = "try another model, or look at the prompt: it may not fit this one"
# Advice for a reason that ADVICE does not have, with the offline proposer.
OTHER_GRAMMAR = "the offline proposer knows too little of this task: give the task a `grammar`, or ask a model"
# Advice where nothing that the offline proposer wrote beats the template.
NOTHING_BEATS_IT = (
    "the offline proposer adds and multiplies a function's arguments as they come: give it numbers of about the same "
    "size (such as shares of the mean), a `grammar` or a larger budget, or ask a model"
)
# Largest number of runs that a command names: with more it would take several lines of a terminal.
MOST_NAMES = 4


def ending(run: Run, settings: Settings, reason: str | None) -> list[str]:
    """Return lines that say what ended a run and which command to use next.

    `reason` is as in the journal; "finished" if there was nothing left to resume; None if the process was killed.
    `settings` are those of the last session. If too many candidates were rejected, or all of them, the lines have an
    example and advice; advice, too, if nothing of the offline proposer beats the template. Requests that may be billed
    are counted.
    """
    name = run.folder.argument
    resume, report = f"behavesim resume {name}", f"behavesim report {name}"
    if reason == "finished":  # it was resumed after its budget was spent
        return [f"run {run.folder.run} is finished; give it a larger --budget to go on"]
    if reason == "budget":
        return [*_nothing_feasible(run), *_nothing_better(run), f"next: {report}"]
    if reason in ("interrupted", "failed", None):
        return [*_billed_requests(run), f"next: {resume}"]
    cap = BY_NAME.get(reason)  # None for a reason that is no cap
    said = f"{reason}; go on with {resume}" if cap is None else cap.sentence(run.state, settings, resume)
    if reason == "max_rejected_share":
        last = len(run.state.tally.recent)  # the cap decides on the last candidates registered
        rejected = [each for each in run.candidates[: run.state.registered][-last:] if each.status == "rejected"]
        again = f"next: {report}, or {resume} --set max_rejected_share=1"
        return [f"stopped: {said} {_usual_reasons(rejected)}", *_example(run, rejected), *_billed_requests(run), again]
    return [f"stopped: {said}", *_nothing_feasible(run), *_billed_requests(run), f"next: {report}"]


def _billed_requests(run: Run) -> list[str]:
    requests = given_up(run)
    most = "up to " if run.state.under_way is None else ""
    said = f"{most}{count_noun(requests, 'request')} under way may have been billed, and are made again on resume"
    prompts = sum(bool(batch.id) for batch in run.state.batched.values()) if keeps_requests(run.settings) else 0
    batched = f"the batch with {count_noun(prompts, 'prompt')} goes on at the endpoint; resume takes up its replies"
    return [*([said] if requests else []), *([batched] if prompts else [])]


def _nothing_feasible(run: Run) -> list[str]:
    rejected = [each for each in run.candidates if each.status == "rejected"]
    if run.state.tally.feasible or not rejected:
        return []
    said = f"nothing was found: all {len(rejected)} candidates were rejected {_usual_reasons(rejected)}"
    return [said, *_example(run, rejected)]


def _example(run: Run, rejected: Sequence[Candidate]) -> list[str]:
    ((usual, _),) = Counter(each.reason or "" for each in rejected).most_common(1)
    example = next(each for each in reversed(rejected) if each.reason == usual)
    lines = [f"such as candidate {example.candidate} ({one_line(example.message or usual, SHOWN)})"]
    response = read_last(run.folder.journal, example.candidate, Responded)
    if response is not None and response.reply.text.strip():
        lines.append(f"whose reply was: {one_line(response.reply.text, SHOWN)}")
    return [*lines, ADVICE.get(usual, OTHER_GRAMMAR if _is_offline(run) else OTHER_MODEL)]


def _nothing_better(run: Run) -> list[str]:
    leader = run.state.leader
    is_template = leader is not None and leader.candidate == TEMPLATE
    return [NOTHING_BEATS_IT] if is_template and run.state.tally.feasible and _is_offline(run) else []


def _is_offline(run: Run) -> bool:
    return run.settings.proposer == "genetic"


def _usual_reasons(rejected: Sequence[Candidate]) -> str:
    return f"({rejections(dict(Counter(each.reason or '' for each in rejected).most_common(USUAL)))})"


def next_steps(run: RunReport, name: str, is_full: bool) -> dict[str, str]:
    """Return up to three commands for the run called `name`, without "behavesim", and what each shows."""
    is_untried = run.top and not run.held_out and run.details.has_held_out
    go_on = {"finished": "", "failed": "go on, once the cause is mended"}.get(run.summary.state, "go on with it")
    if run.summary.state == "running":
        first = {f"watch {name}": "follow it"}
    else:
        first = {f"resume {name}": go_on} if go_on else {}
    steps = {
        **first,
        **({f"report {name} --held-out": "on unseen instances"} if is_untried else {}),
        **({} if is_full else {f"report {name} --full": "all sections"}),
        f"report {name} --html page.html": "as a page",
    }
    return dict(list(steps.items())[:3])


def next_steps_of_several(names: Sequence[str], is_full: bool) -> dict[str, str]:
    """Return commands for several runs, without "behavesim", and what each shows."""
    is_more = not is_full and len(names) <= MOST_NAMES
    of_all = {f"report {' '.join(names)} --full": "all tables"} if is_more else {}
    return {f"report {names[0]}": "one run by itself", **of_all}
