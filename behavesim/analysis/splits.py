"""The template, the best and the recommended program on the instances of each split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import HeldOut, HeldOutProgram, HeldOutTemplate
from behavesim.analysis.held_out_scores import Unseen
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table, cells_of
from behavesim.state.events import TEMPLATE

Role = Literal["template", "best", "recommended"]
"""What a program is in its run: where the search starts, its best one, or the one recommended after validation."""


@dataclass(frozen=True)
class SplitScores:
    """One program's mean scores on the instances of each split, in the task's unit; gaps and gains are fractions.

    `gain` is its gain on the template over search and validation instances, by which the recommended program was
    chosen. A value is None if it is unknown: not tried, failed there, or, for a gap, the best known score missing or 0.
    """

    program: Role
    candidate: int
    search: float
    search_gap: float | None
    validation: float | None
    gain: float | None
    held_out: float | None
    held_out_gap: float | None
    shifted: float | None = None
    shifted_gap: float | None = None


def split_scores(run: Run, unseen: Mapping[Unseen, HeldOut | None]) -> tuple[SplitScores, ...]:
    """Return the scores of the template, the best and the recommended program, without those that do not exist (yet).

    `unseen` has the results on held-out and shifted instances by split; None, or no entry, if nothing was tried there.
    """
    programs: dict[Role, Candidate | None] = {
        "template": run.template,
        "best": run.best,
        "recommended": run.recommended,
    }
    return tuple(_scores(run, role, program, unseen) for role, program in programs.items() if program is not None)


def _scores(run: Run, role: Role, program: Candidate, unseen: Mapping[Unseen, HeldOut | None]) -> SplitScores:
    """Return the scores of the feasible program that has this role in the run; `unseen` is as for `split_scores`."""
    assert program.score is not None, "the template, the best and the recommended program are feasible"
    event, number = run.state.recommended, program.candidate
    tried, moved = (_tried(unseen.get(split), number) for split in get_args(Unseen))
    return SplitScores(
        program=role,
        candidate=number,
        search=program.score,
        search_gap=run.gap(program.score),
        validation=None if event is None else event.validation.get(number),
        # without the template's worth, worths are mean scores and no gains (`recommendation.worths`)
        gain=None if event is None or TEMPLATE not in event.worth else event.worth.get(number),
        held_out=None if tried is None else tried.score,
        held_out_gap=None if tried is None else tried.gap,
        shifted=None if moved is None else moved.score,
        shifted_gap=None if moved is None else moved.gap,
    )


def _tried(found: HeldOut | None, number: int) -> HeldOutTemplate | HeldOutProgram | None:
    """Return the result of the program `number` among those `found` on a split; None if it was not tried there."""
    if found is None or number == TEMPLATE:
        return None if found is None else found.template
    return next((each for each in found.programs if each.candidate == number), None)


def splits_table(found: tuple[SplitScores, ...]) -> Table:
    """Return a table with a row per program and a column per split, with gaps where they are known."""
    columns = (
        *(Column("program"), Column("candidate", COUNT)),
        *(Column("search", SCORE), Column("search_gap", FRACTION, title="gap")),
        *(Column("validation", SCORE), Column("gain", FRACTION, title="gain, search and validation")),
        *(Column("held_out", SCORE, title="held-out"), Column("held_out_gap", FRACTION, title="gap")),
        *(Column("shifted", SCORE), Column("shifted_gap", FRACTION, title="gap")),
    )
    rows = tuple(
        (each.program, None if each.candidate == TEMPLATE else each.candidate, *cells_of(each, columns[2:]))
        for each in found
    )
    has_gain = any(each.gain is not None for each in found)
    caption = "gain: on the template, search and validation together; recommended by it"
    return Table("splits", "scores on each set of instances", columns, rows, caption if has_gain else "", keys=2)
