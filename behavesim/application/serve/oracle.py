"""What an assistant is told of a run: its task, candidates, behaviours and budget, as values for JSON.

All text that programs, their authors and evaluators wrote stands under the key `quoted`, without control characters: it
is data, and could hold instructions that nobody here gave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from threading import Lock
from typing import Any

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.analysis.summary import summary
from behavesim.analysis.table import Scored
from behavesim.application.evaluation import extract_or_refuse
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.evaluators.tracing import METRICS
from behavesim.programs.reading import Program
from behavesim.prompts.behaviour_diff import first_difference, step_in_words
from behavesim.prompts.feedback import prose, quote_lines, sendable
from behavesim.prompts.wording import AnswerFormat, contract
from behavesim.reports.markup import markdown
from behavesim.reports.sections import run_sections
from behavesim.reports.words import program_name
from behavesim.state.events import TEMPLATE
from behavesim.store.folder import RunFolder
from behavesim.task import InWords, Metrics, Task, instances_of
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import AlgorithmRun

# Most characters of an idea, of a message in a list, and of a program's feedback and message in full.
IDEA_SHOWN, MESSAGE_SHOWN, FEEDBACK_SHOWN = 300, 200, 4000
# Most metrics of a program, and most instances of a task, that are named.
NAMED = 100
# How many of the most similar programs are named.
NEAREST = 3

# What an assistant is told, by name; it can be written as JSON.
Told = dict[str, Any]


class Oracle:
    """Answers from a run's journal, which it follows. Its methods block, and any thread may call them."""

    def __init__(self, settings: Settings, task: Task, folder: RunFolder) -> None:
        """Begin without the journal, which need not exist before the first call that needs it."""
        self._settings, self._task, self._folder = settings, task, folder
        self._run: Run | None = None
        self._lock = Lock()  # one thread at a time: a run that is being read answers nothing

    def task(self) -> Told:
        """Return the task's contract: what to write, by which rules, on which instances, and where a search starts."""
        with self._lock:
            run, task, settings = self._followed(), self._task, self._settings
            form, words, count = AnswerFormat.of(task), InWords(task), len(instances_of(task, "search"))
            whole = form.form or f"the complete function `{task.entry_point}` as Python source, with its imports"
            edits = "SEARCH/REPLACE edits of the template, or " if form.variant == "diff" else ""
            return {
                "task": task.name,
                "description": task.description,
                "rules": contract(task, settings.timeout_s, settings.memory_mb),
                "write": f"{edits}{whole}",
                "entry_point": task.entry_point or None,
                "template": task.template,
                "template_score": None if run.template is None else run.template.score,
                "direction": task.objective.direction,
                "unit": task.objective.unit or None,
                "best_known": run.state.objective.best_known,
                "score_source": run.score_source,
                "instances": [words.instance(index) for index in range(min(count, NAMED))],
            }

    def status(self) -> Told:
        """Return how far the run has come, its best program and the advice in force."""
        with self._lock:
            run = self._followed()
            found = summary(run)
            return {
                "run": found.run,
                "state": found.state,
                "stopped_by": found.stopped_by,
                "feasible": found.feasible,
                "rejected": dict(found.rejected),
                "template": None if found.template is None else _worth(found.template),
                "best": None if found.best is None else _worth(found.best),
                "beats_template": None if found.best is None or found.gain is None else found.gain > 0,
                "told_apart": found.told_apart,  # whether that is more than chance explains
                "recommended": None if found.recommended is None else found.recommended.candidate,
                "quoted": {"advice": [sendable(each.text) for each in found.advice if each.until is None]},
            }

    def candidate(self, number: int) -> Told:
        """Return what became of a candidate, and whom it behaves like; raises UsageError if there is none."""
        with self._lock:
            run = self._followed()
            found = run.candidate(number)
            told = _outcome(run, found)
            leader = _leader(run)
            told["best"] = None if leader is None else _worth(run.scored(leader))
            if found.status == "feasible":
                is_first = run.best is not None and run.best.candidate == number
                told["is_best"] = is_first and (run.template is None or run.utility(found) > run.utility(run.template))
                told["behaviour"] = self._compare(run, run.trajectories([found])[0], found)
            return told

    def best(self) -> Told:
        """Return the best program with its text: the template (-1) until a candidate is better."""
        with self._lock:
            run = self._followed()
            leader = _leader(run)
            if leader is None:
                raise UsageError("the run has no program yet")
            told = _outcome(run, leader)
            told["quoted"]["program"] = sendable(leader.source or "")
            return told

    def program(self, number: int) -> str:
        """Return a candidate's program; raises UsageError if there is none."""
        with self._lock:
            source = self._followed().candidate(number).source
        if source is None:
            raise UsageError(f"candidate {number} has no program: none could be read")
        return sendable(source)

    def ideas(self, most: int) -> Told:
        """Return what was tried: the best program of each behaviour, best first, and what was rejected, latest first.

        At most `most` of each; `left_out` counts the others.
        """
        with self._lock:
            run = self._followed()
            alike = run.by_behaviour()
            rejected = [each for each in reversed(run.candidates) if each.status == "rejected"]
            behaviours = [
                {**_worth(run.scored(programs[0])), "programs": len(programs), "quoted": {"idea": _idea(*programs)}}
                for programs in alike[:most]
            ]
            losses = [
                {
                    "candidate": each.candidate,
                    "reason": each.reason,
                    "quoted": {"idea": _idea(each), "message": prose(each.message, MESSAGE_SHOWN)},
                }
                for each in rejected[:most]
            ]
            left_out = max(0, len(alike) - most) + max(0, len(rejected) - most)
            return {"behaviours": behaviours, "rejected": losses, "left_out": left_out}

    def known(self, program: str) -> int | Failure | Program:
        """Return the candidate whose program equals a text but for layout and names, or why it is no program at all.

        A program that the run does not have is returned as it would be evaluated. Raises UsageError if its behaviour
        would tell its score.
        """
        read = extract_or_refuse(self._task, program)
        if isinstance(read, Failure):
            return read
        with self._lock:
            run = self._followed()
            programs = [*([run.template] if run.template else []), *run.candidates]
            same = (each.candidate for each in programs if read.hash and each.program_hash == read.hash)
            found = next(same, read)
        if run.behaviour == METRICS and not isinstance(found, int):  # a look would be an evaluation beside the budget
            raise UsageError("programs of this run are compared by their metrics alone, which only `evaluate` tells")
        return found

    def behaviour(self, verdict: Verdict) -> Told:
        """Return whom a program behaves like that is no candidate of the run."""
        with self._lock:
            return self._compare(self._followed(), verdict.trajectories, None)

    def report(self) -> str:
        """Return the run's report as Markdown."""
        with self._lock:
            found = report(self._followed())
            return markdown([table for section in run_sections(found, {}) for table in section.tables])

    def _followed(self) -> Run:
        if self._run is None:
            self._run = Run.load(self._folder)
        else:
            self._run.follow()
        return self._run

    def _compare(self, run: Run, behaviour: Sequence[AlgorithmRun], candidate: Candidate | None) -> Told:
        """Return whom a behaviour is like, of all distinct programs but that of `candidate`, and in words."""
        own = None if candidate is None else candidate.candidate
        others = [each for each in run.ranked() if each.candidate != own]
        others += [run.template] if run.template is not None and own != TEMPLATE else []
        if not others:
            return {"said": "There is no other program to compare it with.", "again": None, "nearest": []}
        try:
            theirs = run.trajectories(others)
            similarity = run.measure().one_vs_many(behaviour, theirs).tolist()
            # sorting keeps the order of equal ones: the best first
            nearest = sorted(zip(similarity, others, theirs, strict=True), key=lambda found: -found[0])
            equal = [each for _, each, its in nearest if _parting(behaviour, its) is None]
            told = [self._neighbour(run, behaviour, *found) for found in nearest[:NEAREST]]
            if equal and len(equal) >= len(told):  # all that is shown is equal: name one that is not
                told += [self._neighbour(run, behaviour, *found) for found in nearest[len(equal) : len(equal) + 1]]
        except BehavesimError as error:
            return {"said": f"Behaviours cannot be compared: {error}", "again": None, "nearest": None}
        again = min(equal, key=lambda each: each.candidate, default=None)
        return {"said": _said(run, again, told), "again": None if again is None else again.candidate, "nearest": told}

    def _neighbour(
        self,
        run: Run,
        behaviour: Sequence[AlgorithmRun],
        similarity: float,
        other: Candidate,
        its: Sequence[AlgorithmRun],
    ) -> Told:
        parting = _parting(behaviour, its)
        told: Told = {**_worth(run.scored(other)), "similarity": similarity, "parts_at": None}
        if parting is not None:
            index, step = parting
            words = InWords(self._task)
            this, that = (step_in_words(each[index], index, step, words) for each in (behaviour, its))
            told["parts_at"] = {"step": step + 1, "instance": words.instance(index), "this": this, "other": that}
        told["quoted"] = {"idea": _idea(other)}
        return told


def _parting(one: Sequence[AlgorithmRun], other: Sequence[AlgorithmRun]) -> tuple[int, int] | None:
    """Return the instance and step (from 0) at which two behaviours part first; None if they are equal."""
    steps = [(index, first_difference(*pair)) for index, pair in enumerate(zip(one, other, strict=True))]
    return min(((index, step) for index, step in steps if step is not None), key=lambda found: found[1], default=None)


def _said(run: Run, again: Candidate | None, nearest: Sequence[Told]) -> str:
    """Return in words whom a program behaves like: "You have found candidate 41 again; it parts from 17 at step 12."""
    other = next((each for each in nearest if each["parts_at"] is not None), None)
    parts = ""
    if other is not None:
        at = other["parts_at"]
        parts = f"parts from {program_name(other['candidate'])} (score {other['score']:.6g}) at step {at['step']} of "
        parts += f"{at['instance']}; their similarity is {other['similarity']:.3f}"
    if again is not None:
        found = f"You have found {program_name(again.candidate)} again (score {again.score:.6g})"
        return f"{found}: the same on all instances.{f' It {parts}.' if parts else ''}"
    return f"New behaviour: it {parts}." if parts else "New behaviour."


def _leader(run: Run) -> Candidate | None:
    """Return the best program so far, the template until a candidate is better; None if there is neither."""
    return run.template if run.state.leader is None else run.candidate(run.state.leader.candidate)


def _outcome(run: Run, candidate: Candidate) -> Told:
    """Return a candidate's status, score, and why it was rejected; what is unknown is None."""
    worth: Told = {"candidate": candidate.candidate, "score": None, "standard_error": None, "gap": None}
    if candidate.score is not None:
        worth = {**_worth(run.scored(candidate)), "scores": list(candidate.scores)}
    is_rejected = candidate.status == "rejected"
    return {
        **worth,
        "status": {"feasible": "ok"}.get(candidate.status, candidate.status),
        "stage": candidate.stage if is_rejected else None,
        "reason": candidate.reason if is_rejected else None,
        "copy_of": candidate.copy_of,
        "cpu_s": candidate.cpu_s,
        "quoted": {
            "idea": _idea(candidate),
            "message": quote_lines(candidate.message, FEEDBACK_SHOWN) or None,
            "feedback": quote_lines(candidate.feedback, FEEDBACK_SHOWN, is_end=is_rejected) or None,
            "metrics": _metrics(candidate.metrics),
        },
    }


def outcome_of_failure(failure: Failure) -> Told:
    """Return why a program that is no candidate failed."""
    quoted = {
        "message": quote_lines(failure.message, FEEDBACK_SHOWN) or None,
        "feedback": quote_lines(failure.feedback, FEEDBACK_SHOWN, is_end=True) or None,
    }
    return {"status": "rejected", "reason": failure.reason, "quoted": quoted}


def _worth(scored: Scored) -> Told:
    return {
        "candidate": scored.candidate,
        "score": scored.score,
        "standard_error": scored.standard_error,
        "gap": scored.gap,
    }


def _idea(*candidates: Candidate) -> str | None:
    """Return the first idea that one of these candidates has; None without any."""
    return next((prose(each.thought, IDEA_SHOWN) for each in candidates if each.thought.strip()), None)


def _metrics(metrics: Metrics) -> dict[str, float | str | None]:
    """Return metrics as JSON can hold them: a number that is not finite is None."""
    told: dict[str, float | str | None] = {}
    for name, value in list(metrics.items())[:NAMED]:
        if isinstance(value, str):
            told[prose(name, MESSAGE_SHOWN)] = prose(value, MESSAGE_SHOWN)
        else:
            told[prose(name, MESSAGE_SHOWN)] = value if math.isfinite(value) else None
    return told
