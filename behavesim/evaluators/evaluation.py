"""Evaluates one program inside the sandbox: writes it to a file, runs the evaluator on it, and returns the Result."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from behavesim.evaluators.conventions import Run
from behavesim.evaluators.result import LONGEST_FAILURE, Result, numbers
from behavesim.evaluators.steps import metric_steps
from behavesim.evaluators.tracing import METRICS, Recorder
from behavesim.task.evaluated import Convention, EvaluatorFile
from behavesim.task.files import separated

_LOADERS: Mapping[Convention, str] = {
    "openevolve": "openevolve",
    "shinka": "shinka",
    "llm4ad": "classes",
    "eoh": "classes",
    "command": "command",
}
"""For each convention, the module below `conventions` that loads an evaluator.

The others are not imported: the more memory a process has, the longer each fork of it takes.
"""
_SAID = Path("/tmp/said")
_SHOWN = 2_000
_REFUSED = re.compile(
    "Read-only file system|Permission denied|Operation not permitted|Connection refused|Network is unreachable"
    "|Name or service not known|Temporary failure in name resolution"
)
"""Finds the system's words for a write or a connection that the sandbox refuses."""
_ALLOWED = "in the sandbox, only files below /tmp can be written, and there is no network"


def load(given: str) -> Callable[[str], bytes]:
    """Load the evaluator of an EvaluatorFile in JSON; return a function from a program's text to its Result in JSON.

    It changes TMPDIR, HOME and the working directory of the process. Raises TaskError if the evaluator cannot be
    loaded, OSError if its folder is missing.
    """
    file = EvaluatorFile.from_json(given)
    os.environ["TMPDIR"] = os.environ["HOME"] = "/tmp"
    os.chdir(file.folder)
    module = importlib.import_module(f"behavesim.evaluators.conventions.{_LOADERS[file.convention]}")
    run: Run = module.load(file)
    if sys.version_info >= (3, 14):
        _fork_processes()
    # what a first result imports and caches is in all forks then
    Result(0.0, numbers({"score": 0.5}), "none", steps=metric_steps({"score": 0.5})).encoded()

    def evaluate(source: str) -> bytes:
        os.chdir(file.folder)  # the folder may have been replaced by an empty one of the same name
        return _evaluated(run, file, source).encoded()

    return evaluate


def _fork_processes() -> None:
    """Let the evaluator's processes be forks, as before Python 3.14, unless it has chosen how they begin.

    The new way begins them from a server: they lack the program's module, and so every function to call.
    """
    import multiprocessing  # only here: most evaluators make no processes

    if multiprocessing.get_start_method(allow_none=True) is None:
        multiprocessing.set_start_method("fork")


def _evaluated(run: Run, file: EvaluatorFile, source: str) -> Result:
    """Return the result of one evaluation; whatever evaluator and program raise is a failure in it."""
    recorder = Recorder()
    with _output_to(_SAID):
        try:
            found = run(_written(source, file), recorder)
        except BaseException as error:  # noqa: BLE001 - whatever evaluator and program raise is the result
            found = Result(None, feedback=_traceback(error), failure=_raised(error))
    if found.score is None and not found.feedback:
        found = replace(found, feedback=_SAID.read_text(errors="replace")[-_SHOWN:])
    if _REFUSED.search(found.failure):
        found = replace(found, failure=f"{found.failure[: LONGEST_FAILURE - len(_ALLOWED) - 2]}; {_ALLOWED}")
    # models are shown both, and where a person's files lie is nobody's business
    here = f"{file.folder}/"
    found = replace(found, feedback=found.feedback.replace(here, ""), failure=found.failure.replace(here, ""))
    if found.steps:
        return found
    if steps := recorder.steps:
        return replace(found, steps=steps, traced=recorder.traced)
    return replace(found, steps=metric_steps(found.metrics), traced=METRICS)


def _written(source: str, file: EvaluatorFile) -> Path:
    """Write a program's files below /tmp; return the path of its file, or of the folder if the text names its files."""
    folder, files = Path("/tmp/program"), separated(source)
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
        with contextlib.suppress(Exception):  # a program may have closed it, or put anything in its place
            stream.flush()


def _raised(error: BaseException) -> str:
    """Return an exception's type and message in words for people."""
    said = str(error) or ("it asked for more memory than `memory_mb` allows" if isinstance(error, MemoryError) else "")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _traceback(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list([each for each in told.stack if not _is_ours(each.filename)])
    return "".join(told.format())[-_SHOWN:]


def _is_ours(filename: str) -> bool:
    return filename.startswith(("<frozen ", str(Path(__file__).parent)))
