"""Say what a run that goes on has spent, at which rate, and of which caps."""

from __future__ import annotations

from behavesim.base.text import dollars
from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.reports.moment import FEW, Moment


def spending(moment: Moment) -> dict[str, str]:
    """Return lines on requests, tokens and cost by name, with their caps; no lines if no request was answered.

    Requests have a line only if they have a cap. Tokens are "unknown" if no answer reported them and none are
    estimated; the cost is "unknown" if a price is. What holds estimates is marked with "about".
    """
    used, settings = moment.state.tally.tokens.values(), moment.settings
    whole = sum((each.with_estimates() for each in used), NO_TOKENS)
    if not whole.calls:
        return {}
    is_estimated = any(each.estimated_prompt or each.estimated_completion for each in used)
    return {
        **({} if settings.max_calls is None else {"requests": f"{whole.calls:,} of {settings.max_calls:,}"}),
        "tokens": _tokens(moment, whole, is_estimated),
        "cost": f"{'about ' if is_estimated else ''}{_cost(moment)}",
    }


def _tokens(moment: Moment, whole: Tokens, is_estimated: bool) -> str:
    if whole.unreported == whole.calls and not is_estimated:
        return "unknown"
    most = moment.settings.max_tokens
    known = f"{whole.prompt:,} in, {whole.completion:,} out{'' if most is None else f' of {most:,}'}"
    known = f"about {known}, estimated from the text" if is_estimated else known
    a_reply = _a_reply(moment, whole.prompt + whole.completion)
    return known if a_reply is None or not moment.rate else f"{known}; {60 * a_reply * moment.rate:,.0f}/min"


def _cost(moment: Moment) -> str:
    most = moment.settings.max_cost_usd
    known = f"{dollars(moment.cost_usd)}{'' if most is None else f' of {dollars(most)}'}"
    a_reply = _a_reply(moment, moment.cost_usd)
    if a_reply is None:
        return known
    an_hour = f"{dollars(3600 * a_reply * moment.rate)}/h, " if moment.rate else ""
    return f"{known}; {an_hour}{dollars(a_reply * moment.settings.budget)} for the whole budget"


def _a_reply(moment: Moment, amount: float | None) -> float | None:
    """Return the mean amount per reply, in the amount's unit; None if unknown, or before FEW replies."""
    return amount / moment.answered if amount is not None and moment.answered >= FEW else None
