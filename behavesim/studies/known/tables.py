"""The study as tables for people and for files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, SCORE, Column, Table
from behavesim.base.score_source import mark
from behavesim.base.text import counted, one_line
from behavesim.studies.known.findings import Found, KnownStudy, Pair

LONGEST_REASON = 200
"""Most characters of the reason why a program was refused, in a table."""


def tables(study: KnownStudy) -> tuple[Table, ...]:
    """Return the parties, what was found again, the programs, the pairs that disagree, and what was refused.

    The pairs are two tables: of equal behaviour, and of similar text. These two and the last are left out if empty.
    """
    kept = (
        _same(study, study.same_behaviour()),
        _similar(study, study.similar_text()),
        _refused(study),
    )
    return (_parties(study), _again(study), _programs(study), *(table for table in kept if table.rows))


def said(study: KnownStudy) -> str:
    """Return a sentence on how many programs and behaviours there are."""
    return (
        f"{counted(len(study.found), 'program')}, {counted(len(study.firsts), 'different behaviour')}, "
        f"{study.far} of them far apart (distance at least {DISTANCE.text(study.apart)})"
    )


def _parties(study: KnownStudy) -> Table:
    columns = (
        Column("whose"),
        Column("programs", COUNT),
        Column("behaviours", COUNT),
        Column("alone", COUNT, title="found by nobody else"),
        Column("best", title="best program"),
        Column("score", SCORE),
        Column("gap", FRACTION),
    )
    rows = tuple(
        (each.whose, each.programs, each.behaviours, each.alone, each.best, each.score, each.gap)
        for each in study.parties
    )
    title = f"{study.task}, {study.split} instances{mark(study.score_source)}: who found what"
    return Table("parties", title, columns, rows, said(study))


def _again(study: KnownStudy) -> Table:
    columns = (
        Column("behaviour", COUNT),
        Column("score", SCORE),
        Column("first"),
        Column("again", title="found again by"),
    )
    rows = []
    for first in study.firsts:
        finders = study.finders(first.behaviour)
        if len({each.whose for each in finders}) > 1:
            rows.append((first.behaviour, first.score, first.name, ", ".join(_others(finders[1:]))))
    caption = "" if rows else "No behaviour was found by two of them."
    return Table("again", "who found it again", columns, tuple(rows), caption)


def _others(finders: Sequence[Found]) -> list[str]:
    """Return the finders' names; if a party has several, its name with their number stands for them."""
    count = Counter(each.whose for each in finders)
    firsts = {each.whose: each.name for each in reversed(finders)}
    return [firsts[whose] if of == 1 else f"{whose} ({of} programs)" for whose, of in count.items()]


def _programs(study: KnownStudy) -> Table:
    columns = (
        Column("program"),
        Column("whose"),
        Column("score", SCORE),
        Column("gap", FRACTION),
        Column("behaviour", COUNT),
        Column("nearest", title="copy of, or nearest"),
        Column("similarity", DISTANCE),
        Column("text", DISTANCE, title=study.metric),
        Column("parts", title="parts at"),
    )
    place = {each.name: row for row, each in enumerate(study.found)}
    ranked = sorted(study.found, key=lambda each: -study.objective.utility(each.score))
    rows = tuple(
        (
            each.name,
            each.whose,
            each.score,
            each.gap,
            each.behaviour,
            each.nearest,
            each.similarity,
            None if each.nearest is None else float(study.text[place[each.name], place[each.nearest]]),
            _parts(each),
        )
        for each in ranked
    )
    caption = f"similarity: BehaveSim; {study.metric}: similarity of text; both to the program named before them"
    return Table("programs", "the programs, best first", columns, rows, caption)


def _parts(found: Found) -> str | None:
    if found.copy_of is not None:
        return "never: a copy"
    return None if found.parting is None else found.parting.in_words


def _same(study: KnownStudy, pairs: Sequence[Pair]) -> Table:
    columns = Column("program"), Column("other", title="and"), Column("text", DISTANCE, title=study.metric)
    rows = tuple((pair.one, pair.other, pair.text) for pair in pairs)
    return Table("same_behaviour", "the same behaviour in the most different words", columns, rows, keys=2)


def _similar(study: KnownStudy, pairs: Sequence[Pair]) -> Table:
    columns = (
        Column("program"),
        Column("other", title="and"),
        Column("text", DISTANCE, title=study.metric),
        Column("similarity", DISTANCE),
    )
    rows = tuple((pair.one, pair.other, pair.text, pair.behavesim) for pair in pairs)
    return Table("similar_text", "the most similar words with different behaviour", columns, rows, keys=2)


def _refused(study: KnownStudy) -> Table:
    columns = Column("program"), Column("whose"), Column("reason"), Column("message")
    rows = tuple(
        (each.name, each.whose, f"{each.stage}: {each.reason}", one_line(each.message, LONGEST_REASON))
        for each in study.refused
    )
    return Table("refused", "programs that are not compared", columns, rows)
