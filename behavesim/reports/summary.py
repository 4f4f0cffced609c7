"""The summary of a run: one document for machines, and the same as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from behavesim.analysis.run import TOP, Candidate, Run
from behavesim.caps import spent
from behavesim.proposers.prices import Prices

if TYPE_CHECKING:
    from rich.table import Table

TOKENS = ("prompt", "cached", "completion", "reasoning")


def state_of(run: Run) -> str:
    """running, finished (its budget is spent), stopped (a cap or a person ended it) or failed."""
    stopped = run.state.stopped
    if stopped is None:
        return "running" if run.folder.is_running() else "failed"
    return {"budget": "finished", "failed": "failed"}.get(stopped, "stopped")


def summary(run: Run) -> dict[str, Any]:
    """What `--json` prints for a run; scores in the task's unit, gaps as fractions, what is unknown is null."""
    state, settings = run.state, run.settings
    status = state_of(run)
    return {
        "run": run.folder.run,
        "state": status,
        "stopped_by": "killed" if status == "failed" and state.stopped is None else state.stopped,
        "task": settings.task,
        "method": settings.method,
        "proposer": settings.proposer,
        "seed": settings.seed,
        "asked": state.asked,
        "feasible": state.feasible,
        "rejected": dict(sorted(state.rejected.items())),
        "best": scored(run, run.best),
        "recommended": _recommended(run),
        "top10_gap": top_gap(run),
        "tokens": {name: sum(getattr(used, name) for used in state.tokens.values()) for name in TOKENS},
        "cost_usd": spent(state.tokens, Prices.extended(settings.prices).cost),
        "isolation": state.isolation,
        "seconds": round(run.active_s, 3),
        "digest": state.digest(),
    }


def scored(run: Run, candidate: Candidate | None) -> dict[str, Any] | None:
    """A candidate's number, score and gap; None where there is none."""
    if candidate is None:
        return None
    return {"candidate": candidate.candidate, "score": candidate.score, "gap": run.gap(candidate.score)}


def _recommended(run: Run) -> dict[str, Any] | None:
    event, chosen = run.state.recommended, run.recommended
    if event is None or chosen is None:
        return None
    return {**(scored(run, chosen) or {}), "validation_score": event.validation[chosen.candidate]}


def top_gap(run: Run) -> float | None:
    """The mean gap of the ten best distinct programs, of fewer where there are fewer; None where gaps are unknown."""
    gaps = [run.gap(candidate.score) for candidate in run.ranked()[:TOP]]
    known = [gap for gap in gaps if gap is not None]
    return sum(known) / len(known) if known and len(known) == len(gaps) else None


def percent(gap: float | None) -> str:
    """A gap as people read it."""
    return "unknown" if gap is None else f"{100 * gap:.2f} %"


def summary_table(document: dict[str, Any]) -> Table:
    """The summary as a two-column table."""
    from rich.table import Table

    rejected, cost = document["rejected"], document["cost_usd"]
    table = Table(title=f"run {document['run']}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    rows = {
        "state": f"{document['state']} ({document['stopped_by'] or 'in progress'})",
        "method": f"{document['method']} on {document['task']}, seed {document['seed']}",
        "proposer": document["proposer"],
        "candidates": _candidates(document),
        "rejected": ", ".join(f"{reason} {count}" for reason, count in rejected.items()) or "none",
        "best": _best(document["best"]),
        "recommended": _chosen(document["recommended"]),
        "top-10 gap": percent(document["top10_gap"]),
        "tokens": ", ".join(f"{name} {count:,}" for name, count in document["tokens"].items()),
        "cost": "unknown" if cost is None else f"${cost:.4f}",
        "isolation": document["isolation"],
        "time": f"{document['seconds']:.1f} s",
        "digest": document["digest"][:16],
    }
    for name, value in rows.items():
        table.add_row(name, str(value))
    return table


def _candidates(document: dict[str, Any]) -> str:
    asked, feasible, rejected = document["asked"], document["feasible"], sum(document["rejected"].values())
    unfinished = asked - feasible - rejected
    known = f"{asked} asked, {feasible} feasible, {rejected} rejected"
    return f"{known}, {unfinished} open" if unfinished > 0 else known


def _chosen(recommended: dict[str, Any] | None) -> str:
    if recommended is None:
        return "none yet"
    return f"{_best(recommended)}, on validation instances {recommended['validation_score']:.6g}"


def _best(best: dict[str, Any] | None) -> str:
    if best is None:
        return "none yet"
    return f"{best['score']:.6g}, gap {percent(best['gap'])} (candidate {best['candidate']})"
