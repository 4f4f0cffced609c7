"""Say what a run that goes on has spent, at which rate, and of which caps."""

from __future__ import annotations

from behavesim.analysis.standing import tokens
from behavesim.base.text import dollars
from behavesim.base.tokens import NO_TOKENS
from behavesim.reports.moment import FEW, Moment
from behavesim.state.state import RunState


def spending(moment: Moment) -> dict[str, str]:
    """Return lines on requests, tokens and cost by name, with their caps; no lines if no request was answered."""
    state, settings = moment.state, moment.settings
    calls = sum(used.calls for used in state.tally.tokens.values())
    if not calls:
        return {}
    return {
        **({} if settings.max_calls is None else {"requests": f"{calls:,} of {settings.max_calls:,}"}),
        "tokens": _tokens(moment),
        "cost": _cost(moment),
    }


def _tokens(moment: Moment) -> str:
    state, most = moment.state, moment.settings.max_tokens
    used = tokens(state)
    prompt, completion = used["prompt"], used["completion"]
    if is_estimated := _is_estimated(state):
        whole = sum((each.with_estimates() for each in state.tally.tokens.values()), NO_TOKENS)
        prompt, completion = whole.prompt, whole.completion
    if prompt is None or completion is None:
        return "unknown"
    known = f"{'about ' if is_estimated else ''}{prompt:,} in, {completion:,} out"
    known += f" of {most:,}" if most is not None else ""
    known += ", estimated from the text" if is_estimated else ""
    a_reply = _a_reply(moment, prompt + completion)
    return known if a_reply is None or not moment.rate else f"{known}; {60 * a_reply * moment.rate:,.0f}/min"


def _cost(moment: Moment) -> str:
    about = "about " if _is_estimated(moment.state) else ""
    most = moment.settings.max_cost_usd
    known = f"{about}{dollars(moment.cost_usd)}{'' if most is None else f' of {dollars(most)}'}"
    a_reply = _a_reply(moment, moment.cost_usd)
    if a_reply is None:
        return known
    an_hour = f"{dollars(3600 * a_reply * moment.rate)}/h, " if moment.rate else ""
    return f"{known}; {an_hour}{dollars(a_reply * moment.settings.budget)} for the whole budget"


def _a_reply(moment: Moment, amount: float | None) -> float | None:
    """Return the mean amount per reply, in the amount's unit; None if unknown, or before FEW replies."""
    return amount / moment.answered if amount is not None and moment.answered >= FEW else None


def _is_estimated(state: RunState) -> bool:
    return any(each.estimated_prompt or each.estimated_completion for each in state.tally.tokens.values())
