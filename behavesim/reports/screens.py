"""What a terminal shows of one candidate, one run, or a comparison of several: one screen, or all sections."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from behavesim.analysis.behaviours import top_table
from behavesim.analysis.candidate_details import CandidateDetails, failures_table
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.difference import DiffedProgram, ProgramDifference
from behavesim.analysis.held_out import splits_table
from behavesim.analysis.metrics import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.table import DISTANCE, SCORE, SECONDS, Table, facts_table
from behavesim.base.text import count_noun
from behavesim.reports.comparison_tables import comparison_tables, verdict_lines
from behavesim.reports.next_steps import command_lines, next_steps, next_steps_of_several
from behavesim.reports.tables import DISPENSABLE, headline_table, runs_table, summary_table
from behavesim.reports.terminal import (
    Section,
    convergence,
    count_lines,
    dendrogram,
    from_template,
    of_tables,
    select_sections,
    show,
    show_lines,
    show_rows,
    show_sentences,
    show_text,
    width,
)
from behavesim.reports.words import REJECTED, SCORES, program_name, score_source_row, worth
from behavesim.store.folder import RunFolder


def show_candidate(shown: CandidateDetails, with_prompt: bool = False, with_reply: bool = False) -> None:
    """Print a candidate on stdout: facts and tables, program and feedback and, if wanted, its prompt and its reply."""
    if shown.of.source is not None:
        show_text(shown.of.source, "python")
        show_lines("", [""])
    show((_facts(shown), *shown.tables()))
    if shown.of.feedback:
        show_text("--- feedback ---", "text")
        show_text(shown.of.feedback, "text")
    for title, text, is_wanted in (("prompt", shown.prompt, with_prompt), ("reply", shown.reply, with_reply)):
        if is_wanted:
            show_text(f"--- {title} ---", "text")
            show_text(f"there is no {title}" if text is None else text, "markdown")


def _facts(shown: CandidateDetails) -> Table:
    of = shown.of
    facts = {
        "status": of.status,
        "score": None if of.score is None else worth(of.candidate, of.score, shown.gap),
        "scores": SCORES[shown.score_source],
        "rejected": _rejection_text(of),
        "operator": of.operator,
        "island": of.group,
        "model": of.model,
        "copy of": None if of.copy_of is None else program_name(of.copy_of),
        "CPU": _cpu(of, shown.limit_s),
        "thought": of.thought or None,
        "left out of the prompt": ", ".join(shown.left_out) or None,
    }
    return facts_table("candidate", f"run {shown.run}: {program_name(of.candidate)}", facts)


def _cpu(candidate: Candidate, limit_s: float | None) -> str | None:
    if candidate.cpu_s is None:
        return None
    took = f"{SECONDS.text(candidate.cpu_s)} s"
    if candidate.counted_s is None or limit_s is None:
        return took
    return f"{took}; {SECONDS.text(candidate.counted_s)} of the {limit_s:g} s that count"


def _rejection_text(candidate: Candidate) -> str | None:
    if candidate.reason is None:
        return None
    why = f": {candidate.message}" if candidate.message else ""
    words = f" ({REJECTED[candidate.reason]})" if candidate.reason in REJECTED else ""  # as in lists of reasons
    return f"in {candidate.stage}, {candidate.reason}{words}{why}"


def show_difference(found: ProgramDifference) -> None:
    """Print on stdout the diff of two programs, their scores and similarity, and where their behaviours part."""
    show_text(found.diff or "the two programs have the same text", "diff")
    show_lines("", [""])
    alike = "unknown: not both are feasible" if found.similarity is None else DISTANCE.text(found.similarity)
    facts = {
        "a": _score_text(found.a),
        "b": _score_text(found.b),
        "similarity": alike,
        **score_source_row(found.score_source),
    }
    title = f"run {found.run}: {program_name(found.a.candidate)} (a) and {program_name(found.b.candidate)} (b)"
    show([facts_table("programs", title, facts), *([found.table()] if found.instances else [])])


def _score_text(program: DiffedProgram) -> str:
    if program.score is None:
        return f"{program.status} ({program_name(program.candidate)})"
    return worth(program.candidate, program.score, program.gap)


# The comparison of several runs on a terminal: one screen with the results, or all its sections.


# The names of all sections that a comparison may have; one without rows is left out.
COMPARISON_SECTIONS = (
    *(
        "verdicts",
        "groups_search",
        "groups_held-out",
        "groups_behaviour",
        "tests",
        "over_time",
        "recommended_vs_best",
        "ranks",
    ),
    *("runs", "next"),
)
# The names of the sections that a report of several runs has unless others are asked for.
FIRST_SECTIONS = frozenset({"groups_search", "groups_held-out", "verdicts", "tests", "ranks", "runs", "next"})


def comparison_first_screen(found: RunComparison) -> list[Section]:
    """Return the sections of the first screen on several runs: tests in words, the groups' results, and the runs."""
    return select_sections(_sections(found, is_full=False), FIRST_SECTIONS)


def full_comparison(found: RunComparison) -> list[Section]:
    """Return all sections of the report of several runs: what the tests say, the comparison, and a row for each run."""
    return _sections(found, is_full=True)


def _sections(found: RunComparison, is_full: bool) -> list[Section]:
    names = [RunFolder(run.origin.folder).argument for run in found.runs]
    rows = runs_table([run.summary for run in found.runs])
    return [
        *_verdicts(found),
        *of_tables(comparison_tables(found)),
        Section("runs", "", lambda: show_rows(rows, DISPENSABLE), rows),
        Section("next", "", lambda: show_lines("", command_lines(next_steps_of_several(names, is_full), width()))),
    ]


def _verdicts(found: RunComparison) -> list[Section]:
    said = verdict_lines(found)
    return [Section("verdicts", "what the tests say", lambda: show_sentences(said))] if said else []


# The report of one run on a terminal: one screen with what matters, or all its sections.


# Largest width of a drawing, in characters: wider ones are hard to follow by eye.
WIDEST = 100
# Height of the convergence curve, in lines.
HEIGHT = 8
# Most lines of the terminal for a program on the first screen; if it has over one more, the rest is cut off, and `show`
# has all of it.
LONGEST = 12
# Most behaviours on the first screen: with them, results, code and commands have room on 45 lines of 80 columns.
FIRST_ROWS = 5
# The names of all sections of one run, in their order; a report leaves out those that have nothing to say.
RUN_SECTIONS = (
    *("summary", "splits", "code", "convergence", "top", "metrics", "islands", "clusters", "dendrogram"),
    *("portfolio", "portfolio_scores", "failures", "held_out", "shifted", "next"),
)

# The run's values of the metrics that a person asked for; None for one that is unknown.
Chosen = Mapping[Metric, float | None]


def run_first_screen(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return what a report says first; without a feasible program, why candidates fail."""
    clusters = [each.members for each in run.clusters]
    sizes = ", ".join(str(len(members)) for members in clusters)
    caption = f"clusters: {len(clusters)} groups that behave alike, of {sizes} programs" if len(clusters) > 1 else ""
    top = replace(top_table(run.top[:FIRST_ROWS], clusters, caption), title="the best behaviours")
    return [
        *of_tables([headline_table(run.summary, run.distinct, metrics)]),
        *of_tables([] if run.top else [failures_table(run.failures)]),  # what else could be said of such a run
        *_code(run, LONGEST),
        *of_tables([splits_table(run.splits), top.without("programs", "island", "operator", "model", "parents")]),
        *_next(run, is_full=False),
    ]


def full_run_report(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return all sections of the report of a run, in the order of RUN_SECTIONS."""
    found = [
        *of_tables([summary_table(run.summary, metrics), *run.tables()]),
        *_code(run),
        *_convergence(run),
        *_dendrogram(run),
        *_next(run, is_full=True),
    ]
    return sorted(found, key=lambda each: RUN_SECTIONS.index(each.name if each.name in RUN_SECTIONS else "failures"))


def _code(run: RunReport, most: int | None = None) -> list[Section]:
    """Return the section of the best program, cut after `most` lines unless that saves only one; none without one."""
    if not run.top:
        return []
    best = run.top[0]
    lines = best.source.strip("\n").splitlines()
    ends = list(accumulate(map(count_lines, lines)))
    # A cut that saves one line saves nothing: the line that says how much is missing takes its place.
    count = len(lines) if most is None or ends[-1] <= most + 1 else bisect_right(ends, most)
    rest = len(lines) - count
    more = f"… {count_noun(rest, 'more line')}: behavesim show {_name(run)} {best.candidate}"
    folder = RunFolder(run.origin.folder)
    where = f" ({folder.best})" if folder.best.exists() else ""
    title = f"the best program: {program_name(best.candidate)}{where}"
    if not run.summary.beats_template:  # then best.py holds the template
        title = f"the best candidate: {program_name(best.candidate)}, which is no better than the template"

    def show() -> None:
        show_text("\n".join(lines[:count]), "python")
        show_lines("", [more] if rest else ())

    return [Section("code", title, show)]


def _convergence(run: RunReport) -> list[Section]:
    if not run.improvements:
        return []
    template, asked = run.summary.template, run.convergence[-1].asked
    new = [(each.candidate, each.score) for each in run.improvements]
    bests = from_template(None if template is None else template.score, new, run.summary.gain)
    return [_drawing("convergence", "the best score so far", lambda across: convergence(bests, asked, across, HEIGHT))]


def _dendrogram(run: RunReport) -> list[Section]:
    if not run.joins:
        return []
    labels = [
        f"cluster {number}: {count_noun(each.size, 'program')}, best {SCORE.text(each.best.score)}"
        for number, each in enumerate(run.clusters, 1)
    ]
    title = "how the clusters join, and at which distance (average linkage)"
    return [_drawing("dendrogram", title, lambda across: dendrogram(labels, run.joins, across))]


def _drawing(name: str, title: str, lines: Callable[[int], Sequence[str]]) -> Section:
    return Section(name, title, lambda: show_lines("", lines(min(WIDEST, width()))))


def _next(run: RunReport, is_full: bool) -> list[Section]:
    steps = next_steps(run, _name(run), is_full)
    return [Section("next", "", lambda: show_lines("", command_lines(steps, width())))]


def _name(run: RunReport) -> str:
    return RunFolder(run.origin.folder).argument
