"""Runs a folder of published evaluators, unchanged, and tells of each: does it start, with which score, else why not?

`python -m benchmarks.published_evaluators FOLDER [--budget 2] [--seconds 120] [--only TEXT] [--own PYTHON] [--csv F]`
walks a folder that you have, such as a checkout of OpenEvolve. Each Python file that `--evaluator` would take, and that
has a first program, is run with the offline proposer. It starts if its first program gets a score. It fetches nothing.
Packages that evaluators import must be installed beside behavesim, and are named if they are not.

With `--own`, each first program is scored by the project itself, too: by its own code, outside any sandbox, in a Python
that has its packages. So give it for folders alone that you trust.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from behavesim.base.errors import UsageError
from behavesim.evaluators.conventions import convention_named
from behavesim.evaluators.detection import EVALUATORS, convention_of
from behavesim.sandbox.processes import CpuMeter, all_processes, with_descendants
from behavesim.task.evaluated import ConventionName

# Names of first programs, without suffix.
FIRST = ("initial_program", "initial", "init_program")
# Conventions without a first program of their own beside them.
_WITH_OWN = tuple(name for name in get_args(ConventionName) if convention_named(name).has_program)
# Relative difference up to which two scores are equal: sums may have another order.
_EQUAL = 1e-9
# Beginning of such code that imports an evaluator's file as `module`, where `name` is that of its class.
_LOAD = """
import importlib.util, json, os, sys
evaluator, program = sys.argv[1:3]
path, _, name = evaluator.rpartition(":")
sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location("evaluation", path)
module = sys.modules["evaluation"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""
# Code that prints the project's own score of a program, as JSON; its arguments are the evaluator and the program.
_OWN: Mapping[ConventionName, str] = {
    "openevolve": """
import asyncio, json, os, sys
from openevolve.config import Config, load_config
from openevolve.evaluator import Evaluator
from openevolve.utils.metrics_utils import safe_numeric_average
evaluator, program = sys.argv[1:3]
beside = os.path.join(os.path.dirname(evaluator), "config.yaml")
config = load_config(beside) if os.path.exists(beside) else Config()
text, suffix = open(program).read(), os.path.splitext(program)[1]
found = asyncio.run(Evaluator(config.evaluator, evaluator, suffix=suffix).evaluate_program(text, "first"))
print(json.dumps(found["combined_score"] if "combined_score" in found else safe_numeric_average(found)))
""",
    "shinka": """
import json, subprocess, sys, tempfile
folder = tempfile.mkdtemp()
command = [sys.executable, sys.argv[1], "--program_path", sys.argv[2], "--results_dir", folder]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
print(json.dumps(json.load(open(folder + "/metrics.json"))["combined_score"]))
""",
    "reevo": """
import os, re, runpy, shutil, sys, tempfile
evaluator, program = sys.argv[1:3]
root = os.path.dirname(os.path.dirname(os.path.dirname(evaluator)))
problem = os.path.basename(os.path.dirname(evaluator)) + ("_black_box" if "black_box" in evaluator else "")
size = re.search(r"^problem_size: *(\\S+)", open(f"{root}/cfg/problem/{problem}.yaml").read(), re.M)[1]
folder = tempfile.mkdtemp() + "/problem"
shutil.copytree(os.path.dirname(evaluator), folder)
text = open(program).read()
head = "".join(line for word, line in (("np", "import numpy as np\\n"), ("torch", "import torch\\n")) if word in text)
open(folder + "/gpt.py", "w").write(head + text)
sys.path[:0] = [folder, root]
sys.argv = [folder + "/" + os.path.basename(evaluator), size, root, "train"]
runpy.run_path(sys.argv[0], run_name="__main__")
""",
    "levi": """
import json, os, sys
evaluator, program = sys.argv[1:3]
sys.path.insert(0, os.path.dirname(evaluator))
import problem
names = {}
exec(open(program).read(), names)
function = [each for each in names.values() if getattr(each, "__module__", "") is None or callable(each)][-1]
given = [getattr(problem, each) for each in ("INPUTS", "ITEMS_LIST") if hasattr(problem, each)]
try:
    found = problem.score_fn(function, *given)
except TypeError:
    found = problem.score_fn(function)
print(json.dumps(found["score"]))
""",
    "codeevolve": """
import json, subprocess, sys, tempfile
results = tempfile.mkdtemp() + "/results.json"
subprocess.run([sys.executable, *sys.argv[1:3], results], check=True, stdout=subprocess.DEVNULL)
print(json.dumps(json.load(open(results))[sys.argv[3]]))
""",
    "llm4ad": f"""{_LOAD}
from llm4ad.base import SecureEvaluator
found = SecureEvaluator(getattr(module, name)()).evaluate_program(open(program).read())
print(json.dumps(float(found)))
""",
    "algodisco": f"""{_LOAD}
found = getattr(module, name)().evaluate_program(open(program).read())
print(json.dumps(float(found["score"] if isinstance(found, dict) else found)))
""",
    "eoh": """
import json, os, sys, types
import numpy as np
evaluator, program = sys.argv[1:3]
path, _, name = evaluator.rpartition(":")
sys.path.insert(0, os.path.dirname(path))
module = __import__(os.path.basename(path)[:-3])
text = open(program).read()
names = {"np": np, "__name__": "program"}
exec(text, names)
found = [each for each in names.values() if getattr(each, "__module__", "") == "program"]
function = next((each for each in found if isinstance(each, type)), found[-1])
print(json.dumps(float(getattr(module, name)().evaluate_program(text, function))))
""",
}


# Why an evaluator does not start, by words in the message; the first that is found counts.
_REASONS: Mapping[str, str] = {
    "another repository": r"AlgoTune",
    "a GPU": r"CUDA|cuda|triton|Metal|mlx|NVIDIA|No GPU",
    "a container": r"docker|podman",
    "a model's key": r"API_KEY|api_key|api key|credentials",
    "an environment variable": r"(?<!DATA_ROOT)=\.\.\. before the command",
    "network": r"no network|Connection|resolve|huggingface|HTTP|urlopen",
    "another language or tool": r"Required tool|executable not found|it runs|that tool|\b(cargo|Rscript)\b",
    "an older numpy": r"NumPy 2.0 release|'numpy' has no attribute",
    "a package": r"not installed|No module named|pip install",
    "data": r"DATA_ROOT is not set|No (configuration )?files|lack of data|No such file or directory|no instances",
    "a first program": r"no template program|add --program|is no Python|must hold between|empty",
    "time": r"not done after|timeout|CPU time",
}


# The same by what its own text imports, which counts first: without it, a later lack would not even be seen.
_BY_IMPORT: Mapping[str, str] = {
    "a model's key": r"import (dspy|openai|litellm)|from (dspy|openai|litellm)|LLMClient",
    "a GPU": r"import (triton|mlx)|from (triton|mlx|shared_eval)|kernelbench",
    "a container": r"(import|from) (ale_bench|frontier_cs|modal)|\"docker\"",
    "another language or tool": r"shinka.utils.wolfram",
}


@dataclass(frozen=True)
class Row:
    """What came of one evaluator; `own` is the project's own score of the first program, None if it was not asked."""

    problem: str
    convention: str
    command: str
    starts: bool
    reason: str = ""  # what it lacks if it does not start
    why: str = ""  # the message of behavesim, or what else there is to say
    score: float | None = None  # of the first program
    own: float | None = None
    feasible: int = 0
    errors: int = 0  # programs that failed in the evaluator, or of which it states an error
    improved: bool = False
    behaviour: str = ""

    @property
    def is_equal(self) -> bool | None:
        """Whether both scores are equal; None if one is not known, or the project's own is another each time (NaN)."""
        if self.score is None or self.own is None or math.isnan(self.own):
            return None
        return _are_equal(self.score, self.own)


def _are_equal(score: float, own: float) -> bool:
    return math.isclose(score, own, rel_tol=_EQUAL, abs_tol=_EQUAL)


def reason_of(message: str, source: str) -> str:
    """Return what an evaluator lacks, by its text or the message; "itself" if that is nothing that could be got."""
    by_import = next((reason for reason, words in _BY_IMPORT.items() if re.search(words, source)), "")
    return by_import or next((reason for reason, words in _REASONS.items() if re.search(words, message)), "itself")


def evaluators_in(folder: Path) -> Iterator[tuple[ConventionName, Path, Path | None]]:
    """Yield the convention of each evaluator below a folder, its file, and its first program, None for its own."""
    for path in sorted(folder.rglob("*.py")):
        if path.stem not in EVALUATORS and "AlgoTuneTasks" not in path.parts:
            continue
        try:
            convention, _ = convention_of(str(path))
        except UsageError:
            continue
        places = (path.parent, path.parent.parent, path.parent / "src", path.parent.parent / "src")
        found = [each for place in places for each in sorted(place.glob("*")) if each.stem in FIRST and each.is_file()]
        if found and convention not in _WITH_OWN:
            yield convention, path, found[0]
        elif convention in _WITH_OWN:
            yield convention, path, None


def try_evaluator(
    convention: ConventionName, path: Path, program: Path | None, given: argparse.Namespace, repository: Path
) -> Row:
    """Run one evaluator in its folder, as a person would, and return what came of it."""
    # ReEvo's and the authors' import from their repository's root
    options = ["--evaluator", path.name]
    options += [] if program is None else ["--program", os.path.relpath(program, path.parent)]
    row = Row(
        str(path.parent.relative_to(given.folder)), convention, f"behavesim run {' '.join(options)}", starts=False
    )
    with tempfile.TemporaryDirectory(dir=given.folder.parent) as runs:
        more = ("--budget", str(given.budget), "--proposer", "genetic", "--runs-dir", runs, "--name", "first", "--json")
        command = [str(Path(sys.executable).parent / "behavesim"), "run", *options, *more, "--set", "recommend=false"]
        said: dict[str, Any] = {}
        told: list[str] = []
        try:
            output, errors = run_within(command, path.parent, given.seconds)
            told = errors.strip().splitlines() or ["no output"]
            why = told[-1].removeprefix("behavesim: ")
            said = json.loads(output) if output.strip() else {}
        except subprocess.TimeoutExpired:
            why = f"not done after {given.seconds:g} s of CPU time"
        score = said["template"]["score"] if said else _first_score(Path(runs) / "first/run.db")
        if failed := next((line for line in told if "got 0 for everything" in line), ""):  # it caught its failure
            score, why = None, failed.removeprefix("behavesim: ")
        if score is None:
            return replace(row, reason=reason_of(why, path.read_text()), why=why)
        first = Path(runs) / "first/template.py"
        template = program or next(iter((Path(runs) / ".evaluators").rglob("template.py")), first)
        own = own_score(convention, path, template, given, repository)
        if own is not None and not _are_equal(score, own):
            # an evaluator that draws at random, or measures time, does not agree with itself
            again = own_score(convention, path, template, given, repository)
            own = own if again is not None and _are_equal(own, again) else math.nan
    row = replace(row, starts=True, score=score, own=own)
    if not said:  # a slow one: only the first program was scored in time
        return replace(row, why=why)
    rejected, best = said["rejected"], said["best"]
    return replace(
        row,
        feasible=said["feasible"],
        errors=sum(count for reason, count in rejected.items() if reason in ("evaluator", "evaluator-error")),
        improved=best is not None and best["candidate"] >= 0 and best["score"] != score,
        behaviour=said.get("behaviour") or "",
    )


def run_within(
    command: Sequence[str], folder: Path, seconds: float, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Return what a command prints to standard output and error; raises TimeoutExpired beyond so many CPU seconds.

    Its processes count together. A busy machine so changes nothing, and a command that sleeps has ten times as long.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors, env=environment)
        meter, ends = CpuMeter(), time.monotonic() + 10 * seconds
        while process.poll() is None:
            used_s = meter.read(with_descendants(process.pid, all_processes()))
            if used_s > seconds or time.monotonic() > ends:
                process.kill()
                process.wait()
                raise subprocess.TimeoutExpired(command, seconds)
            time.sleep(0.2)
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read()


def _first_score(journal: Path) -> float | None:
    """Return the score of the first program in a run's journal; None if it has none yet."""
    if not journal.is_file():
        return None
    with sqlite3.connect(journal) as connection:
        rows = connection.execute("SELECT payload FROM events WHERE type = 'Evaluated' AND candidate = -1").fetchall()
    return float(json.loads(rows[0][0])["score"]) if rows else None


def own_score(
    convention: ConventionName, path: Path, program: Path, given: argparse.Namespace, repository: Path
) -> float | None:
    """Return the score that the project's own code gives the first program; None if that was not asked, or fails."""
    if given.own is None or convention not in _OWN or not program.is_file():
        return None
    place = str(path) if convention != "eoh" else convention_of(str(path))[1]
    paths = [repository, repository / "eoh/src", repository / "src"]
    environment = {**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "MPLBACKEND": "agg"}
    metric = convention_named(convention).decides(str(path)).get("metric", "")
    command = [given.own, "-c", _OWN[convention], place, str(program.resolve()), metric]
    try:
        output, _ = run_within(command, path.parent, given.seconds, environment)
        return float(output.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def main() -> None:
    """Run what the command line says, and print a table and its sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--budget", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="most CPU seconds for one evaluator, all processes together"
    )
    parser.add_argument("--only", default="", help="evaluators whose path matches this regular expression")
    parser.add_argument("--step", type=int, default=1, help="run only each so many-th evaluator")
    parser.add_argument("--own", help="a Python with the projects' packages, to compare scores")
    parser.add_argument("--csv", type=Path, help="a file for the rows")
    given = parser.parse_args()
    rows: list[Row] = []
    found = [each for each in evaluators_in(given.folder) if re.search(given.only, str(each[1]))]
    for convention, path, program in found[:: given.step]:
        row = try_evaluator(convention, path, program, given, given.folder)
        rows.append(row)
        unknown = "varies" if row.own is not None and math.isnan(row.own) else "-"
        equal = {None: unknown, True: "equal", False: f"{row.score!r}, own {row.own!r}"}[row.is_equal]
        told = f"{row.feasible} feasible, {row.errors} errors, {'better' if row.improved else 'not better'}"
        ending = f"{equal} | {told} | {row.behaviour}{row.why}" if row.starts else f"{row.reason} | {row.why}"
        print(f"| {row.problem} | {row.command} | {'yes' if row.starts else 'no'} | {ending} |", flush=True)
        if given.csv:
            _write(given.csv, given.folder.name, rows)
    compared = [row.is_equal for row in rows if row.is_equal is not None]
    print(f"{sum(row.starts for row in rows)} of {len(rows)} start; {sum(compared)} of {len(compared)} scores equal")
    for reason, count in Counter(row.reason for row in rows if not row.starts).most_common():
        print(f"  {count} lack {reason}")


def _write(path: Path, project: str, rows: Sequence[Row]) -> None:
    """Write rows as CSV, each with the project and whether both scores are equal."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["project", *(field.name for field in fields(Row)), "equal"])
        for row in rows:
            writer.writerow([project, *asdict(row).values(), {None: "", True: "yes", False: "no"}[row.is_equal]])


if __name__ == "__main__":
    main()
