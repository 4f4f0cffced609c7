"""Evaluates a program by a user's evaluator, in the sandbox; the score is the evaluator's own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Self

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import on_stderr
from behavesim.base.text import one_line
from behavesim.evaluators.conventions import Convention, Run, convention_named
from behavesim.evaluators.doubt import confirm, leap, leap_in_words, refuse_impossible
from behavesim.evaluators.modules import loading, tool_path
from behavesim.evaluators.tracing import LONGEST_FAILURE, METRICS, Recorder, Result, in_words, metric_steps, numbers
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.state.protocols import Postponed, Sandbox, unnoticed
from behavesim.task.evaluated import (
    CALLS_METRIC,
    INSTANCE,
    LIBRARY_METRIC,
    EvaluatorFile,
    first_program,
    separate_files,
)
from behavesim.task.score import mean_metrics
from behavesim.task.verdict import Block, Failure, Verdict
from behavesim.trajectory import Trajectory

_SAID = Path("/tmp/said")
# Where programs and evaluators write. Without a place of its own numba refuses to cache beside a file in a read-only
# folder, and the evaluator's import fails.
PLACES = {"TMPDIR": "/tmp", "HOME": "/tmp", "NUMBA_CACHE_DIR": "/tmp/numba"}
_SHOWN = 2_000
# Finds the system's words for a write or a connection that the sandbox refuses.
_REFUSED = re.compile(
    "Read-only file system|Permission denied|Operation not permitted|Connection refused|Network is unreachable"
    "|Name or service not known|Temporary failure in name resolution"
)
_ALLOWED = "in the sandbox, only files below /tmp can be written, and there is no network"


def load(given: str) -> Callable[[str], bytes]:
    """Load the evaluator of an EvaluatorFile in JSON; return a function from a program's text to its Result in JSON.

    It changes TMPDIR, HOME and the working directory of the process. Raises TaskError if the evaluator cannot be
    loaded.
    """
    file, convention = prepare_process(given)
    with loading(file.evaluator):  # also of a function which makes its inputs: else nobody would say whose error it is
        run = convention.load(file)

    def evaluate(text: str) -> bytes:
        os.chdir(file.folder)  # the folder may have been replaced by an empty one of the same name
        variables, source = _separate(text)
        os.environ.update(variables)
        recorder = Recorder()
        found = _evaluate(run, file, source, recorder)
        if _hash(source) == file.description:  # see `for_sandbox`
            if found.score == 0 and not found.feedback:  # perhaps it caught a failure and printed it
                found = replace(found, feedback=_printed())
            found = replace(found, metrics={**found.metrics, **_surroundings(file, recorder)})
        return found.encoded()

    return evaluate


def load_judge(given: str) -> Callable[[str], bytes]:
    """Load the judge of an EvaluatorFile in JSON; return a function from a program's answer to its Result in JSON.

    What it gets is a JSON list of the answer and of the program's speed (`Judge`). No program runs in the judge's
    process. Changes and errors are as of `load`.
    """
    file, convention = prepare_process(given)
    judge = convention.load_judge(file)

    def evaluate(text: str) -> bytes:
        os.chdir(file.folder)
        answer, speed = json.loads(text)
        return _evaluate(lambda *_: judge(answer, speed), file, "", Recorder()).encoded()

    return evaluate


def prepare_process(given: str) -> tuple[EvaluatorFile, Convention]:
    """Return the file and its convention in a process that is ready for an evaluator."""
    # programs may write below /tmp alone, and the evaluator's own relative paths lead into its folder
    file = EvaluatorFile.from_json(given)
    os.environ.update(PLACES | {"PATH": tool_path()} | dict(file.environment))
    os.chdir(file.folder)
    if file.root:
        sys.path.append(file.root)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), file.root)))
    if sys.version_info >= (3, 14):
        _fork_processes()
    # what a first result imports and caches is in all forks then
    Result(0.0, numbers({"score": 0.5}), "none", steps=metric_steps({"score": 0.5})).encoded()
    return file, convention_named(file.convention)


# Begins a text with environment variables before the program. No program begins so: it may not choose its instance.
_GIVEN = "\0"


def with_variables(source: str, variables: Mapping[str, str]) -> str:
    """Return a program's text as a sandbox gets it that sets environment variables before the program runs."""
    source = source.lstrip(_GIVEN)
    return f"{_GIVEN}{json.dumps(variables)}\n{source}" if variables else source


def _separate(text: str) -> tuple[dict[str, str], str]:
    if not text.startswith(_GIVEN):
        return {}, text
    line, _, source = text.partition("\n")
    return json.loads(line[1:]), source


def _fork_processes() -> None:
    """Let the evaluator's processes be forks, as before Python 3.14, unless it has chosen how they begin."""
    # The new way begins them from a server: they lack the program's module, and so every function to call.
    import multiprocessing  # only here: most evaluators make no processes

    if multiprocessing.get_start_method(allow_none=True) is None:
        multiprocessing.set_start_method("fork")


# Libraries that prompts name if the sandbox has them.
LIBRARIES = ("numpy", "scipy", "numba", "pandas", "sklearn", "networkx", "sympy", "ortools", "cvxpy", "torch", "jax")


def for_sandbox(file: EvaluatorFile) -> EvaluatorFile:
    """Return the file as a sandbox gets it: with the hash of its first program in place of its description.

    The description would stand in the process's command line, which others can read and which is limited. The program
    itself may lie in a run's folder, which no sandbox can read, or on another machine.
    """
    if file.description.startswith(_HASHED):  # on the other machine
        return file
    try:
        return replace(file, description=_hash(first_program(Path(file.program))))
    except (OSError, BehavesimError):
        return replace(file, description="")


_HASHED = "sha256:"


def _hash(program: str) -> str:
    return f"{_HASHED}{hashlib.sha256(program.encode(errors='surrogatepass')).hexdigest()}"


def _surroundings(file: EvaluatorFile, recorder: Recorder) -> dict[str, float]:
    """Return, as private metrics of the first program, how often it was called and which libraries there are."""
    # they stand in the journal, so that prompts can name them and say the same when they are derived again
    found = {CALLS_METRIC: float(recorder.calls)} if recorder.calls else {}
    if file.convention == "command":  # it may run another Python
        return found
    return found | {f"{LIBRARY_METRIC}{name}": 1.0 for name in LIBRARIES if importlib.util.find_spec(name)}


def _evaluate(run: Run, file: EvaluatorFile, source: str, recorder: Recorder) -> Result:
    # what both print goes to a file: standard output belongs to the sandbox
    with _output_to(_SAID):
        try:
            found = run(_write_program(source, file), recorder)
        except BaseException as error:  # noqa: BLE001 - else the process would end, and with it what was said
            found = Result(None, feedback=_traceback(error), failure=_error_text(error))
    if found.score is None and not found.feedback:
        found = replace(found, feedback=_printed())
    if _REFUSED.search(found.failure):
        found = replace(found, failure=f"{found.failure[: LONGEST_FAILURE - len(_ALLOWED) - 2]}; {_ALLOWED}")
    # models are shown both, and where a person's files lie is nobody's business
    here = f"{file.folder}/"
    said = _OUR_FRAMES.sub("", found.feedback)  # an evaluator that catches an exception tells its own traceback
    found = replace(found, feedback=said.replace(here, ""), failure=found.failure.replace(here, ""))
    if found.steps:
        return found
    if steps := recorder.steps:
        return replace(found, steps=steps, traced=recorder.traced)
    return replace(found, steps=metric_steps(found.metrics), traced=METRICS)


def _printed() -> str:
    return _SAID.read_text(errors="replace")[-_SHOWN:]


def _write_program(source: str, file: EvaluatorFile) -> Path:
    """Write a program's files below /tmp; return the path of its file, or of the folder if there are several."""
    folder, files = Path("/tmp/program"), separate_files(source)
    for path, text in files.items():
        place = folder / (path or f"program{file.suffix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder / f"program{file.suffix}" if "" in files else folder


@contextlib.contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Redirect standard output and error, also of child processes, to a file; this is not undone on leaving."""
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    yield
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a program may have put anything in its place: else its result is lost
            stream.flush()


def _error_text(error: BaseException) -> str:
    said = str(error) or ("it asked for more memory than `memory_mb` allows" if isinstance(error, MemoryError) else "")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _traceback(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error)
    ours = "<frozen ", str(Path(__file__).parent)
    theirs = [each for each in told.stack if not each.filename.startswith(ours)]
    told.stack = traceback.StackSummary.from_list(theirs)
    return "".join(told.format())[-_SHOWN:]


# The lines of a printed traceback on a frame of this folder, such as that of a watched call.
_OUR_FRAMES = re.compile(rf'^  File "{re.escape(str(Path(__file__).parent))}/.*\n(?:    .*(?:\n|\Z))*', re.MULTILINE)


# Evaluates programs by an evaluator in the sandbox. The score is self-reported: the evaluator's own, unchecked.


# Address ("module:function") of what the sandbox calls to load an evaluator.
LOADER = "behavesim.evaluators.evaluation:load"
# The same for a judge of answers.
JUDGE_LOADER = "behavesim.evaluators.evaluation:load_judge"
# Name of the metric that holds the number of the stage at which a program stopped, since its score was too low.
STOPPED = "stopped_at_stage"
_JOURNALS = ("run.db", "*/run.db", "*/*/run.db", "*/*/*/run.db")


def evaluator_pool(
    file: EvaluatorFile,
    workers: int,
    limits: Limits,
    allow_weak_isolation: bool,
    clock: Heartbeat | None = None,
    wall: str = "",
    devices: tuple[str, ...] = (),
    loader: str = LOADER,
) -> TreePool:
    """Return the sandbox of an evaluator and its programs, not entered yet; it runs up to `workers` at once.

    With JUDGE_LOADER it is that of a judge of answers, in which no program runs.

    They can read the evaluator's folder, or its `root`, as it is when the sandbox starts, without the folders of runs
    in it. Entering raises UsageError if the isolation is below "strong+", unless `allow_weak_isolation`.
    """
    hidden = folders_of_runs(file)
    loaded = (loader, for_sandbox(file).to_json())
    given = (*loaded, workers, limits, [file.readable], hidden, allow_weak_isolation)
    return TreePool(*given, clock=clock, wall=wall, devices=devices)


def folders_of_runs(file: EvaluatorFile) -> set[Path]:
    """Return the paths that no program may read of what an evaluator can: runs, and the folders that hold runs."""
    # the folder of a first run does not exist yet; naming one keeps later entries of the folder out of reach, too
    folders = {file.readable, file.folder}
    return {each / "runs" for each in folders} | {path for each in folders for path in runs_in(each)}


def runs_in(folder: Path) -> Iterator[Path]:
    """Yield the paths of the runs in an evaluator's folder, three levels down at most, to hide them from programs."""
    for journal in chain.from_iterable(map(folder.glob, _JOURNALS)):
        if journal.parent == folder:
            yield from folder.glob("run.db*")
        else:
            yield journal.parent if journal.parent.parent == folder else journal.parent.parent


# Smallest CPU time of a program that counts (s), where speed is the score: differences below it are noise.
_LEAST_S = 0.002


class EvaluatorJudge:
    """Evaluates programs by running an evaluator together with each in `pool`, which it enters and leaves.

    If the file's convention is one of JUDGED_APART, programs only answer in `pool`; `referee`, which is entered and
    left, too, judges their answers. The module `doubt` says what becomes of scores beyond the file's `bound` or
    `best_known`; `tell` gets a line for each that is further beyond `best_known` than those before. `instances` are the
    numbers that a numbered evaluator gets: programs are evaluated on each of them, or of a block, one by one.
    """

    def __init__(
        self,
        pool: Sandbox,
        file: EvaluatorFile | None = None,
        tell: Callable[[str], None] = on_stderr,
        referee: Sandbox | None = None,
        instances: Sequence[int] = (),
    ) -> None:
        self._pool, self._file, self._tell, self._referee, self._instances = pool, file, tell, referee, instances
        self._variables: dict[str, str] = {}  # of the environment in which programs run
        self._idle_s = self._reference_s = 0.0  # CPU seconds that are no program's own, and of the reference with them
        self._told = 0.0  # the highest leap that was told
        self.traced = ""
        """`Result.traced` of the last program whose result could be read; "" before the first."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as entered:
            await entered.enter_async_context(self._pool)
            if self._referee is not None:
                await entered.enter_async_context(self._referee)
                await self._prepare_timing(self._referee)
            self._entered = entered.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._entered.aclose()

    async def _prepare_timing(self, referee: Sandbox) -> None:
        """Ask the judge for what programs are told, and time the reference and what is nobody's, if speed counts."""
        if self._file is None or self._file.convention != "algotune":
            return
        from behavesim.evaluators.conventions.algotune import IDLE, REFERENCE  # imported late: it loads numpy

        asked = await referee.send(json.dumps(["", 0.0]))
        if isinstance(asked, Failure):
            raise TaskError(f"the evaluator {self._file.evaluator} cannot make its problems: {asked.message}")
        told = {name: value for name, value in Result.decoded(asked.data).metrics.items() if isinstance(value, float)}
        self._variables = {name: f"{value:.0f}" for name, value in told.items()}
        self._idle_s = await self._least_s(IDLE, self._variables)
        self._reference_s = await self._least_s(IDLE, {**self._variables, REFERENCE: "1"})

    async def _least_s(self, source: str, variables: Mapping[str, str]) -> float:
        return min([(await self._pool.send(with_variables(source, variables))).cpu_s for _ in range(2)])

    def _speed(self, cpu_s: float) -> float:
        """Return the speed of a program whose process took so many CPU seconds, as a multiple of the reference's."""
        return max(self._reference_s - self._idle_s, _LEAST_S) / max(cpu_s - self._idle_s, _LEAST_S)

    @property
    def behaviour(self) -> str:
        """A sentence for people: by what programs are compared. Ask only after an evaluation."""
        more = " Methods that compare behaviour have little to go by." if self.traced == METRICS else ""
        return f"Behaviour: {in_words(self.traced)}.{more}"

    @property
    def isolation(self) -> str:
        """The isolation level of evaluator and program; raises SandboxError if the pool is not entered."""
        return self._pool.isolation

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
        """Return the evaluator's verdict on a program's text, or a Failure.

        `postponed` is called each time that the program must run again because the machine may be the cause of its
        ending. Raises SandboxError if that is still in doubt after the last try, TaskError if the evaluator can no
        longer be loaded.
        """
        if block is not None:  # a best known score is of all instances
            return await self._measure_each(source, postponed, block)
        measure = self._measure_each if self._instances else self._measure
        verdict, file = await measure(source, postponed), self._file
        if file is None or isinstance(verdict, Failure) or leap(verdict.score, file) is None:
            return verdict
        # an accident or a lucky draw would end the search: all later programs would seem worse
        again = await measure(source, postponed)
        # one line for each new height: the search may stay up there for hundreds of programs
        fraction = leap(verdict.score, file) or 0.0
        if fraction > self._told:
            self._told = fraction
            self._tell(leap_in_words(verdict, again, file))
        return confirm(verdict, again, file)

    async def _measure_each(self, source: str, postponed: Postponed, block: Block | None = None) -> Verdict | Failure:
        """Return the verdict on all instances, or the first failure; each has the limits of a whole evaluation."""
        first, step = self._instances[0], self._instances[1] - self._instances[0]
        places = range(len(self._instances)) if block is None else range(block.first, block.first + block.size)
        numbers = [first + step * place for place in places]
        found = await asyncio.gather(*(self._measure(source, postponed, {INSTANCE: str(number)}) for number in numbers))
        cpu_s = sum(each.cpu_s for each in found)
        good = [each for each in found if isinstance(each, Verdict)]
        if failed := next((each for each in found if isinstance(each, Failure)), None):
            return replace(failed, cpu_s=cpu_s)
        scores = tuple(each.score for each in good)
        steps = tuple(trajectory for each in good for trajectory in each.trajectories)
        metrics = mean_metrics([each.metrics for each in good])
        return Verdict(fmean(scores), scores, steps, cpu_s, metrics, good[0].feedback, cpu_s)

    async def _measure(
        self, source: str, postponed: Postponed, more: Mapping[str, str] | None = None
    ) -> Verdict | Failure:
        sent = await self._pool.send(with_variables(source, {**self._variables, **(more or {})}), postponed)
        if isinstance(sent, Failure):
            return sent
        found, cpu_s = _decode(sent.data), sent.cpu_s
        # only the answer of a program counts then: it could send a score, too
        if self._referee is not None and not isinstance(found, Failure) and not found.failure:
            judged = await self._referee.send(json.dumps([found.answer, self._speed(sent.cpu_s)]), postponed)
            if isinstance(judged, Failure):
                return replace(judged, message=f"its answer could not be judged: {judged.message}"[:500], cpu_s=cpu_s)
            found, cpu_s = _decode(judged.data), cpu_s + judged.cpu_s
        if isinstance(found, Failure):
            return replace(found, cpu_s=cpu_s)
        self.traced = found.traced
        verdict = verdict_of(found, cpu_s)
        return verdict if self._file is None or isinstance(verdict, Failure) else refuse_impossible(verdict, self._file)


def _decode(data: bytes) -> Result | Failure:
    # a program can share the process and send anything: nothing here may run code or raise
    try:
        return Result.decoded(data)
    except ValueError as error:
        return Failure("output", f"the evaluation sent no result that can be read: {one_line(str(error), 300)}")


def verdict_of(found: Result, cpu_s: float) -> Verdict | Failure:
    """Return an evaluation's Result as a Verdict, or a Failure; `cpu_s` is the CPU time of all its processes (s).

    A program that stopped at a stage has the score of that stage; its metric STOPPED says which one. A program of which
    the evaluator itself says that it failed, such as with an `error`, fails as "evaluator-error", any other as
    "evaluator".
    """
    if found.failure or found.score is None:
        said = found.failure[:500] or "the evaluator gave no score"
        return Failure(
            "evaluator-error" if found.is_stated else "evaluator", said, cpu_s, found.metrics, found.feedback
        )
    behaviour = Trajectory.prefixes(list(found.steps or (0,)))
    metrics = {STOPPED: float(found.stage), **found.metrics} if found.stage else found.metrics
    return Verdict(found.score, (found.score,), (behaviour,), cpu_s, metrics, found.feedback, cpu_s)
