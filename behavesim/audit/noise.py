"""Tells a program that draws at random, or a noisy evaluator, from a journal that was changed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from behavesim.engine.outcome import without_addresses
from behavesim.evaluators.judge import STAGE_SCORE
from behavesim.evaluators.steps import is_of_the_clock
from behavesim.state.events import Evaluated, Rejected

Outcome = Evaluated | Rejected
"""The event that ends the evaluation of a candidate."""
TRIALS = 3
"""Most further evaluations of a program: more would tell rarer noise, at a higher cost for a changed journal."""
# what `noise` returns: the scores differ, or everything but the scores
SCORE = "noisy: the score differs each time the program is run"
REST = "noisy: the score is equal, metrics, feedback or behaviour differ each time"


_WORDS_OF_EXIT, _OLD_EXIT = (
    re.compile(r"\Athe program called os\._exit\((-?\d+)\)\Z"),
    r"the program ended its process itself, with status \1",
)
_WORDS_OF_LENGTHS, _OLD_LENGTHS = (
    re.compile(r"\Athe program's process sent bytes that are no solution .*\Z"),
    "the program's solutions cannot be read: its lengths do not agree",
)


async def noise(recorded: Outcome, again: Outcome, evaluated: Callable[[], Awaitable[Outcome]]) -> str:
    """Return in what the outcomes of a program differ between evaluations (SCORE or REST); "" if they do not.

    `again` is the outcome of a new evaluation, and `evaluated` makes up to TRIALS more. If `again` is like the recorded
    outcome, or all new ones are alike, there is no noise.
    """
    if lasting(again, True) == lasting(recorded, True):
        return ""
    for _ in range(TRIALS):
        other = await evaluated()
        if lasting(other, True) != lasting(again, True):
            scores = {each.score if isinstance(each, Evaluated) else None for each in (recorded, again, other)}
            return SCORE if len(scores) > 1 else REST
    return ""


def lasting(event: Outcome, is_self_reported: bool = False) -> Outcome:
    """Return an outcome without what differs each time: its CPU times, and memory addresses in its message.

    If an evaluator reported it (`is_self_reported`), its metrics of time and memory (`is_of_the_clock`) are left out
    too. A task's own metrics are kept, whatever their names. A failure at a stage without a score counts as refused by
    the evaluator, as it has been called since; "stage-N" named exceptions before, too. Sentences of the sandbox that
    had other words in older journals get these.
    """
    metrics = event.metrics
    if is_self_reported:
        metrics = {name: value for name, value in metrics.items() if not is_of_the_clock(name)}
    if isinstance(event, Rejected):
        is_old = event.reason.startswith("stage-") and STAGE_SCORE not in event.metrics
        reason = "evaluator" if is_old else event.reason
        message = _WORDS_OF_LENGTHS.sub(_OLD_LENGTHS, _WORDS_OF_EXIT.sub(_OLD_EXIT, without_addresses(event.message)))
        return replace(event, cpu_s=0.0, reason=reason, message=message, metrics=metrics)
    return replace(event, cpu_s=0.0, counted_s=None, metrics=metrics)
