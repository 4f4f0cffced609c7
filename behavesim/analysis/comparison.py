"""Runs compared: seeds of equal settings pooled, their results side by side, their differences tested."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import difference, holm, paired, sample
from behavesim.config import HARMLESS, Settings

Pairs = Sequence[tuple[str, str]]
"""Labels of the groups whose differences are tested, decided before the results were seen."""

Document = Mapping[str, Any]
"""A run as its report says it."""

NOT_PART = HARMLESS | {"seed", "proposer", "models", "task", "method"}
"""Settings that do not stand in a group's label: they are the same, or shown elsewhere, or of no effect."""


@dataclass(frozen=True)
class Group:
    """Runs on one task that differ in their seeds alone."""

    task: str
    label: str
    runs: tuple[Document, ...]


def _best(run: Document, key: str) -> float | None:
    return None if run["best"] is None else run["best"][key]


def _held_out(run: Document, which: str, key: str) -> float | None:
    return run["held_out"][which][key] if "held_out" in run else None


def _inside(diversity: Document) -> float | None:
    return _known_mean(diversity["intra"])


def _separation(diversity: Document) -> float | None:
    inside, between = _inside(diversity), diversity["inter"]
    return between / inside if inside and between is not None else None


DIVERSITY: Mapping[str, Callable[[Document], float | None]] = {
    "intra": _inside,
    "inter": lambda diversity: diversity["inter"],
    "separation": _separation,
}
"""Of an archive: the mean distance inside islands, between them, and the latter over the former."""


def _last(run: Document, which: str) -> float | None:
    """At the last tenth of the budget: a restart may follow, which says nothing of what was kept apart."""
    moments = run["diversity_over_time"]
    return DIVERSITY[which](moments[-1]) if moments else None


def _choice(run: Document, key: str) -> float | None:
    best, recommended = _held_out(run, "best", key), _held_out(run, "recommended", key)
    if best is None or recommended is None:
        return None
    return best - recommended if key == "gap" else recommended - best


def _repeated(run: Document, what: str, of: str) -> float | None:
    return 1 - run["distinct"][what] / run["distinct"][of] if run["distinct"][of] else None


METRICS: Mapping[str, Callable[[Document], float | None]] = {
    "best_gap": lambda run: _best(run, "gap"),
    "top10_gap": lambda run: run["top10_gap"],
    "recommended_gap": lambda run: None if run["recommended"] is None else run["recommended"]["gap"],
    "best_score": lambda run: _best(run, "score"),
    "held_out_best_gap": lambda run: _held_out(run, "best", "gap"),
    "held_out_top10_gap": lambda run: _held_out(run, "top10", "gap"),
    "held_out_recommended_gap": lambda run: _held_out(run, "recommended", "gap"),
    "held_out_best": lambda run: _held_out(run, "best", "improvement"),
    "held_out_top10": lambda run: _held_out(run, "top10", "improvement"),
    "held_out_recommended": lambda run: _held_out(run, "recommended", "improvement"),
    "held_out_choice_gap": lambda run: _choice(run, "gap"),
    "held_out_choice": lambda run: _choice(run, "improvement"),
    "intra_distance": lambda run: _last(run, "intra"),
    "inter_distance": lambda run: _last(run, "inter"),
    "separation": lambda run: _last(run, "separation"),
    "repeated_programs": lambda run: _repeated(run, "programs", "feasible"),
    "repeated_behaviours": lambda run: _repeated(run, "behaviours", "programs"),
    "top10_behaviours": lambda run: run["distinct"]["top"],
}
"""What is compared of runs; each is None where a run does not have it. `separation` is inter- over intra-distance; a
held-out value that is no gap is the relative improvement on the template, a fraction; a choice is what the recommended
program is better there than the best of the search. Of the feasible candidates `repeated_programs` repeat a program, of
the programs `repeated_behaviours` repeat a behaviour (fractions); `top10_behaviours` counts those of the ten best."""


def comparison(runs: Sequence[Run], documents: Sequence[Document], pairs: Pairs | None = None) -> list[dict[str, Any]]:
    """For each task its groups with their results, and tests of the pairs named, or else of all pairs of groups.

    Holm's correction holds for all tests of one metric on all tasks. A run that repeats another does not count. Empty
    where there is one run only.
    """
    again = set(repeats(runs))
    counted = [place for place in range(len(runs)) if place not in again]
    if len(counted) < 2:
        return []
    groups = grouped([runs[place] for place in counted], [documents[place] for place in counted])
    by_task: dict[str, list[Group]] = {}
    for group in groups:
        by_task.setdefault(group.task, []).append(group)
    entries: list[dict[str, Any]] = [
        {
            "task": task,
            "groups": [_group(group) for group in here],
            "tests": _tests(here, pairs),
            "choice": _choices(here),
        }
        for task, here in by_task.items()
    ]
    for made in ("tests", "choice"):
        _correct([test for entry in entries for test in entry[made]])
    return entries


def repeats(runs: Sequence[Run]) -> list[int]:
    """The places of runs that repeat an earlier one, of equal settings and seed: they are no samples of their own.

    A model answers differently every time, so that of its runs only copies are repeats.
    """
    seen: set[tuple[str, int, str]] = set()
    found = []
    for place, run in enumerate(runs):
        answers = run.state.digest() if run.settings.proposer == "openai" else ""
        same = (_key(run), run.settings.seed, answers)
        if same in seen:
            found.append(place)
        seen.add(same)
    return found


def grouped(runs: Sequence[Run], documents: Sequence[Document]) -> list[Group]:
    """The runs by task and by settings that could change what they find, in order of first appearance."""
    found: dict[str, list[tuple[Run, Document]]] = {}
    for run, document in zip(runs, documents, strict=True):
        found.setdefault(_key(run), []).append((run, document))
    members = list(found.values())
    labels = _labels([rows[0][0] for rows in members])
    return [
        Group(rows[0][0].settings.task, label, tuple(document for _, document in rows))
        for rows, label in zip(members, labels, strict=True)
    ]


def _key(run: Run) -> str:
    values = run.settings.model_dump(mode="json")
    kept = {key: value for key, value in values.items() if key not in HARMLESS | {"seed"}}
    kept["budget"] = max(run.settings.budget, run.state.asked)
    started = run.state.started
    versions = {} if started is None else {k: started.fingerprint.get(k) for k in ("task", "instances", "template")}
    return json.dumps([kept, versions], sort_keys=True)


def _labels(runs: Sequence[Run]) -> list[str]:
    """The label a run was given, or its method with the settings that set it apart from others of that method."""
    labels = [run.settings.label or _described(run, runs) for run in runs]
    tasks = [run.settings.task for run in runs]
    seen: dict[tuple[str, str], int] = {}
    for place, pair in enumerate(zip(tasks, labels, strict=True)):
        seen[pair] = seen.get(pair, 0) + 1
        if seen[pair] > 1:
            labels[place] = f"{labels[place]} ({seen[pair]})"
    return labels


def _described(run: Run, runs: Sequence[Run]) -> str:
    alike = [
        r.settings for r in runs if (r.settings.task, r.settings.method) == (run.settings.task, run.settings.method)
    ]
    names = [name for name in Settings.model_fields if name not in NOT_PART]
    differing = [name for name in names if any(getattr(s, name) != getattr(run.settings, name) for s in alike)]
    if any(s.proposer != run.settings.proposer or s.models != run.settings.models for s in alike):
        differing += ["proposer"] if run.settings.proposer != "openai" else ["models"]
    shown = (f"{name}={_text(getattr(run.settings, name))}" for name in differing)
    return " ".join([run.settings.method, *shown])


def _text(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, Mapping | tuple) else str(value).lower()


def _group(group: Group) -> dict[str, Any]:
    metrics = {name: _values(group, name) for name in METRICS}
    return {
        "label": group.label,
        "method": group.runs[0]["method"],
        "runs": [run["run"] for run in group.runs],
        "seeds": [run["seed"] for run in group.runs],
        "asked": [min(run["asked"] for run in group.runs), max(run["asked"] for run in group.runs)],
        "metrics": {name: asdict(sample(values)) for name, values in metrics.items() if values},
        "diversity_over_time": _over_time(group),
    }


def _over_time(group: Group) -> list[dict[str, Any]]:
    """Means over the runs at every tenth of the budget; None where no run has a value."""
    moments: dict[int, list[Document]] = {}
    for point in (point for run in group.runs for point in run["diversity_over_time"]):
        moments.setdefault(point["told"], []).append(point)
    return [
        {"told": told} | {name: _known_mean([value(point) for point in points]) for name, value in DIVERSITY.items()}
        for told, points in sorted(moments.items())
    ]


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _values(group: Group, metric: str) -> list[float]:
    values = (METRICS[metric](run) for run in group.runs)
    return [value for value in values if value is not None]


CHOICES = ("held_out_choice_gap", "held_out_choice")


def _choices(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """What choosing the winner on validation instances was worth, over the runs of all groups, by gap and by gain.

    Runs of one seed begin alike, so that the interval and the test take their mean as one value. `unknown` counts the
    runs of which either program failed on held-out instances.
    """
    tried = [run for group in groups for run in group.runs if "held_out" in run]
    return [choice for metric in CHOICES if (choice := _choice_by(metric, tried)) is not None]


def _choice_by(metric: str, tried: Sequence[Document]) -> dict[str, Any] | None:
    by_seed: dict[int, list[float]] = {}
    for run in tried:
        if (value := METRICS[metric](run)) is not None:
            by_seed.setdefault(run["seed"], []).append(value)
    values = [value for alike in by_seed.values() for value in alike]
    if not values:
        return None
    whole = paired([sum(alike) / len(alike) for alike in by_seed.values()])
    return {
        "metric": metric,
        "runs": len(values),
        "better": sum(value > 0 for value in values),
        "equal": sum(value == 0 for value in values),
        "worse": sum(value < 0 for value in values),
        "unknown": len(tried) - len(values),
        "seeds": len(by_seed),
        **asdict(whole),
        "p_holm": None,
    }


def _tests(groups: Sequence[Group], pairs: Pairs | None) -> list[dict[str, Any]]:
    by_label = {group.label: group for group in groups}
    chosen = list(combinations(by_label, 2)) if pairs is None else pairs
    tests = []
    for metric in METRICS:
        for first, second in chosen:
            if first not in by_label or second not in by_label:
                continue
            a, b = _values(by_label[first], metric), _values(by_label[second], metric)
            if a and b:
                tests.append({"metric": metric, "a": first, "b": second, **asdict(difference(a, b)), "p_holm": None})
    return tests


def _correct(tests: Sequence[dict[str, Any]]) -> None:
    """Fill in Holm's corrected p-values, metric by metric."""
    for metric in METRICS:
        family = [test for test in tests if test["metric"] == metric]
        for test, corrected in zip(family, holm([test["p"] for test in family]), strict=True):
            test["p_holm"] = corrected
