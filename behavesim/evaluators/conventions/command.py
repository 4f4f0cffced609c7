"""Any command as an evaluator: it gets a program's path, and writes a number or JSON to standard output."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from behavesim.base.text import last_line
from behavesim.evaluators.conventions import Convention, EvaluatorFile, Recorder, Result, Run
from behavesim.evaluators.modules import tool_path
from behavesim.evaluators.scores import judged, misread_score, stated_error
from behavesim.evaluators.tracing import MOST_STEPS, fingerprint, numbers
from behavesim.task.evaluated import INSTANCE

# Name of the JSON file that a command may write into the folder `{output}`: a list with an entry for each step of the
# program, which becomes its behaviour.
TRAJECTORY = "trajectory.json"
_SAID = 4_000
# Finds lines such as "val_bpb: 0.9979".
_LINE = re.compile(r"^(\w+):[ \t]+([-+.\deE]+|nan|inf|-inf)[ \t]*$", re.MULTILINE)


class Command(Convention):
    """It runs in the folder where a person named it, and may be of any language."""

    called_as = "a command"
    shape = "a command with {program}, which prints a number or JSON last"
    example = "--evaluator command:'./judge.sh {program}' --program initial.cpp"
    judged_by = "judge_by_command"

    def decides(self, place: str) -> Mapping[str, Any]:
        """The current folder is where it runs, and has the task's name."""
        return {"runs_in": str(Path.cwd()), "name": Path.cwd().name}

    def scripts(self, file: EvaluatorFile) -> list[Path]:
        """Return the Python files among its words."""
        return [path.resolve() for path in _files(file, r"[\w./-]+\.py\b")]

    def takes_number(self, file: EvaluatorFile) -> bool:
        """Whether it, or a file among its words, speaks of INSTANCE."""
        texts = (path.read_text(errors="replace") for path in _files(file, r"[\w./-]+\.\w+"))
        return any(INSTANCE in text for text in (file.evaluator, *texts))

    def load(self, file: EvaluatorFile) -> Run:
        """Return a function that runs the evaluator's command on a program, in a shell and in `file.folder`.

        `{program}` in the command is replaced by the program's path, `{output}` by that of an empty folder. The
        function raises ValueError for a file TRAJECTORY without a list of steps.
        """

        def run(program: Path, recorder: Recorder) -> Result:
            output = Path("/tmp/results")
            output.mkdir()
            found = result_of(file.evaluator, file.folder, program, output, file.metric)
            trajectory = output / TRAJECTORY
            return replace(found, steps=_steps(trajectory), traced=TRAJECTORY) if trajectory.is_file() else found

        return run


def _files(file: EvaluatorFile, words: str) -> list[Path]:
    named = [file.folder / word for word in re.findall(words, file.evaluator)]
    return [path for path in named if path.is_file()]


def result_of(command: str, folder: Path, program: Path, output: Path, metric: str = "") -> Result:
    """Run a command in a folder, on a program, and return the result in what it printed; `output` is an empty folder.

    `metric` names the number that is the score (`choose_score`). A status other than 0 is a failure.
    """
    places = {"{program}": shlex.quote(str(program)), "{output}": shlex.quote(str(output))}
    for name, place in places.items():
        command = command.replace(name, place)
    environment = {**os.environ, "PATH": tool_path()}
    # no text mode: a program that writes no UTF-8 must not fail
    done = subprocess.run(
        command, shell=True, capture_output=True, stdin=subprocess.DEVNULL, cwd=folder, env=environment
    )
    said, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if not done.returncode:
        return _result(said, errors, metric)
    why = last_line(errors) or last_line(said)
    left = f"the command left with status {done.returncode}" + (f": {why}" if why else "")
    return Result(None, feedback=f"{said[-_SAID:]}\n{errors[-_SAID:]}".strip(), failure=left)


def _result(output: str, errors: str, metric: str) -> Result:
    """Return the result in a command's output: a JSON object or number, all of it or its last line; else a failure."""
    # a command may print its progress first: then the last line is what counts
    for text in (output, last_line(output)):
        try:
            said = json.loads(text)
        except ValueError:
            continue
        if isinstance(said, dict):
            return _of_object(said, metric)
        if isinstance(said, int | float) and not isinstance(said, bool):
            return _of_object({"score": said})
    # a summary in lines, as training scripts print it; a name says which of the numbers is the score
    if metric and (said := dict(_LINE.findall(output))).get(metric) is not None:
        return _of_object({name: float(value) for name, value in said.items()}, metric)
    try:
        return _of_object({"score": float(last_line(output))})  # a number that is no JSON, such as +1 or .5
    except ValueError:
        feedback = f"{output[-_SAID:]}\n{errors[-_SAID:]}".strip()
        return Result(None, feedback=feedback, failure="the command's last line must be a number or JSON")


def _of_object(said: dict[str, Any], metric: str = "") -> Result:
    """Return the Result of a JSON object; values in its object `metrics` count as its own, and texts are feedback."""
    flat = {**said, **(said["metrics"] if isinstance(said.get("metrics"), dict) else {})}
    flat.pop("metrics", None)
    flags = ("valid", "correct", "error")
    known = numbers({name: value for name, value in flat.items() if name not in flags})
    others = {name: value for name, value in flat.items() if name not in (*known, *flags)}
    feedback = "\n".join(str(value) if name == "feedback" else f"{name}: {value}" for name, value in others.items())
    words = stated_error(flat) or str(flat.get("error") or "")
    if not words and not metric and (misread := misread_score(flat, known)):
        return Result(None, known, feedback, misread)
    # here `score` comes first: a command has no convention that gives both a meaning
    return judged(known, feedback, words, metric or ("score" if "score" in known else ""))


def _steps(path: Path) -> tuple[int, ...]:
    found = json.loads(path.read_text())
    if not isinstance(found, list) or not found:
        raise ValueError(f"{TRAJECTORY} must hold a list with an entry for each step")
    return tuple(map(fingerprint, found[:MOST_STEPS]))


command = Command()
