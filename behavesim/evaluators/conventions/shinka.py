"""ShinkaEvolve's convention: a script gets a program and a folder, and writes metrics.json and correct.json into it."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from behavesim.evaluators.conventions import Convention, EvaluatorFile, Recorder, Result, Run, Source, shinka_core
from behavesim.evaluators.modules import StandIns, import_as
from behavesim.evaluators.needs import is_installed
from behavesim.evaluators.scores import choose_score
from behavesim.evaluators.tracing import numbers, watch_module
from behavesim.task.score import PRIVATE

_SCORE = "combined_score"


class Shinka(Convention):
    """Scripts mostly call `run_shinka_eval`, of which `shinka_core` is our stand-in: it can do a run by its number."""

    called_as = "ShinkaEvolve calls evaluators"
    shape = "a script with the options --program_path and --results_dir"
    example = "--evaluator evaluate.py --program initial.py"
    judged_by = "judge_by_script"

    def finds(self, source: Source) -> bool:
        """Whether the text names both options."""
        return "--program_path" in source.text and "--results_dir" in source.text

    def _is_numbered(self, source: Source) -> bool:
        # where the package is installed, it does all runs
        return "num_runs" in source.text and not is_installed("shinka")

    def load(self, file: EvaluatorFile) -> Run:
        """Run the script's top-level imports once, and return a function that runs the script on a program.

        Raises TaskError, in one line, if the script cannot be read or an import fails.
        """
        install_stand_ins()
        import_as(file.evaluator)

        def run(program: Path, recorder: Recorder) -> Result:
            watch_module(program, recorder)
            results = Path("/tmp/results")
            results.mkdir()
            try:
                left = run_script(file.evaluator, str(program), str(results))
            except Exception:  # of the script, which may fail behind its results: else they are lost
                if not (results / "correct.json").is_file():
                    raise
                left = 1
            return result_in(results, left, file.metric)

        return run


def install_stand_ins() -> None:
    """Make importable what scripts import from ShinkaEvolve, where that package is not installed."""
    offered = {name: getattr(shinka_core, name) for name in shinka_core.__all__}
    StandIns({"shinka.core": offered, "shinka.core.wrap_eval": offered}).install()


def run_script(script: str, program: str, results: str) -> int:
    """Run a script in this process and return its exit code; raises what the script raises, except SystemExit."""
    sys.argv = [script, "--program_path", program, "--results_dir", results]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    return 0


def main() -> None:
    """Run the script that the command line names on a program and a folder for results, and leave with its code."""
    script, program, results = sys.argv[1:]
    install_stand_ins()
    sys.path.insert(0, str(Path(script).parent))
    sys.exit(run_script(script, program, results))


def result_in(results: Path, left: int, metric: str = "") -> Result:
    """Return the result in the files that a script wrote into a folder; `left` is its exit code.

    `metric` names the number that is the score; "" for `combined_score`.

    Raises ValueError if a file holds no JSON object.
    """
    return _result(_read(results / "metrics.json"), _read(results / "correct.json"), left, metric)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(errors="replace")) if path.is_file() else {}
    except ValueError as error:
        raise ValueError(f"the evaluator wrote a {path.name} that is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"the evaluator wrote a {path.name} that holds no object")
    return found


def _result(metrics: Mapping[str, Any], correct: Mapping[str, Any], left: int, metric: str) -> Result:
    # As in ShinkaEvolve, models see the score, public metrics and the text: all other metrics are named as private
    # ones.
    public, private = (each if isinstance(each := metrics.get(name), dict) else {} for name in ("public", "private"))
    other = {name: value for name, value in metrics.items() if name not in (_SCORE, "public", "private")} | private
    known = numbers({name: metrics[name] for name in (_SCORE,) if name in metrics} | public)
    known |= numbers({f"{PRIVATE}.{name}": value for name, value in other.items()})
    feedback = _feedback(metrics.get("text_feedback"), public, known)
    if not correct and not metrics:
        said = f" and left with status {left}" if left else ""
        return Result(None, failure=f"the evaluator wrote neither metrics.json nor correct.json{said}")
    # only the word of correct.json counts: a script can write a score for a program that broke a rule
    if correct.get("correct") is not True:
        said = str(correct.get("error") or "") or "the evaluator found it incorrect"
        if not correct:
            return Result(None, known, feedback, failure="the evaluator wrote no correct.json")
        return Result(None, known, feedback, said, is_stated=True)
    named = f"{PRIVATE}.{metric}"
    score, why = choose_score(known, named if named in known else metric or _SCORE)
    if why and not metric:
        why = f"metrics.json has no finite {_SCORE}"
    return Result(score, known, feedback, why)


def _feedback(text: Any, public: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    texts = [str(each) for each in (text if isinstance(text, list) else [text]) if each]
    others = (f"{name}: {value}" for name, value in public.items() if name not in known and value not in (None, [], {}))
    return "\n".join([*texts, *others])


shinka = Shinka()
