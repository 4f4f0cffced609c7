"""Turns settings into a search: opens its journal, proposer and sandbox, puts them together and closes them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behavesim.base.config import Settings
from behavesim.base.errors import TaskError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Notices, on_stderr
from behavesim.engine.admission import (
    further_of_run,
    has_other_task,
    method_of_run,
    refuse_another_run,
    refuse_changes,
    refuse_rescored,
    refuse_unfit,
    refuse_unfit_copy,
    refuse_unpriced,
    refuse_unsteady,
    refuse_unsuited,
    run_provenance,
)
from behavesim.engine.caps import Caps
from behavesim.engine.due import Rules
from behavesim.engine.loop import Observe, Search
from behavesim.engine.outcome import outcome_of_verdict, raced_of_verdict
from behavesim.engine.tuning import tuned_reply
from behavesim.evaluators.evaluation import JUDGE_LOADER, EvaluatorJudge, evaluator_pool
from behavesim.evaluators.needs import what_it_lacks
from behavesim.evaluators.scores import silent_failure
from behavesim.methods.method import Method
from behavesim.programs.extract import WholeForm, form_of
from behavesim.programs.reading import Program
from behavesim.proposers.priced import PricedProposer
from behavesim.proposers.prices import PriceList, Prices, name_of_list
from behavesim.proposers.proposer import Proposer, ProposerContext, keeps_requests, proposer_of, proposer_type
from behavesim.sandbox.judge import RefereePool, SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.referee import COSTLY
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    Advised,
    Asked,
    ClockRead,
    Evaluated,
    Injected,
    NoteAsked,
    Raced,
    Rejected,
    RunForked,
    RunResumed,
    RunStarted,
)
from behavesim.state.protocols import Journal, Judge, Responder, unnoticed
from behavesim.state.requests import Requests
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.database import copy_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import Activity, read_events
from behavesim.store.run_files import RunFiles
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.evaluated import MADE, EvaluatorTask, repository_of
from behavesim.task.verdict import Block

if TYPE_CHECKING:
    from behavesim.cluster.runner import Cluster


# The judge of a run and its sandbox, here or on a cluster, as its settings say.


def judge_of(
    settings: Settings,
    task: Task,
    split: Split = "search",
    further: int = 0,
    starts: int = 1,
    clock: Heartbeat | None = None,
    tell: Callable[[str], None] = on_stderr,
    sights: list[Callable[[], str]] | None = None,
) -> SandboxJudge | EvaluatorJudge:
    """Return the judge of programs on the instances of a split, with its sandbox, both not entered yet.

    The sandbox is on this machine if `settings.workers` is a number, else on the cluster that it names. If the task has
    an evaluator, the sandbox runs that, whatever the split is. Else a program runs on all instances of a split, on up
    to `starts` versions of each (see `begin_instances`), and gets `starts` times the time. A split larger than `search`
    gets more in proportion. `further` is how many instances beyond those of the split blocks are taken from; of the
    search they are at least those of the race and of tuning. `clock` measures time limits; None makes one. `tell` gets
    a line when workers of a cluster join or leave, and for each self-reported score that can hardly be. On a cluster, a
    function that returns what its workers do is appended to `sights`, unless that is None.

    Raises UsageError if what a cluster needs is not installed or a setting does not fit it, TaskError if the instances
    cannot be made. Entering raises SandboxError if the sandbox does not start, UsageError if its isolation is too weak.
    """
    limits, weak, wall = Limits.of(settings), settings.allow_weak_isolation, settings.wall
    cluster: Cluster | None = None
    if isinstance(settings.workers, str):
        if wall or settings.devices:
            raise UsageError("wall and devices are for this machine; leave them out with a cluster")
        others, window = settings.allow_other_workers, settings.window if split == "search" else None
        given = (settings.workers, weak, others, tell, clock or Heartbeat(), window)
        cluster = _cluster_type()(*given, [] if sights is None else sights)
    # on a cluster, too, all is scored here
    count = settings.workers if isinstance(settings.workers, int) else os.cpu_count() or 1
    if isinstance(task, EvaluatorTask):
        here = partial(evaluator_pool, task.file, count, limits, weak, clock, wall)
        pool = here(settings.devices) if cluster is None else cluster.evaluator(task.file, limits)
        # what programs answer is judged apart from them
        answers = here(loader=JUDGE_LOADER) if task.score_source == "trusted" else None
        own = range(len(instances_of(task, split))) if split != "search" else ()
        return EvaluatorJudge(pool, task.file, tell, answers, [task.instance_number(split, number) for number in own])
    if split == "search":
        further = max(further_of_run(settings, task), further)
    reference, of_starts = TaskReference(settings.task), limits.on(task, split, starts)
    if cluster is not None:  # its workers begin once on each instance
        sandbox = cluster.functions(settings.task, task, split, limits.on(task, split), further)
    else:
        place = (reference, split, count, of_starts, weak)
        sandbox = Pool(*place, clock=clock, starts=starts, wall=wall, further=further)
    return SandboxJudge(task, sandbox, RefereePool(reference, split, of_starts, count, clock, starts, further))


def _cluster_type() -> type[Cluster]:
    try:
        from behavesim.cluster.runner import Cluster  # imported late: few runs need it, and few have installed it
    except ModuleNotFoundError as error:
        said = f"a cluster needs the package {error.name}, which is not installed"
        raise UsageError(f"{said}; pip install 'behavesim[dask]', or give workers a number") from None
    return Cluster


@asynccontextmanager
async def start_shared_cluster(workers: int | str) -> AsyncIterator[Mapping[str, str]]:
    """Start the local cluster that `workers` names, if it names one, for all sandboxes in the block.

    Processes whose environment has the variables that are yielded share it. Raises UsageError if Dask is not installed,
    SandboxError if the cluster does not start.
    """
    if isinstance(workers, int) or "//" in workers:
        yield {}
        return
    _cluster_type()
    from behavesim.cluster.schedulers import start_local_cluster  # imported late, as above

    async with start_local_cluster(workers) as variables:
        yield variables


async def evaluate_template(task: Task, judge: Judge) -> Evaluated:
    """Return the outcome of the task's template. Raises TaskError if it fails, SandboxError if the sandbox does."""
    form = form_of(task)
    if isinstance(form, WholeForm) and (refused := form.failure_of(task.template)):
        raise TaskError(f"the first program of task {task.name!r} does not do ({refused.reason}): {refused.message}")
    program = Program(task.template, "", form.hash(task.template))
    outcome = outcome_of_verdict(TEMPLATE, program, await judge.evaluate(task.template))
    if isinstance(outcome, Rejected):
        file = task.file if isinstance(task, EvaluatorTask) else None
        what = "the first program and the evaluator" if file else "`solve` or the template"
        is_made = file is not None and Path(file.program).parent.parent.name == MADE
        said = f"task {task.name!r} fails with its {'first program' if file else 'template'} ({outcome.reason}): "
        advice = {
            "evaluator-error": "; the evaluator says so of its first program: mend it, or install what it lacks",
            "timeout": f"; look for a loop without end in {what}, or raise timeout_s, as by --set timeout_s=600",
            # of a class or a specification, which may leave its body to be filled in
            "evaluator": "; its own first program fails: add --program FILE with one that works" * is_made,
            COSTLY: "; let `solve` do the work and `score` only check it, or raise timeout_s or memory_mb",
        }
        # evaluators often go on without what they lack, and fail later with words that say nothing of it
        if lack := what_it_lacks(file, outcome.message) if file else "":
            raise TaskError(f"{said}{outcome.message}; {lack}")
        raise TaskError(f"{said}{outcome.message}{advice.get(outcome.reason, '')}")
    return outcome


async def race_template(settings: Settings, task: Task, judge: Judge) -> list[Raced]:
    """Return the template's result on all further instances, to which candidates are compared; [] without a race.

    Raises TaskError if it fails there, SandboxError if the sandbox does.
    """
    if not settings.race:
        return []
    begun = len(instances_of(task, "search"))
    block = Block(begun, settings.race, settings.race / begun)
    raced = raced_of_verdict(TEMPLATE, begun, await judge.evaluate(task.template, unnoticed, block))
    if raced.reason:
        raise TaskError(
            f"task {task.name!r} fails with its template on the race's instances ({raced.reason}): {raced.message}"
        )
    return [raced]


# The first prompt of a run, before the run is made.


def first_prompt(settings: Settings, task: Task, method: Method[Any], template: Evaluated, isolation: str) -> str:
    """Return the text of a method's first prompt; "" if it asks for nothing yet, as when it arranges groups first.

    `template` is the outcome of the task's template, `isolation` the level at which it ran. Raises TaskError if the
    task's instances cannot be hashed.
    """
    state = RunState(task.objective)
    state.apply(RunStarted(settings.flat(), run_provenance(settings, task), isolation))
    state.apply(template)
    behaviours = Behaviours()  # none is read before a program ran
    asked = method.ask(state, behaviours, 0)
    first = None if asked is None else method.prompts.complete(asked, state, behaviours)
    return first.prompt.text if isinstance(first, Asked | NoteAsked) else ""


@dataclass(frozen=True)
class Launch:
    """What a session of a run is made from: the run's settings, its task and its folder.

    It makes the proposer, the sandbox, the journal and the search of the session. The clock, the notices and the open
    requests are made once and shared by these parts.
    """

    settings: Settings
    task: Task
    folder: RunFolder
    # Events that a new run begins with: programs and advice from people, and clock readings of the run that it replays.
    # Empty if there are none.
    brought: tuple[Injected | Advised | ClockRead, ...] = ()
    # The clock of all time limits of the session.
    clock: Heartbeat = field(default_factory=Heartbeat, init=False, compare=False)
    # The lines that `tell` was given before the run's folder, which holds the log, was made.
    early: list[str] = field(default_factory=list, init=False, compare=False)
    # Functions that say what the workers of a cluster do now; empty if programs run on this machine.
    sights: list[Callable[[], str]] = field(default_factory=list, init=False, compare=False)

    @cached_property
    def notices(self) -> Notices:
        """The messages of the session to a person; they are also written to the run's log."""
        return Notices(self.folder.note)

    @cached_property
    def requests(self) -> Requests:
        """The requests of the session that have no answer yet."""
        return Requests(self.notices, self.clock)

    def tell(self, text: str) -> None:
        """Give a person a notice; before the folder is made, keep it in `early` and write it to standard error."""
        if self.folder.path.is_dir():
            self.notices(text)
        else:
            self.early.append(text)
            on_stderr(text)

    @cached_property
    def proposer(self) -> Proposer[Any]:
        """The run's proposer, a context manager that the session enters once.

        Raises UsageError if the proposer refuses its settings.
        """
        return proposer_of(self.settings, self.context)

    @property
    def context(self) -> ProposerContext:
        """What the run's proposer is given about the run."""
        settings = self.settings
        return ProposerContext(
            self.task,
            settings.seed,
            settings.connections,
            runs_dir=self.folder.path.parent,
            folder=self.folder.path,
            budget=settings.budget,
            tell=self.notices,
            clock=self.clock,
            requests=self.requests,
        )

    def judge(self) -> SandboxJudge | EvaluatorJudge:
        """Return the judge of the run's programs, a context manager not entered yet."""
        return judge_of(self.settings, self.task, clock=self.clock, tell=self.tell, sights=self.sights)

    def journal(self) -> SqliteJournal:
        """Return the run's journal, not opened yet."""
        return SqliteJournal(self.folder.journal, steady=self.clock, notes=self.notices)

    def write_files(self) -> None:
        """Write the files of its parts and the settings into the run's folder; raises JournalError if that fails."""
        self.folder.keep_parts(self.settings)
        self.folder.write_settings(self.settings.flat())

    def search(self, proposer: Responder, judge: Judge, journal: Journal, before: Activity | None = None) -> Search:
        """Return the session's search, which has no events and is not running yet.

        `before` is the active time of earlier sessions; None for a new run.
        """
        caps = Caps.of(self.settings, Prices.named(self.settings.prices).cost, self.clock, before)
        files = RunFiles(self.folder, self.notices, self.task.suffix, repository_of(self.task))
        return assemble_search(self.settings, self.task, proposer, judge, journal, caps, files, self.requests)


@asynccontextmanager
async def new_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a new run: its template is evaluated, its folder made and its journal begun.

    The folder is made last, so that a refused run leaves nothing behind. Raises TaskError if the template fails, its
    behaviour cannot be compared or the instances differ when made again, here or (if the run costs money) in another
    process. Raises UsageError if the folder cannot be made, the isolation is too weak, the proposer refuses its
    settings, or cost is capped and a price unknown. Raises SandboxError if the sandbox does not start.
    """
    refuse_unfit(launch.settings, launch.task)
    # before anything uses the instances, as it will be when the run is resumed
    origin = run_provenance(launch.settings, launch.task)
    await refuse_unsteady(launch.settings, launch.task, origin["instances"])
    if launch.settings.recommend:
        instances_of(launch.task, "validation")  # refused now, if at all, and not when the search is paid for
    await asyncio.to_thread(refuse_unpriced, launch.settings)  # which loads the price list
    async with AsyncExitStack() as stack:
        proposer = await stack.enter_async_context(launch.proposer)
        judge = launch.judge()
        await stack.enter_async_context(judge)
        template = await evaluate_template(launch.task, judge)
        raced = await race_template(launch.settings, launch.task, judge)
        await asyncio.to_thread(refuse_unsuited, launch.settings, launch.task, template)
        told = {"cluster": "; ".join(launch.early)} if launch.early else {}
        told |= {"behaviour": judge.traced} if isinstance(judge, EvaluatorJudge) else {}
        started = RunStarted(launch.settings.flat(), {**origin, **told}, judge.isolation)
        with launch.folder.created():
            # where this fails or is cancelled, the journal is closed before its folder goes
            async with AsyncExitStack() as held:
                held.enter_context(launch.folder.locked())
                launch.write_files()
                for line in launch.early:
                    launch.folder.note(line)
                search = launch.search(proposer, judge, await held.enter_async_context(launch.journal()))
                await search.record(started, template, *raced, *launch.brought)
                stack.push_async_exit(held.pop_all())
        if isinstance(judge, EvaluatorJudge) and isinstance(launch.task, EvaluatorTask):
            launch.notices(judge.behaviour)
            if doubt := silent_failure(template.score, template.metrics, template.feedback):
                lack = what_it_lacks(launch.task.file, template.feedback)
                launch.notices(f"{doubt}; {lack}" if lack else doubt)
        yield search


@asynccontextmanager
async def resume_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a run as its journal left it, after its RunResumed was committed.

    Raises BehavesimError if another process holds the run. Raises UsageError if something changed that a resumed run
    must keep, the isolation is too weak, the proposer refuses its settings, or cost is capped and a price unknown.
    Raises JournalError if the journal is faulty, SandboxError if the sandbox does not start.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(launch.folder.locked())
        journal = await stack.enter_async_context(launch.journal())
        refuse_changes(launch.folder, launch.settings, launch.task)
        refuse_unfit(launch.settings, launch.task)
        await asyncio.to_thread(refuse_unpriced, launch.settings)
        # those of the last session, whose file `write_files` replaces
        connections = settings_from_journal(launch.folder.read_settings()).connections
        launch.write_files()
        proposer = await stack.enter_async_context(launch.proposer)
        judge = launch.judge()
        before = Activity()
        search = launch.search(proposer, judge, journal, before)
        # While the sandbox loads its libraries. Neither may go on after an error of the other: a sandbox that starts
        # when the stack is closed already would be left behind.
        folding = asyncio.create_task(asyncio.to_thread(_fold, launch.folder, search, before))
        try:
            await stack.enter_async_context(judge)
        finally:
            await folding
        again = tuple(search.state.unanswered)
        notes = tuple(note.asked.number for note in search.state.awaited_notes)
        lost, batched = search.state.under_way, search.state.batched
        if keeps_requests(launch.settings):
            launch.requests.batches.earlier = dict(batched)
        if not proposer.costs_money or keeps_requests(launch.settings):
            lost = 0
        elif lost is None:  # as after a kill: then at most a request for each connection, or the batches
            lost = max(min(len(again) + len(notes), connections), len(batched))
        try:
            await search.record(RunResumed(again, judge.isolation, lost, name_of_list(), notes))
        except asyncio.CancelledError:  # it is committed all the same, and must not look like a killed session
            search.stop("interrupted")
            await search.run()
            raise
        yield search


@asynccontextmanager
async def fork_search(launch: Launch, source: RunFolder) -> AsyncIterator[Search]:
    """Yield the search of a new run that begins with a copy of the journal of `source` and has other settings.

    The run `source` may go on meanwhile: the fork is of the run as it stood when its journal was copied. If the task's
    file has changed, the programs of the run are evaluated again.

    Raises UsageError if something changed that a fork must keep, such as its instances or a program's score, or if a
    program that it takes over cannot be compared. It is also raised if the budget is smaller than what `source` has
    asked for. Raises UsageError, too, if the folder cannot be made, the isolation is too weak, the proposer refuses its
    settings, or cost is capped and a price unknown. Raises JournalError if the journal is faulty, SandboxError if the
    sandbox does not start.
    """
    settings, task, folder = launch.settings, launch.task, launch.folder
    refuse_another_run(source, settings, task)
    refuse_unfit(settings, task)
    await asyncio.to_thread(refuse_unpriced, settings)
    with folder.created():
        launch.write_files()
        copy_journal(source.journal, folder.journal)
        # the copy is examined, as a run that goes on could ask for more after it was examined and before it is copied
        await asyncio.to_thread(refuse_unfit_copy, source.run, folder, settings, task)
        if has_other_task(folder, settings, task):
            async with launch.judge() as judge:
                await refuse_rescored(source, folder, judge)
        async with launch.journal() as journal:
            provenance = run_provenance(launch.settings, launch.task)
            await journal.append([RunForked(source.run, launch.settings.flat(), provenance)])
        launch.folder.note(f"forked from {source.run}")
    async with resume_search(launch) as search:
        yield search


def _fold(folder: RunFolder, search: Search, before: Activity) -> None:
    for _, at, event in read_events(folder.journal):
        before.take(at, event)
        search.fold(event)


def assemble_search(
    settings: Settings,
    task: Task,
    proposer: Responder,
    judge: Judge,
    journal: Journal,
    caps: Caps,
    observe: Observe = lambda event, state: None,
    requests: Requests | None = None,
    method: Method[Any] | None = None,
) -> Search:
    """Return a search that has no events yet and is not running; every search is put together here.

    `observe` is called with each event after its commit, and the state. `requests` counts requests under way; None
    makes a count that nobody else reads. `method` decides in place of the one that the settings name; None for that
    one. Raises UsageError if the method or the proposer is not installed, or if the prompts' wording cannot be loaded.
    """
    writer = proposer_type(settings.proposer)
    chosen = method or method_of_run(settings, task)
    validation = partial(judge_of, settings, task, "validation")
    return Search(
        task=task,
        rules=Rules.of(settings, task),
        caps=caps,
        method=chosen,
        proposer=PricedProposer(proposer, PriceList(writer.endpoint()).cost if writer.costs_money else None),
        judge=judge,
        journal=journal,
        behaviours=Behaviours.of_run(settings, task, chosen.uses_behaviour),
        observe=observe,
        clock_every_s=0.0 if writer.repeats_run else chosen.clock_every_s,
        requests=requests or Requests(),
        tune=partial(tuned_reply, task, settings, judge, validation) if settings.tune else None,
        by_question=writer.repeats_run,
    )
