"""ReEvo's and MCTS-AHD's convention: a script `eval.py` imports the program as `gpt`, and prints a number last."""

from __future__ import annotations

import contextlib
import importlib
import runpy
import sys
from pathlib import Path

from behavesim.base.text import last_line, parse
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.needs import imports_of
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.templates import settings_of_reevo
from behavesim.evaluators.tracing import Recorder, Result, watch_module
from behavesim.task.evaluated import EvaluatorFile

_FOLDER = Path("/tmp/problem")
# What a program may use without an import, as there.
_ASSUMED = (("np", "import numpy as np\n"), ("torch", "import torch\n"))


def load(file: EvaluatorFile) -> Run:
    """Import what the script imports, and return a function that runs it on a program, with the arguments of ReEvo."""
    script = Path(file.evaluator)
    beside = {path.stem for path in script.parent.iterdir()}
    for name in imports_of(parse(script.read_text())) - {"gpt"} - beside:
        with contextlib.suppress(ImportError):  # the script says it, if it needs it
            importlib.import_module(name)
    size = settings_of_reevo(script).get("problem_size", "50")

    def run(program: Path, recorder: Recorder) -> Result:
        _FOLDER.mkdir()
        sys.path.insert(0, str(_FOLDER))
        # it writes data sets beside itself, and its folder is read-only: a folder of links stands in for that
        for path in script.parent.iterdir():
            if path.name != "gpt.py":
                (_FOLDER / path.name).symlink_to(path)
        source = program.read_text()
        assumed = "".join(line for word, line in _ASSUMED if word in source and line not in source)
        (_FOLDER / "gpt.py").write_text(assumed + source)
        watch_module(_FOLDER / "gpt.py", recorder)
        said = Path("/tmp/printed")
        sys.argv = [str(_FOLDER / script.name), size, file.root or str(script.parent), "train"]
        with said.open("w") as printed, contextlib.redirect_stdout(printed):
            runpy.run_path(sys.argv[0], run_name="__main__")
        last = last_line(said.read_text())
        try:
            return combine_scores([float(last)])
        except ValueError:
            return Result(None, failure=f"the script's last line must be a number, not {last!r:.80}")

    return run
