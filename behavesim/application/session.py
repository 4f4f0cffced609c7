"""A session of a run: it begins, resumes or forks the run, searches until something ends it, and recommends a program.

`begin`, `fork` and `resume` share these rules. A program is recommended if the settings say so and the task has
validation instances. `view` shows the search while it goes on. `tell` gets a line when something begins that takes a
while. If cancelled once, a session sends no more requests, waits up to REPLIES_S for the replies under way (until
`launch.requests.abandon` is called), commits all that has arrived, and raises CancelledError. If cancelled twice, it
raises CancelledError at once. A run whose folder was made by then can be resumed in both cases.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from behavesim.application.evaluation import program_of, read_program
from behavesim.base.errors import INTERRUPTED, BehavesimError, UsageError, few_files
from behavesim.base.text import STILL, duration, one_line, printable
from behavesim.engine.admission import refuse_changes
from behavesim.engine.build import Launch, fork_search, new_search, resume_search, start_shared_cluster
from behavesim.engine.loop import Search
from behavesim.proposers.secrets import Secrets
from behavesim.state.advice import LONGEST
from behavesim.state.events import Advised, Injected
from behavesim.store.database import is_spent
from behavesim.store.folder import ADVICE, Inbox, RunFolder
from behavesim.task import Task, instances_of

if TYPE_CHECKING:
    from behavesim.analysis.run import Run
    from behavesim.application.python import LoadedRun


# Runs asynchronous work from synchronous code: in a process that signals end in order, or in a notebook.


T = TypeVar("T")
# Files that a loop with a worker opens at least: journal, sockets, pipes, and a file that is read meanwhile.
FILES = 24
# The terminal's control sequence that shows the cursor, which a live view hides.
SHOW_CURSOR = b"\x1b[?25h"


def run_until_asked_to_end(work: Coroutine[Any, Any, T], again: Callable[[], object] = lambda: None) -> T:
    """Run the work in a new event loop and return its result; raises what it raises.

    The first SIGINT, SIGTERM or SIGHUP cancels the work, and the second calls `again`. The third ends the process at
    once with exit code 130: a task's own code may block a thread for ever. Raises KeyboardInterrupt if the work ends as
    cancelled, BehavesimError if the process may not open FILES more files.
    """
    try:
        _try_to_open_files()
    except BehavesimError:
        work.close()
        raise
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)
    acts = iter((working.cancel, again))  # what the first signal does, and the second

    def end() -> None:
        if (act := next(acts, None)) is None:
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), SHOW_CURSOR)
            os._exit(INTERRUPTED)  # sys.exit would wait for threads
        if not loop.is_closed():  # the work may have ended just before
            loop.call_soon_threadsafe(act)

    with _when_asked_to_end(end), runner:
        try:
            return loop.run_until_complete(working)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _try_to_open_files() -> None:
    # a loop that lacks a file for its own sockets can neither begin nor be closed
    held: list[int] = []
    try:
        for _ in range(FILES):
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise BehavesimError(few_files(error)) from error
    finally:
        for descriptor in held:
            os.close(descriptor)


@contextmanager
def _when_asked_to_end(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` on each SIGINT, SIGTERM and SIGHUP during the block; signals ignored before (nohup) stay ignored."""
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in asked}
    heard = [number for number in asked if before[number] is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def in_a_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Run the work to its end and return its result; raises what it raises.

    It runs in another thread if this one has a running event loop, as in a notebook. Ctrl-C cancels the work; once it
    has ended as cancelled, KeyboardInterrupt is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # with a factory, as Runner would else replace the event loop of the calling thread, which is the notebook's
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)

    def run() -> T:
        with runner:
            return loop.run_until_complete(working)

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:  # Python raises it in the main thread only, which waits here
                with suppress(RuntimeError):  # the loop may just have been closed
                    loop.call_soon_threadsafe(working.cancel)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None


# Programs and advice that people put into a run, while it goes on or while it is stopped.


def inject(folder: RunFolder, task: Task, files: Sequence[Path]) -> None:
    """Put programs into a run's inbox, from which its search takes them, now or when it is resumed.

    The path `template` stands for the task's template. If one file cannot be read or has no program of the task, none
    is put into the inbox: raises UsageError.
    """
    programs = [(file.stem, program_of(task, str(file), read_program(file, task))) for file in files]
    for stem, source in programs:
        folder.inbox.put(stem, source)


def advise(folder: RunFolder, sentence: str) -> None:
    """Put a sentence for later prompts into a run's inbox; "" withdraws all advice of the run.

    Raises UsageError if it is not one line of printable text with at most LONGEST characters, or if it holds a key.
    """
    if sentence and not (sentence.strip() and printable(sentence) == sentence and "\n" not in sentence):
        raise UsageError("advice is one line of printable text")
    if len(sentence) > LONGEST:
        raise UsageError(f"advice has {LONGEST} characters at most, this one {len(sentence)}; shorten or divide it")
    if Secrets.of(os.environ.items()).are_in(sentence):
        raise UsageError("the advice holds a key, and is kept with the run")
    folder.inbox.put("advice", sentence, ADVICE)


@dataclass(frozen=True)
class Ended:
    """The end of a session: why it ended, and the run, read from its journal after the end."""

    reason: str
    """"budget", a cap's name such as "max_cost", "interrupted", or "finished" if nothing was left to search."""
    run: LoadedRun


# Returns a context that shows the launch's search to a person until its block ends.
View = Callable[[Launch, Search], AbstractAsyncContextManager[None]]
# Shows a person one line of text.
Tell = Callable[[str], None]

# Seconds that a cancelled session waits for replies under way: they may be billed even if nobody waits.
REPLIES_S = 30.0
# Seconds that a search may take to end until a line says how to leave: a method's decision cannot be broken off.
ENDING_S = 3.0
# Seconds until the first line about a search that does not begin yet, or whose best programs are being validated. Each
# further line comes after twice as long, and after MOST_SAID_S at most.
SAID_S = 5.0
MOST_SAID_S = 60.0
# Seconds between two looks into the inbox: a person hardly waits, and a look costs one listing of a folder.
LOOK_S = 0.5
# Seconds after which a computing thread lets another run, in place of Python's 0.005: the event loop needs about twelve
# turns for a reply.
SWITCH_S = 0.001
# Objects made, and collections of the youngest, before the next generation is searched for garbage. Python's 700 take a
# twentieth of a start's CPU time. A full collection stops all threads for 0.1 s and frees almost nothing.
COLLECTION_AFTER = (20_000, 10, 1000)


async def begin(launch: Launch, view: View, tell: Tell) -> Ended:
    """Make a new run in the launch's folder, search while `view` shows that, and recommend a program.

    Raises UsageError if the folder exists or cannot be made, TaskError if the template fails, and another
    BehavesimError if the search fails.
    """
    return await _session(launch, new_search(launch), view, tell, "trying the template")


async def fork(launch: Launch, source: RunFolder, view: View, tell: Tell) -> Ended:
    """Make a new run from a copy of the journal of `source`, search under the launch's settings, and recommend.

    Raises UsageError if a setting changed that a fork must keep; else as `begin`.
    """
    return await _session(launch, fork_search(launch, source), view, tell)


async def resume(launch: Launch, view: View, tell: Tell) -> Ended:
    """Continue a run from its last event; if its budget is used up, recommend a program unless that is done.

    Raises UsageError if its task or a setting that decides what it finds has changed; else as `begin`.
    """
    if not is_spent(launch.folder.journal, launch.settings.budget, launch.settings.tune > 0):
        return await _session(launch, resume_search(launch), view, tell)
    refuse_changes(launch.folder, launch.settings, launch.task)
    run = _read(launch)
    if not run.state.has_recommended:
        await _recommend(launch, run, tell)
    return Ended("finished", run)


def end_interrupted(launch: Launch) -> Ended:
    """Return the end of a session that was cancelled, with the run as it was left."""
    return Ended("interrupted", _read(launch))


def shorten_pauses() -> None:
    """Shorten the interpreter's own pauses for the rest of the process's life: replies are committed sooner."""
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(*COLLECTION_AFTER)


async def _session(
    launch: Launch,
    beginning: AbstractAsyncContextManager[Search],
    view: View,
    tell: Tell,
    doing: str = "reading the journal",
) -> Ended:
    async with start_shared_cluster(launch.settings.workers):
        async with AsyncExitStack() as stack:
            async with _saying_still(tell, doing):
                search = await stack.enter_async_context(beginning)
            await stack.enter_async_context(view(launch, search))
            reason = await _run_in_order(launch, search)
        async with _saying_still(tell, "reading the journal for the summary"):
            run = await asyncio.to_thread(_read, launch)
        await _recommend(launch, run, tell)
    return Ended(reason, run)


@asynccontextmanager
async def _saying_still(tell: Tell, doing: str, so_far: Callable[[], str] = lambda: "") -> AsyncIterator[None]:

    async def say() -> None:
        began, pause_s = time.monotonic(), SAID_S
        while True:
            await asyncio.sleep(pause_s)
            tell(f"{STILL}{doing}, for {time.monotonic() - began:.0f} s so far{so_far()}")
            pause_s = min(2 * pause_s, MOST_SAID_S)

    saying = asyncio.create_task(say())
    try:
        yield
    finally:
        saying.cancel()


@asynccontextmanager
async def _taking_from(inbox: Inbox, search: Search) -> AsyncIterator[None]:
    """Bring the inbox's programs and advice to the search before and during the block; remove each once committed."""
    # One that comes too late for this search stays in the inbox for the next session.

    async def look() -> None:
        brought: list[Injected | Advised] = [Injected(*each) for each in await asyncio.to_thread(inbox.waiting)]
        sentences = await asyncio.to_thread(inbox.waiting, ADVICE)
        brought += [Advised(name, one_line(text, LONGEST)) for name, text in sentences]
        for event in brought:
            if search.bring(event):
                inbox.remove(event.name)

    async def look_again() -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await look()

    await look()  # before the search, which could spend a small remaining budget on questions
    looking = asyncio.create_task(look_again())
    try:
        yield
    finally:
        looking.cancel()
        await look()  # what was committed since the last look must not be brought to the next session again


async def _run_in_order(launch: Launch, search: Search) -> str:
    """Run the search and return why it ended; if cancelled, wait for replies, stop it, and raise CancelledError."""

    # a task of its own, shielded, so that a cancellation reaches this function and not the search
    async def run() -> str:
        async with _taking_from(launch.folder.inbox, search):
            return await search.run()

    running = asyncio.create_task(run())
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        try:
            if under_way := launch.requests.under_way:
                replies = "the reply" if under_way == 1 else f"{under_way} replies"
                launch.notices(f"waiting for {replies} under way (at most {REPLIES_S:g} s); Ctrl-C again to leave now")
                await launch.requests.settle(REPLIES_S)
            search.stop("interrupted")
            if not (await asyncio.wait([running], timeout=ENDING_S))[0]:
                launch.notices(
                    "still ending, as the method decides or the disk is slow: press Ctrl-C until it ends; "
                    "what has arrived is kept"
                )
            await running
        finally:  # it has ended, unless this is a second cancellation
            running.cancel()
            await asyncio.wait([running])
        raise


def _read(launch: Launch) -> LoadedRun:
    from behavesim.application.python import LoadedRun  # imported late: the first request does not wait for it

    return LoadedRun.load(launch.folder)


async def _recommend(launch: Launch, run: LoadedRun, tell: Tell) -> None:
    if launch.settings.recommend and len(instances_of(launch.task, "validation")):
        await choose_program(run, launch.task, launch.settings.workers, None, tell)


async def choose_program(run: Run, task: Task, workers: int | str | None, evaluations: int | None, tell: Tell) -> None:
    """Choose the recommended program as `record_recommendation` does; `tell` gets a line on that, and more if it lasts.

    These say how far a race is, how long it may take, and how to make it short.
    """
    from behavesim.application.recommendation import record_recommendation

    doing = f"trying the best programs of {run.folder.run} on instances that the search has not seen"
    tell(doing)
    began, earlier = time.monotonic(), run.state.fresh.spent if run.state.is_racing and run.state.fresh else 0

    def so_far() -> str:
        race = run.state.fresh if run.state.is_racing else None
        if race is None:
            return ""
        purse, spent = race.begun.purse, race.spent
        said = f": {spent:,} of at most {purse:,} evaluations"
        if spent > earlier:
            left_s = (time.monotonic() - began) * (purse - spent) / (spent - earlier)
            said += f", {duration(max(0.0, left_s))} left at most"
        if spent < purse // 4:
            said += f"; Ctrl-C, and behavesim recommend {run.folder.argument} --evaluations {purse // 4} takes fewer"
        return said

    async with _saying_still(tell, doing, so_far):
        await record_recommendation(run, task, workers, evaluations)
