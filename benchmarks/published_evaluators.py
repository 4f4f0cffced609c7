"""Runs a folder of published evaluators, unchanged, and prints a row for each: does it start, and with which score?

`python -m benchmarks.published_evaluators FOLDER [--budget 3] [--seconds 120] [--only TEXT] [--own PYTHON]`
walks a folder that you have, such as a checkout of OpenEvolve. Each Python file that `--evaluator` would take, and that
has a first program, is run with the offline proposer. It fetches nothing. Packages that evaluators import must be
installed beside behavesim, and are named if they are not.

With `--own`, each first program is scored by the project itself, too: by its own code, outside any sandbox, in a Python
that has its packages. So give it for folders alone that you trust.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.templates import BY_FILES, metric_of_codeevolve
from behavesim.task.evaluated import Convention

# Names of evaluators' files, without suffix, and of first programs. Others are mostly no evaluators.
EVALUATORS = ("evaluator", "evaluate", "eval", "evaluation", "prob", "problem", "evaluator_stub", "validate")
FIRST = ("initial_program", "initial", "init_program")
# Conventions without a first program of their own beside them.
_WITH_OWN = ("llm4ad", "eoh", *BY_FILES)
# Relative difference up to which two scores are equal: sums may have another order.
_EQUAL = 1e-9
# Code that prints the project's own score of a program, as JSON; its arguments are the evaluator and the program.
_OWN: Mapping[Convention, str] = {
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
    "eoh": """
import json, os, sys, types
import numpy as np
evaluator, program = sys.argv[1:3]
path, _, name = evaluator.rpartition(":")
sys.path.insert(0, os.path.dirname(path))
module = __import__(os.path.basename(path)[:-3])
text = open(program).read()
names = {"np": np}
exec(text, names)
function = [each for each in names.values() if callable(each) and getattr(each, "__module__", "") == "builtins"][-1]
print(json.dumps(float(getattr(module, name)().evaluate_program(text, function))))
""",
}


@dataclass(frozen=True)
class Row:
    """What came of one evaluator; `own` is the project's own score of the first program, None if it was not asked."""

    problem: str
    convention: str
    command: str
    starts: bool
    why: str = ""  # why it does not start
    score: float | None = None  # of the first program
    own: float | None = None
    feasible: int = 0
    errors: int = 0  # programs that failed in the evaluator, or of which it states an error
    improved: bool = False
    behaviour: str = ""

    @property
    def is_equal(self) -> bool | None:
        """Whether both scores are equal; None if one is not known."""
        if self.score is None or self.own is None:
            return None
        return math.isclose(self.score, self.own, rel_tol=_EQUAL, abs_tol=_EQUAL)


def evaluators_in(folder: Path) -> Iterator[tuple[Convention, Path, Path | None]]:
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
    convention: Convention, path: Path, program: Path | None, given: argparse.Namespace, repository: Path
) -> Row:
    """Run one evaluator in its folder, as a person would, and return what came of it."""
    # ReEvo's and the authors' import from their repository's root
    options = ["--evaluator", path.name]
    options += [] if program is None else ["--program", os.path.relpath(program, path.parent)]
    name = str(path.parent.relative_to(given.folder))
    shown = f"behavesim run {' '.join(options)}"
    with tempfile.TemporaryDirectory(dir=given.folder.parent) as runs:
        more = ("--budget", str(given.budget), "--proposer", "genetic", "--runs-dir", runs, "--name", "first", "--json")
        command = [str(Path(sys.executable).parent / "behavesim"), "run", *options, *more, "--set", "recommend=false"]
        try:
            done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=given.seconds)
        except subprocess.TimeoutExpired:
            return Row(name, convention, shown, False, f"not done after {given.seconds} s")
        try:
            said: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            last = done.stderr.strip().splitlines()
            return Row(name, convention, shown, False, last[-1].removeprefix("behavesim: ") if last else "no output")
        first = Path(runs) / "first/template.py"
        template = program or next(iter((Path(runs) / ".evaluators").rglob("template.py")), first)
        own = own_score(convention, path, template, given, repository)
    score, rejected = said["template"]["score"], said["rejected"]
    errors = sum(count for reason, count in rejected.items() if reason in ("evaluator", "evaluator-error"))
    best = said["best"]
    improved = best is not None and best["candidate"] >= 0 and best["score"] != score
    return Row(
        *(name, convention, shown, True, "", score, own, said["feasible"], errors, improved),
        said.get("behaviour") or "",
    )


def own_score(
    convention: Convention, path: Path, program: Path, given: argparse.Namespace, repository: Path
) -> float | None:
    """Return the score that the project's own code gives the first program; None if that was not asked, or fails."""
    if given.own is None or convention not in _OWN or not program.is_file():
        return None
    place = str(path) if convention != "eoh" else convention_of(str(path))[1]
    paths = [repository, repository / "eoh/src", repository / "src"]
    environment = {**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "MPLBACKEND": "agg"}
    metric = metric_of_codeevolve(path) if convention == "codeevolve" else ""
    command = [given.own, "-c", _OWN[convention], place, str(program.resolve()), metric]
    try:
        done = subprocess.run(
            command, cwd=path.parent, capture_output=True, text=True, timeout=given.seconds, env=environment
        )
        return float(done.stdout.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def main() -> None:
    """Run what the command line says, and print a table and its sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--budget", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0, help="most seconds for one evaluator")
    parser.add_argument("--only", default="", help="evaluators whose path has this text")
    parser.add_argument("--most", type=int, default=1000, help="most evaluators of the folder that are run")
    parser.add_argument("--own", help="a Python with the projects' packages, to compare scores")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    given = parser.parse_args()
    rows: list[Row] = []
    found = [each for each in evaluators_in(given.folder) if given.only in str(each[1])]
    for convention, path, program in found[: given.most]:
        row = try_evaluator(convention, path, program, given, given.folder)
        rows.append(row)
        equal = {None: "-", True: "equal", False: f"{row.score!r}, own {row.own!r}"}[row.is_equal]
        told = f"{row.feasible} feasible, {row.errors} errors, {'better' if row.improved else 'not better'}"
        ending = f"{equal} | {told} | {row.behaviour}" if row.starts else row.why
        print(f"| {row.problem} | {row.command} | {'yes' if row.starts else 'no'} | {ending} |", flush=True)
        if given.json:
            given.json.write_text(json.dumps([asdict(each) for each in rows], indent=1))
    for convention, count in Counter(row.convention for row in rows).items():
        of = [row for row in rows if row.convention == convention]
        compared = [row.is_equal for row in of if row.is_equal is not None]
        print(
            f"{convention}: {sum(row.starts for row in of)} of {count} start; {sum(compared)} of {len(compared)} equal"
        )


if __name__ == "__main__":
    main()
