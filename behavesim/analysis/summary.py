"""A run's summary: its state, results and costs; the run's folder keeps it until the run changes.

`behavesim list` loads this module and often nothing else, so what is slow to import is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from behavesim import __version__
from behavesim.analysis.table import TOP, Scored
from behavesim.base.errors import JournalError
from behavesim.base.text import ScoreSource
from behavesim.base.tokens import Price, Spending, Tokens
from behavesim.state.advice import Advice
from behavesim.store.database import last_event_number
from behavesim.store.folder import SUMMARY, RunFolder

if TYPE_CHECKING:
    from behavesim.analysis.run import Run
    from behavesim.base.config import Settings
    from behavesim.state.race import Certificate

# State of a run. "running": a process holds the run. "finished": its budget is spent. "stopped": a cap, a person or a
# kill ended it. "failed": an error ended it.
State = Literal["running", "finished", "stopped", "failed"]
# A run's state by the reason for which it ended; for every other reason, such as a cap, it is "stopped".
ENDED: Mapping[str, State] = {"budget": "finished", "failed": "failed"}
# Value of `stopped_by` if no end of the run was recorded and no process holds it any more.
KILLED = "killed"
# A number of instances for which a summary says what would be chance, unless the search has nearly as many.
ENOUGH = 60
# Version of what a summary's fields mean: it grows when a field changes its meaning, so that older caches are not read.
FORMAT = 6


@dataclass(frozen=True)
class RecommendedProgram(Scored):
    """The program chosen on validation instances from the first `registered` candidates; `gain` is a fraction.

    After a race the gain is that on `fresh` instances, which nothing had used before. `interval` holds it with 95 %
    certainty, None if there were too few to say; the program is better than `told_apart_from` of `others` with as much.
    Without a race these are None.
    """

    validation_score: float
    gain: float | None
    registered: int
    interval: tuple[float, float] | None = None
    fresh: int | None = None
    told_apart_from: int | None = None
    others: int | None = None

    @property
    def certificate(self) -> Certificate | None:
        """What the race says of the program; None without one."""
        if self.fresh is None or self.gain is None or self.told_apart_from is None or self.others is None:
            return None
        from behavesim.state.race import Certificate  # imported late, as above

        return Certificate(self.candidate, self.gain, self.interval, self.fresh, self.told_apart_from, self.others)


@dataclass(frozen=True)
class Noise:
    """How large a difference of two programs' scores is chance, as a fraction of them.

    It is so below `difference` with the `instances` of the search, and below `more_difference` with `more` instances.
    """

    difference: float
    instances: int
    more: int
    more_difference: float


@dataclass(frozen=True)
class TuningBrought:
    """What tuning brought to a run: `candidates` in so many `trials`, of which `better` are feasible.

    `gain` is by how much they raised the best score, and `written_gain` by how much the others did: fractions of the
    template's score, which add up to the run's gain.
    """

    candidates: int
    better: int
    none: int
    """Candidates for which no trial was told apart from the parent."""
    trials: int
    gain: float
    written_gain: float
    by_score: int = 0
    """Tuned programs of the archive that are better on the instances of their trials alone, as there are no others."""


@dataclass(frozen=True)
class Summary:
    """A run at a glance: scores in the task's unit, gaps as fractions; a field is None if unknown or not applicable.

    `best` is the best candidate, even if the template scores higher: comparisons of methods use it. `best_program` is
    what the run found, and what best.py holds: the template (-1) until a candidate is better. `gain` is how much better
    `best` is than the template, as a fraction of its score; if that is 0, the difference. `told_apart` is whether that
    is more than chance on the same instances; None with one instance, or a score that is no mean. `top10_gap` is the
    mean of the ten best.

    `seconds` are without pauses between sessions. `tokens` are sums by kind, and `cost_usd` is their cost. `estimated`
    adds estimates for replies that did not report theirs. `unanswered` requests were given up, and may be billed.
    `doubted` are candidates whose self-reported scores are far better than the best known one. `behaviour` names what
    programs are compared by (docs/how-to/traces.md). `digest` is a SHA-256 of all registered candidates' sources,
    scores and islands. `asked` counts what a budget counts: not the candidates of `tuning`, which is None if there are
    none. `notes` are those that people made on the run.
    """

    run: str
    state: State
    stopped_by: str | None
    task: str
    method: str
    proposer: str
    seed: int
    asked: int
    feasible: int
    rejected: Mapping[str, int]
    template: Scored | None
    best: Scored | None
    gain: float | None
    recommended: RecommendedProgram | None
    top10_gap: float | None
    tokens: Mapping[str, int | None]
    cost_usd: float | None
    estimated: Spending | None
    unanswered: int
    isolation: str
    score_source: ScoreSource
    seconds: float
    digest: str
    behaviour: str | None = None
    failure: str | None = None
    unit: str = ""
    advice: tuple[Advice, ...] = ()
    doubted: tuple[int, ...] = ()
    noise: Noise | None = None
    told_apart: bool | None = None
    tuning: TuningBrought | None = None
    notes: tuple[str, ...] = ()
    best_program: Scored | None = field(init=False)  # a field, so that JSON has it

    def __post_init__(self) -> None:
        object.__setattr__(self, "best_program", self.best if self.beats_template else self.template)

    @property
    def beats_template(self) -> bool:
        """Whether the best candidate is better than the template; True also if one of them is missing."""
        return self.template is None or self.best is None or self.gain is None or self.gain > 0

    @property
    def rejections(self) -> int:
        """Number of candidates rejected, for any reason."""
        return sum(self.rejected.values())

    @property
    def open(self) -> int:
        """Number of candidates asked for that are neither feasible nor rejected yet."""
        tuned = 0 if self.tuning is None else self.tuning.candidates - self.tuning.none
        return self.asked + tuned - self.feasible - self.rejections


def summary(run: Run) -> Summary:
    """Return the summary of a run as far as it has been read.

    Raises UsageError if the settings in the run's folder, which name prices, are invalid.
    """
    from behavesim.analysis.statistics import mean_of_all
    from behavesim.proposers.prices import Prices
    from behavesim.state.race import gain_told_apart
    from behavesim.task.evaluated import LEAPED

    state, settings, how_it_ended = run.state, run.settings, state_of(run)
    price = Prices.named(last_settings(run).prices).cost
    spending, unanswered = Spending.of(state.tally.tokens, price), state.tally.unanswered + given_up(run)
    return Summary(
        run=run.folder.run,
        state=how_it_ended,
        stopped_by=KILLED if how_it_ended == "stopped" and state.stopped is None else state.stopped,
        task=settings.task,
        method=settings.method,
        proposer=settings.proposer,
        seed=settings.seed,
        asked=state.questions,
        feasible=state.tally.feasible,
        rejected=dict(sorted(state.tally.rejected.items())),
        template=None if run.template is None else run.scored(run.template),
        best=None if run.best is None else run.scored(run.best),
        gain=state.gain,
        told_apart=None if run.best is None or run.template is None else gain_told_apart(run.best, run.template),
        recommended=_recommended(run),
        top10_gap=mean_of_all([run.gap(candidate.score) for candidate in run.ranked()[:TOP]]),
        tokens=_tokens(state.tally.tokens),
        cost_usd=_reported_cost(state.tally.tokens, price, unanswered),
        estimated=spending if spending.estimated else None,
        unanswered=unanswered,
        isolation=state.isolation,
        score_source=run.score_source,
        behaviour=run.behaviour,
        seconds=round(run.active_s, 3),
        digest=state.digest(),
        failure=state.failure or None,
        unit=state.objective.unit,
        advice=state.advice,
        doubted=tuple(each.candidate for each in run.candidates if LEAPED in each.metrics),
        noise=_noise(run),
        tuning=_tuning(run),
        notes=run.folder.notes,
    )


def _tuning(run: Run) -> TuningBrought | None:
    from behavesim.state.events import TUNE

    state, template = run.state, run.template
    tuned = {each.candidate: each for each in run.candidates if each.operator == TUNE}
    if not tuned:
        return None
    gains = {True: 0.0, False: 0.0}
    if template is not None and template.score is not None:
        best, unit = state.objective.utility(template.score), abs(template.score) or 1.0
        for candidate, score in state.bests:
            utility = state.objective.utility(score)
            gains[candidate in tuned] += max(0.0, utility - best) / unit
            best = max(best, utility)
    return TuningBrought(
        len(tuned),
        sum(each.status == "feasible" for each in tuned.values()),
        sum(each.stage == "tune" for each in tuned.values()),
        state.trials,
        gains[True],
        gains[False],
        sum(each.tuning is not None and each.tuning.check == "score" for each in state.members.values()),
    )


def _noise(run: Run) -> Noise | None:
    """Return how large a difference is chance, from the ten best programs and the template."""
    from behavesim.state.race import chance, is_mean, spread_of_pairs
    from behavesim.task.task import REACHED

    programs = [*run.ranked()[:TOP], *filter(None, [run.template])]
    if any(each.score is None or not is_mean(each.score, each.scores) for each in programs if not each.raced):
        return None  # the score is no mean over instances
    spread = spread_of_pairs([each.scores for each in programs], run.state.objective) if programs else None
    if spread is None:
        return None
    count = len(programs[0].scores)
    more, difference = max(ENOUGH, 4 * count), chance(spread, count)
    # programs that all reach the same say nothing of what luck can do
    return Noise(difference, count, more, chance(spread, more)) if difference > REACHED else None


def state_of(run: Run) -> State:
    """Return whether a run goes on, or how it ended.

    A run that recorded no end and that no process holds was killed: it is "stopped".
    """
    if run.state.stopped is None:
        return "running" if run.is_held else "stopped"
    return ENDED.get(run.state.stopped, "stopped")


def given_up(run: Run) -> int:
    """Return the number of requests that were under way when the run ended and may have been billed.

    It is 0 for a running run, or if no model was asked. For a killed run, which could not count, it is an upper bound.
    """
    from behavesim.proposers.proposer import keeps_requests, models_asked

    # A proposer of one's own may ask models that no setting names: then earlier answers show it.
    asks = bool(models_asked(run.settings)) or any(used.calls for used in run.state.tally.tokens.values())
    if not asks or state_of(run) == "running" or keeps_requests(run.settings):
        return 0
    return min(run.state.waiting, run.settings.connections) if run.state.under_way is None else run.state.under_way


def last_settings(run: Run) -> Settings:
    """Return the settings of the last session, which may name other prices than the journal's first event.

    They are the journal's if the folder has none. Raises UsageError if they are invalid.
    """
    from behavesim.state.settings import settings_from_journal

    return settings_from_journal(run.folder.read_settings()) if run.folder.settings.is_file() else run.settings


def _tokens(used: Mapping[str, Tokens]) -> dict[str, int | None]:
    from behavesim.analysis.candidates import TOKEN_KINDS

    # An answer that did not report its tokens counts as 0. If none reported them, all are None: 0 would look free.
    calls, unreported = sum(each.calls for each in used.values()), sum(each.unreported for each in used.values())
    is_unknown = calls > 0 and unreported == calls
    return {kind: None if is_unknown else sum(getattr(each, kind) for each in used.values()) for kind in TOKEN_KINDS}


def _recommended(run: Run) -> RecommendedProgram | None:
    event, chosen, registered = run.state.recommended, run.recommended, run.state.recommended_of
    if event is None or chosen is None or registered is None:
        return None
    validation = event.validation[chosen.candidate]
    assert validation is not None, "what failed on validation instances is not recommended"
    # the candidates that came later are not considered: screens say so by `registered`
    found = run.scored(chosen)
    said: dict[str, Any] = dict(found.certainty)
    if (certificate := run.certificate) is not None:
        names = ("interval", "fresh", "told_apart_from", "others")
        said |= {name: getattr(certificate, name) for name in names}
    return RecommendedProgram(*found.cells, validation, run.validated_gain(chosen), registered, **said)


def _reported_cost(tokens: Mapping[str, Tokens], price: Price, unanswered: int) -> float | None:
    """Return the cost of all requests in USD, without tokens that an endpoint did not report; None if unknown."""
    if unanswered and not any(used.calls for used in tokens.values()):
        return None  # every request was given up, and may have been billed
    total = 0.0
    for model, used in tokens.items():
        cost = price(model, used) if used.calls else 0.0  # proposers without requests, such as genetic, have no price
        if cost is None or (used.calls and used.unreported == used.calls):
            return None
        total += cost
    return total


@cache
def _as_json() -> TypeAdapter[Summary]:  # to make one takes longer than to read a summary
    return TypeAdapter(Summary)


def load_summary(folder: RunFolder, is_kept: bool = True) -> Summary:
    """Return the summary of a run, from the cache in its folder if the run has not changed since.

    Otherwise it reads the journal, about 1 s for 10 000 candidates, and writes the cache unless `is_kept` is False.
    """
    seal, _, text = (folder.kept(SUMMARY) or "").partition("\n")
    is_held = folder.is_running()  # before the journal is read: a run that ends in between would seem killed
    if seal == _seal(folder, is_held, last_event_number(folder.journal), text):
        return _as_json().validate_json(text)
    from behavesim.analysis.run import Run

    run = Run.load(folder)
    return save_summary(run) if is_kept else summary(run)


def save_summary(run: Run) -> Summary:
    """Return the summary of a loaded run, and write it to the cache if the folder allows that."""
    found = summary(run)
    text = _as_json().dump_json(found).decode()
    with suppress(JournalError):  # the summary can be shown even if the disk is full
        run.folder.keep(SUMMARY, f"{_seal(run.folder, run.is_held, len(run.events_at), text)}\n{text}")
    return found


def _seal(folder: RunFolder, is_held: bool, events: int, text: str) -> str:
    # A hash of all that a summary depends on: a cache with another one is old, or was damaged.
    parts = (__version__, FORMAT, *Summary.__annotations__, folder.run, folder.notes, events, is_held, text)
    settings = folder.settings.read_bytes() if folder.settings.is_file() else b""
    return sha256(repr(parts).encode() + settings).hexdigest()
