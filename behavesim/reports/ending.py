"""Why a run ended, and what to do next, in a few sentences for the person who started it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from behavesim.analysis.run import Run
from behavesim.analysis.summary import given_up
from behavesim.config import Settings
from behavesim.proposers.prices import Prices
from behavesim.reports.summary import dollars
from behavesim.store.journal import read_reply
from behavesim.text import one_line

SHOWN = 300
"""Characters of a reply that are shown."""

ADVICE: Mapping[str, str] = {
    "truncated": "replies end at their length: raise max_completion_tokens, or ask a model that thinks less",
    "given-up": "the endpoint takes these prompts from nobody: see what it says, and mend that",
    "timeout": "programs take longer than timeout_s: raise it",
    "keeps-state": "programs remember what they were asked, and this task allows none: say so in the prompt",
    "memory": "programs take more than memory_mb: raise it",
}
"""What helps where most candidates are rejected for one reason."""


def ending(run: Run, settings: Settings, reason: str) -> list[str]:
    """What to say of a run that has ended for `reason`, under the settings in force."""
    name = run.folder.argument
    resume, report = f"behavesim resume {name}", f"behavesim report {name}"
    if reason == "finished":
        return [f"run {run.folder.run} is finished; give it a larger --budget to go on"]
    if reason in ("budget", "interrupted"):
        return [*_given_up(run), f"next: {report}"]
    match reason:
        case "max_cost":
            said = (
                f"the cap of {dollars(settings.max_cost_usd)} on cost is reached; raise it with {resume} --max-cost USD"
            )
        case "max_tokens":
            said = f"the cap of {settings.max_tokens:,} tokens is reached; raise it with {resume} --max-tokens N"
        case "max_calls":
            said = f"the cap of {settings.max_calls:,} requests is reached; raise it with {resume} --set max_calls=N"
        case "max_time":
            said = f"its time of {settings.max_time_s:,.0f} s is up; give it more with {resume} --max-time TIME"
        case "unknown_price":
            said = _unknown_price(run, settings, resume)
        case "max_rejected_share":
            return [*_rejections(run), *_given_up(run), f"next: {report}, or {resume} --set max_rejected_share=1"]
        case _:
            said = f"{reason}; go on with {resume}"
    return [f"stopped: {said}", *_given_up(run), f"next: {report}"]


def _given_up(run: Run) -> list[str]:
    requests = given_up(run)
    if not requests:
        return []
    return [f"up to {requests} requests were under way; they may have been billed, and are made again on resume"]


def _unknown_price(run: Run, settings: Settings, resume: str) -> str:
    prices = Prices.named(settings.prices)
    unknown = [model for model, used in run.state.tokens.items() if prices.cost(model, used) is None]
    named = f"""--set 'prices={{"{unknown[0]}" = {{prompt = USD, completion = USD}}}}'""" if unknown else "`prices`"
    models = ", ".join(one_line(model, 100) for model in unknown)
    return f"the price of {models} is unknown, so the cap on cost cannot hold; name it with {resume} {one_line(named)}"


def _rejections(run: Run) -> list[str]:
    """How many came to nothing and why, one reply, and what may help."""
    last, registered = len(run.state.recent), run.state.registered
    rejected = [each for each in run.candidates[registered - last : registered] if each.status == "rejected"]
    reasons = Counter(each.reason or "" for each in rejected).most_common(3)
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons)
    lines = [f"stopped: {len(rejected)} of the last {last} candidates were rejected ({listed})"]
    usual, _ = reasons[0]
    example = next(each for each in reversed(rejected) if each.reason == usual)
    lines.append(f"such as candidate {example.candidate} ({one_line(example.message or usual, SHOWN)})")
    reply = read_reply(run.folder.journal, example.candidate)
    if reply is not None and reply.text.strip():
        lines.append(f"whose reply was: {one_line(reply.text, SHOWN)}")
    lines.append(ADVICE.get(usual, "try another model, or look at the prompt: it may not fit this one"))
    return lines
