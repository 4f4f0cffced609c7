"""ReEvo's and MCTS-AHD's convention: a script `eval.py` imports the program as `gpt`, and prints a number last."""

from __future__ import annotations

import contextlib
import importlib
import re
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from behavesim.base.text import last_line, parse, read_text_file
from behavesim.evaluators.conventions import Convention, Description, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.needs import imports_of
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.tracing import watch_module

_FOLDER = Path("/tmp/problem")
# What a program may use without an import, as there.
_ASSUMED = (("np", "import numpy as np\n"), ("torch", "import torch\n"))


class Reevo(Convention):
    """Texts on a problem stand elsewhere in its repository, with a version of the function as a first program."""

    called_as = "ReEvo runs scripts"
    shape = "a script that imports `gpt` and prints a number last"
    example = "--evaluator problems/tsp_aco/eval.py"
    has_program = True

    def finds(self, source: Source) -> bool:
        """Whether the module `gpt` is imported, to which ReEvo and MCTS-AHD write each program."""
        return "gpt" in imports_of(source.tree)

    def decides(self, place: str) -> Mapping[str, Any]:
        """Settings say which scores are better, and the repository's folder has prompts and settings."""
        is_minimised = _settings(Path(place)).get("obj_type", "min") == "min"
        return {"direction": "minimise" if is_minimised else "maximise", "root": str(_root(Path(place)))}

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Read the seed function, as its second version, and what is said of it."""
        script = Path(file.evaluator)
        prompts = _root(script) / "prompts" / _problem(script)
        seed, about = prompts / "seed_func.txt", prompts / "func_desc.txt"
        template = read_text_file(seed, "program") if seed.is_file() else ""
        # functions have versions there: an evaluator imports the second
        template = re.sub(r"\b(def \w+)_v1\b", r"\1_v2", template)
        said = _settings(script).get("description", ""), read_text_file(about, "text") if about.is_file() else ""
        return Description(template, self.last_function(file, template), "\n".join(filter(None, said)))

    def load(self, file: EvaluatorFile) -> Run:
        """Import what the script imports; return a function that runs it on a program, with the arguments of ReEvo."""
        script = Path(file.evaluator)
        beside = {path.stem for path in script.parent.iterdir()}
        for name in imports_of(parse(script.read_text())) - {"gpt"} - beside:
            with contextlib.suppress(ImportError):  # the script says it, if it needs it
                importlib.import_module(name)
        size = _settings(script).get("problem_size", "50")

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


def _root(script: Path) -> Path:
    return script.parents[2]


def _problem(script: Path) -> str:
    return script.parent.name + ("_black_box" if script.stem.endswith("_black_box") else "")


def _settings(script: Path) -> Mapping[str, str]:
    """Return the settings of the problem whose script this is, by name; {} if its repository has none."""
    path = _root(script) / "cfg/problem" / f"{_problem(script)}.yaml"
    if not path.is_file():
        return {}
    lines = re.findall(r"^(\w+):[ \t]*(.+?)[ \t]*(?:[ \t]#.*)?$", read_text_file(path, "settings"), re.MULTILINE)
    return dict(lines)


reevo = Reevo()
