"""What a run had used by the time of each candidate, what operators and models brought, and what the run waited for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from behavesim.analysis.candidates import Candidate, calls_by_candidate, token_sums
from behavesim.analysis.run import Run
from behavesim.analysis.summary import last_settings
from behavesim.analysis.table import COUNT, FRACTION, SECONDS, USD, Column, Table, cells_of
from behavesim.base.tokens import Tokens, Usage
from behavesim.state.race import relative_gains
from behavesim.store.reading import UnderWay

# What the operators of the built-in methods ask for, as part of the table's caption.
MEANINGS = {
    "template": "a program, shown only the template",
    "improve": "a better program than those shown",
    "i1": "a first program",
    "e1": "a program unlike those shown",
    "e2": "the common idea of those shown, varied",
    "m1": "the program shown, changed",
    "m2": "the same with other constants",
    "m3": "the same, simpler",
}


@dataclass(frozen=True)
class OperatorYield:
    """What the requests of one kind to one model brought, and what they took.

    `improved` candidates are better than the best of their parents, or than the template if they have none; a prompt
    may show a still better program beside these. `gain` is the mean gain of the feasible ones on that parent, a
    fraction. `bests` were better than all before them, the template included.
    `tokens` and `cost_usd` are None if an endpoint did not say, or no model was asked.
    """

    operator: str
    model: str | None
    asked: int
    feasible: int
    improved: int
    bests: int
    gain: float | None
    tokens: int | None
    cost_usd: float | None


def operators(run: Run) -> tuple[OperatorYield, ...]:
    """Return all kinds of requests, the most frequent first."""
    alike: dict[tuple[str, str | None], list[Candidate]] = {}
    for candidate in run.candidates:
        alike.setdefault((candidate.operator, candidate.model), []).append(candidate)
    calls, state = calls_by_candidate(run.folder.journal), run.state
    to_beat = -math.inf if state.template is None else state.objective.utility(state.template.score)
    bests = {candidate for candidate, score in state.bests if state.objective.utility(score) > to_beat}
    cost, found = _costs(run), []
    for (operator, model), asked in alike.items():
        gains = [gain for each in asked if (gain := _gain(run, each)) is not None]
        used = [call for each in asked for call in calls[each.candidate]]
        sums = token_sums(used)
        known = None if sums["prompt"] is None or sums["completion"] is None else sums["prompt"] + sums["completion"]
        feasible = sum(each.status == "feasible" for each in asked)
        improved, new = sum(gain > 0 for gain in gains), sum(each.candidate in bests for each in asked)
        worth = len(asked), feasible, improved, new, fmean(gains) if gains else None
        found.append(OperatorYield(operator, model, *worth, known, cost(model, used)))
    return tuple(sorted(found, key=lambda each: (-each.asked, each.operator, each.model or "")))


def _gain(run: Run, candidate: Candidate) -> float | None:
    """Return a feasible candidate's gain on the best of its parents, or on the template without any."""
    parents = [run.candidate(parent) for parent in candidate.parents]
    base = max((each for each in parents if each.score is not None), key=run.utility, default=run.template)
    if candidate.score is None or base is None or base.score is None:
        return None
    (gain,) = relative_gains((candidate.score,), (base.score,), run.state.objective)
    return gain


def _costs(run: Run) -> Callable[[str | None, Sequence[Usage]], float | None]:
    """Return a function of a model and its calls: what they cost in USD, None if that is unknown."""
    from behavesim.proposers.prices import Prices  # imported late: it loads the list prices

    prices = Prices.named(last_settings(run).prices)
    return lambda model, calls: None if model is None or not calls else prices.cost(model, Tokens.of(calls))


def operators_table(found: Sequence[OperatorYield]) -> Table:
    """Return a row for each kind of requests."""
    columns = (
        *(Column("operator"), Column("model"), Column("asked", COUNT), Column("feasible", COUNT)),
        *(
            Column("improved", COUNT),
            Column("bests", COUNT, title="new best"),
            Column("gain", FRACTION, title="mean gain"),
        ),
        *(Column("tokens", COUNT), Column("cost_usd", USD, title="cost")),
    )
    meanings = [f"{each.operator}: {MEANINGS[each.operator]}" for each in found if each.operator in MEANINGS]
    caption = "; ".join(
        (
            "improved: better than the best of its parents",
            "new best: better than all before, the template included",
            "mean gain: on that parent, of the feasible; of few, differences are mostly chance",
            *dict.fromkeys(meanings),
        )
    )
    return Table(
        "operators", "what operators brought", columns, tuple(cells_of(each, columns) for each in found), caption
    )


def moments(run: Run) -> list[Mapping[str, float | None]]:
    """Return what the run had used when each candidate had its outcome, with all before it, in the order of asking.

    The keys are requests, tokens (estimated where an endpoint did not say), usd, cpu_s, and hours of activity; a value
    is None if it is unknown for one of them.
    """
    calls, candidates, cost = calls_by_candidate(run.folder.journal), run.candidates, _costs(run)
    costs = [cost(each.model, made) if (made := calls[each.candidate]) else 0.0 for each in candidates]
    unknown = next((place for place, each in enumerate(costs) if each is None), len(costs))
    usd = list(accumulate(each or 0.0 for each in costs))
    requests = accumulate(len(calls[each.candidate]) for each in candidates)
    used = (Tokens.of(calls[each.candidate]).with_estimates() for each in candidates)
    tokens = accumulate(each.prompt + each.completion for each in used)
    cpu = accumulate(each.cpu_s or 0.0 for each in candidates)
    clock = accumulate((run.decided_s.get(each.candidate, 0.0) for each in candidates), max)
    return [
        {
            "requests": asked,
            "tokens": count,
            "usd": usd[place] if place < unknown else None,
            "cpu_s": cpu_s,
            "hours": seconds / 3600,
        }
        for place, (asked, count, cpu_s, seconds) in enumerate(zip(requests, tokens, cpu, clock, strict=True))
    ]


# What a run waits for while this is under way, for people.
_WAITS: Mapping[UnderWay, str] = {
    "requests": "replies of the model alone",
    "evaluations": "evaluations alone",
    "both": "both, side by side",
    "neither": "neither: decisions, and the order of candidates",
}


def throughput_table(run: Run) -> Table:
    """Return how long a run waited for what, in seconds and as a share; without rows if its journal has no times."""
    total, asked = sum(run.waits.seconds.values()), run.state.questions
    columns = Column("waiting", title="waiting for"), Column("seconds", SECONDS), Column("share", FRACTION)
    rows = tuple(
        (text, run.waits.seconds[name], run.waits.seconds[name] / total) for name, text in _WAITS.items() if total > 0
    )
    rate = f"{60 * asked / total:.1f} candidates a minute, without pauses" if total > 0 else ""
    return Table("throughput", "what the run waited for", columns, rows, rate)
