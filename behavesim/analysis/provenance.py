"""How a run was made: command, settings, versions and dates; and how a replay differs from its run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from behavesim.analysis.run import Run
from behavesim.analysis.summary import last_settings
from behavesim.base.errors import BehavesimError
from behavesim.base.notices import LoggedNotices, Notice
from behavesim.evaluators.tracing import in_words
from behavesim.proposers.replay import question_numbers
from behavesim.state.events import Added, Asked, CandidateId, Evaluated, Rejected
from behavesim.state.settings import owners_in
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task.evaluated import EvaluatorFile

# Settings that the command always names: what a reader asks for first.
NAMED = ("task", "method", "proposer", "budget", "seed")
# Keys of a run's provenance that name versions, in the order in which a page lists them.
VERSIONS = ("behavesim", "python", "numpy", "machine")
# How a line of the log begins that says which workers serve now, or that none does.
SERVING, NONE_SERVES = "the cluster: ", "no worker of the cluster serves"
# How a line of the log begins that says what happened to one worker.
ONE = "worker "
# Most changes that are listed, the last ones: a large cluster can lose workers every minute.
MOST = 50
# The folders of an absolute path in a text, without its last part. Relative paths and web addresses do not match.
_FOLDERS = re.compile(r"(?<![\w.~/])/(?:[^\s/'\":]+/)+(?=[^\s/'\":])")


@dataclass(frozen=True)
class Workers:
    """The workers of a run's cluster: which served last, since when, and the last changes of them."""

    serving: str
    since: float
    per_minute: float | None
    changes: tuple[Notice, ...]


@dataclass(frozen=True)
class Setting:
    """A setting whose value differs from its default; both are texts, `default` is empty if there is none."""

    name: str
    value: str
    default: str


@dataclass(frozen=True)
class Provenance:
    """How a run was made; file names stand without their folders.

    `commands`, one after the other, make the run again; they leave out settings that cannot change what it finds.
    `settings` are all but NAMED that differ from their defaults.
    """

    commands: tuple[str, ...]
    settings: tuple[Setting, ...]
    versions: Mapping[str, str]
    began_at: float
    last_at: float
    workers: Workers | None
    behaviour: str


def provenance_of(run: Run) -> Provenance:
    """Return how the run was made; raises UsageError if its method or its proposer cannot be loaded."""
    flat, defaults = run.settings.flat(), _defaults(run)
    differing = {name: value for name, value in flat.items() if name not in NAMED and value != defaults.get(name)}
    decisive = run.settings.decisive()
    chosen = {name: value for name, value in differing.items() if name in decisive}
    first, *raised = _budgets(run)
    run_again = without_folders(_command(flat | {"budget": first}, chosen))
    return Provenance(
        commands=(run_again, *(f"behavesim resume --budget {budget}" for budget in raised)),
        settings=tuple(
            Setting(name, without_folders(_text(value)), _text(defaults.get(name))) for name, value in differing.items()
        ),
        versions={name: run.started.provenance[name] for name in VERSIONS if name in run.started.provenance},
        began_at=run.events_at[0],
        last_at=run.last_at,
        workers=workers(run),
        behaviour=in_words(run.behaviour),
    )


# A page may be given to others, whom a user's name and folders do not concern.
def without_folders(text: str) -> str:
    """Return the text with each absolute path in it cut to its last part, such as "mine.py" for "/home/me/mine.py"."""
    return _FOLDERS.sub("", text)


def _command(flat: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    options = [word for name in NAMED[1:] for word in (f"--{name}", _text(flat[name]))]
    settings = [word for name, value in chosen.items() for word in ("--set", f"{name}={_text(value)}")]
    return shlex.join(["behavesim", "run", *_task_words(str(flat["task"])), *options, *settings])


def _budgets(run: Run) -> list[int]:
    """Return the budgets at which the run stopped, then the one that it goes on to; at least one."""
    used = run.state.used_budgets
    if not used:
        return [run.settings.budget]
    return used if run.state.asked <= used[-1] else [*used, last_settings(run).budget]


def _task_words(task: str) -> list[str]:
    path = Path(task)
    if path.suffix == ".toml" and path.parent.name.startswith("."):  # a hidden folder, which no person names
        with suppress(BehavesimError):  # the file may be gone
            file = EvaluatorFile.read(path)
            place = f"command:{file.evaluator}" if file.convention == "command" else file.evaluator
            direction = ["--minimise"] if file.direction == "minimise" else []
            return ["--evaluator", place, "--program", file.program, *direction]
    return [path.name if path.is_absolute() else task]


def _defaults(run: Run) -> dict[str, Any]:
    owners = owners_in(run.settings.flat())
    fields = {name: field for owner in owners if owner.options for name, field in owner.options.model_fields.items()}
    # as the journal holds them: a tuple would differ from the list that it was written as
    kept = {name: field for name, field in fields.items() if not field.exclude and not field.is_required()}
    return {name: to_jsonable_python(field.get_default(call_default_factory=True)) for name, field in kept.items()}


def _text(value: object) -> str:
    """Return a setting's value as a command line writes it: TOML for lists and mappings, "" for None."""
    if isinstance(value, Mapping | list | tuple):
        return _inline(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(key)} = {_inline(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def serving(notices: Sequence[Notice]) -> Notice | None:
    """Return the last notice that says which workers of a cluster serve, without SERVING; None if there is none."""
    found = next((each for each in reversed(notices) if each.text.startswith((SERVING, NONE_SERVES))), None)
    return found and Notice(found.at, found.text.removeprefix(SERVING))


def workers(run: Run) -> Workers | None:
    """Return the workers of a run's cluster, or None if its log names none.

    The log does not say when a session ended and its workers went.
    """
    said = LoggedNotices(run.folder.log).all
    if (now := serving(said)) is None:
        return None
    changes = [each for each in said if each.text.startswith((SERVING, NONE_SERVES, ONE))][-MOST:]
    rate = 60 * run.state.registered / run.active_s if run.active_s else None
    return Workers(now.text, now.at.timestamp(), rate, tuple(changes))


# How a replay differs from the run whose replies it used, under other code or other settings.


# What is compared: the prompt's text, the program read from the reply, "feasible" or the reason of rejection, the
# score, and the island that the candidate was added to.
ASPECTS = ("prompt", "program", "outcome", "score", "island")


@dataclass(frozen=True)
class ReplayDifference:
    """How a replay differs from the run `of`, over the `candidates` that both runs asked somebody for.

    `differing` counts candidates by the aspect in which they differ, `first` has the first of them, by the replay's
    number. Those whose numbers the machine tuned are left out, so that runs with and without tuning are compared.
    """

    of: str
    candidates: int
    differing: dict[str, int]
    first: dict[str, CandidateId]

    def lines(self) -> list[str]:
        """Return a sentence for each aspect in which candidates differ, or one that says that all are equal."""
        if not self.differing:
            return [f"all {self.candidates} candidates are as in {self.of}"]
        return [
            f"{count} of {self.candidates} candidates have another {aspect} than in {self.of}, "
            f"first candidate {self.first[aspect]}"
            for aspect, count in self.differing.items()
        ]


def beside_original(run: Run) -> ReplayDifference | None:
    """Compare a replay with its original, which is looked up in the same runs folder; None if `run` is no replay.

    Raises UsageError if the original is not found.
    """
    kind, _, original = run.settings.proposer.partition(":")
    return compare_replay(run.folder, RunFolder.find(run.folder.path.parent, original)) if kind == "replay" else None


def compare_replay(ours: RunFolder, theirs: RunFolder) -> ReplayDifference:
    """Compare the replay `ours` with the original `theirs`."""
    left, right = _questions(ours), _questions(theirs)
    # a replay may be shorter than its original, or go on beyond it
    both = sorted(left.keys() & right.keys())
    found = {
        aspect: [left[each]["candidate"] for each in both if left[each].get(aspect) != right[each].get(aspect)]
        for aspect in ASPECTS
    }
    differing = {aspect: candidates for aspect, candidates in found.items() if candidates}
    counts = {aspect: len(candidates) for aspect, candidates in differing.items()}
    return ReplayDifference(theirs.run, len(both), counts, {aspect: each[0] for aspect, each in differing.items()})


def _questions(folder: RunFolder) -> dict[int, dict[str, Any]]:
    """Return each candidate that somebody was asked for, by the number of its question, and what became of it."""
    events = [event for _, _, event in read_events(folder.journal, only=(Asked, Evaluated, Rejected, Added))]
    question = question_numbers(events)
    found: dict[CandidateId, dict[str, Any]] = {candidate: {"candidate": candidate} for candidate in question}
    for event in events:
        match event:
            case Asked(candidate) if candidate in found:
                found[candidate]["prompt"] = event.prompt.text
            case Evaluated(candidate) if candidate in found:  # the template was not asked for
                found[candidate] |= {"program": event.source, "outcome": "feasible", "score": event.score}
            case Rejected(candidate) if candidate in found:
                found[candidate] |= {"program": event.source, "outcome": event.reason}
            case Added(candidate) if candidate in found:
                found[candidate]["island"] = event.group
    return {question[candidate]: each for candidate, each in found.items()}
