"""Tunes the numbers of one program of a person's own, without a search."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from behavesim.analysis.candidate_details import TUNED, TunedNumber
from behavesim.analysis.table import Table
from behavesim.application.evaluation import extract_or_refuse
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.base.text import count_noun
from behavesim.engine.build import judge_of
from behavesim.engine.tuning import (
    Grounds,
    TuningBench,
    best_trial,
    certainty,
    evidence_in_words,
    is_better,
    numbers_of,
    seed_of,
    tune_numbers,
    tuned_source,
)
from behavesim.state.events import Stage
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

# How many trials there are unless a person says so.
EVALUATIONS = 200


class ProgramRejected(BehavesimError):
    """The program that was to be tuned is rejected as it is: `failure` says why, at `stage`."""

    def __init__(self, file: str, stage: Stage, failure: Failure) -> None:
        super().__init__(f"{file} was rejected ({stage}: {failure.reason}): {failure.message}")
        self.stage, self.failure = stage, failure


@dataclass(frozen=True)
class TunedProgram:
    """A program before and after its numbers were tuned; a notebook shows it as its table.

    `score_after` and `source` are those of the best trial, None if none scored better than the program itself.
    `told_apart` says whether it is better for certain on instances that no trial used; None if there are none to tell
    by. `gain` is its mean gain there, a fraction, on `fresh` instances, and `interval` holds it with 95 %. `evidence`
    says in words on what both were compared, "" if they were not.
    """

    task: str
    file: str
    score_before: float
    score_after: float | None
    text: str
    """The text of the program as it was given."""
    source: str | None
    numbers: tuple[TunedNumber, ...]
    evaluations: int
    """How many trials with other numbers there were."""
    told_apart: bool | None
    is_better: bool
    """Whether the tuned program is worth taking: told apart, or by the score of both in further runs if nothing else
    can say."""
    fresh: int
    gain: float | None
    interval: tuple[float, float] | None
    evidence: str = ""

    def document(self) -> dict[str, object]:
        """Return it as the JSON document of `behavesim tune --json`; what is not known is None."""
        return {
            "task": self.task,
            "file": self.file,
            "before": {"score": self.score_before},
            "after": {"score": self.score_after, "source": self.source},
            "numbers": [vars(number) for number in self.numbers],
            "evaluations": self.evaluations,
            "told_apart": self.told_apart,
            "fresh": self.fresh,
            "gain": self.gain,
            "interval": None if self.interval is None else list(self.interval),
            "evidence": self.evidence,
        }

    @property
    def sentence(self) -> str:
        """What came of it, in a line without a full stop."""
        if self.source is None:
            return f"none of {count_noun(self.evaluations, 'trial')} scored better"
        after = "unknown" if self.score_after is None else f"{self.score_after:g}"
        scores = f"score {self.score_before:g} → {after} in {count_noun(self.evaluations, 'trial')}"
        if not self.evidence or (self.gain is None and self.told_apart is not None):
            return f"{scores}; not told apart from what it was: one of both failed in the comparison"
        if self.gain is None:
            return f"{scores}; {'better' if self.is_better else 'not told apart from what it was'} on {self.evidence}"
        much = f"{100 * self.gain:+.2f} %"
        if self.interval is not None:
            much += f" [{100 * self.interval[0]:.2f}, {100 * self.interval[1]:.2f}]"
        said = "better for certain" if self.told_apart else "not told apart from what it was"
        return f"{scores}; {said}: gain {much} on {self.evidence}"

    @property
    def diff(self) -> list[str]:
        """The lines of a unified diff of the program and the tuned one; none if no trial scored better."""
        before, after = self.text.splitlines(), (self.source or self.text).splitlines()
        return list(difflib.unified_diff(before, after, self.file, f"{self.file}, tuned", lineterm="", n=1))

    def tables(self) -> list[Table]:
        """Return the table of its numbers; those that the best trial left as they are have no value after."""
        rows = tuple(
            (number.line, number.before, None if number.after == number.before else number.after)
            for number in self.numbers
        )
        return [Table("numbers", f"{self.task}: {self.sentence}", TUNED, rows)]

    def _repr_html_(self) -> str:
        from behavesim.reports.markup import html_tables

        return html_tables(self.tables())


async def tune_program(
    settings: Settings,
    task: Task,
    file: str,
    text: str,
    evaluations: int = EVALUATIONS,
    tried: Callable[[], object] = lambda: None,
) -> TunedProgram:
    """Tune the numbers of the program `text`, called `file`, in at most so many `evaluations`, `settings.workers` at
    once; `settings.seed` seeds the trials. `tried` is called after each program that was run.

    Raises UsageError if the program has no numbers that may be tuned, or isolation is too weak. Raises ProgramRejected
    if it is rejected as it is, and SandboxError or TaskError as an evaluation does.
    """
    program = extract_or_refuse(task, text)
    if isinstance(program, Failure):
        raise ProgramRejected(file, "extraction", program)
    source = program.source
    numbers = numbers_of(task, source)
    if not numbers:
        raise UsageError(
            f"{file} has no numbers to tune: 0, 1, 2, indices, sizes and seeds are left as they are; "
            "mark one with a comment on its line, such as `# tune: 0.1 to 3`"
        )
    grounds = Grounds.of(task)
    async with judge_of(settings, task, "search", grounds.extra) as judge:
        first = await judge.evaluate(source)
        if isinstance(first, Failure):
            raise ProgramRejected(file, "evaluation", first)
        validation = lambda: judge_of(settings, task, "validation")  # noqa: E731
        bench = TuningBench(source, numbers, grounds, task.objective, judge, validation, tried)
        seed = seed_of(settings.seed, 0)
        tuning = await tune_numbers(bench, numbers, seed, evaluations, task.objective, grounds)
        best = best_trial(tuning.gains)
        tuned = tuned_source(source, numbers, tuning)
        # a trial's gain is over further instances too, and the score of the search's own is told
        last = await judge.evaluate(tuned) if best else first
    found = certainty(tuning, task.objective) if grounds.check != "score" else None
    begin = max(0, text.find(source))  # what stands around the program in the file stays there
    is_inside = source in text
    offset = text.count("\n", 0, begin) if is_inside else 0
    whole = text.replace(source, tuned, 1) if is_inside else tuned
    after = tuning.values[best] if best else None
    better = is_better(tuning, task.objective)
    is_bounded = found is not None and math.isfinite(found.low)
    return TunedProgram(
        task.name,
        file,
        first.score,
        last.score if best and isinstance(last, Verdict) else None,
        text if is_inside else source,
        whole if best else None,
        tuple(
            TunedNumber(number.line + offset, number.value, None if after is None else after[place])
            for place, number in enumerate(numbers)
        ),
        tuning.trials,
        None if grounds.check == "score" else better,
        better,
        0 if grounds.check == "score" else len(tuning.after),
        None if found is None else found.mean,
        (found.low, found.high) if found is not None and is_bounded else None,
        evidence_in_words(tuning),
    )


def tuned_path(file: Path) -> Path:
    """Return where the tuned program is written unless a person says so: beside it, FILE.tuned.py for FILE.py."""
    return file.with_name(f"{file.stem}.tuned{file.suffix}")
