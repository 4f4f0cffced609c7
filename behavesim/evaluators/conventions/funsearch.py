"""FunSearch's convention: in a specification, `@funsearch.run` scores the function that `@funsearch.evolve` marks."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from behavesim.base.errors import TaskError, UsageError
from behavesim.evaluators.conventions import Convention, Description, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.modules import loading, value_in
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.source import annotation_of

# Names of the list of inputs in a specification, and of the JSON file beside it.
_INPUTS = ("inputs", "INPUTS", "dataset", "DATASET")
_BESIDE = "inputs.json"


class FunSearch(Convention):
    """The specification has the first program in it, and a program's function takes its place."""

    called_as = "FunSearch runs specifications"
    shape = "a file with the marks `@funsearch.run` and `@funsearch.evolve`"
    example = "--evaluator specification.py"
    has_program = True

    def finds(self, source: Source) -> bool:
        """Whether a function is marked to be run."""
        return any(_mark(function) == "run" for function in source.functions.values())

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Read the first program: the function marked to evolve, below the imports."""
        source = Source(file.evaluator)
        evolved, scored = _marked(source, "evolve"), _marked(source, "run")
        imports = [ast.unparse(node) for node in source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        lines = source.text.splitlines()[evolved.lineno - 1 : evolved.end_lineno]
        said = filter(None, (ast.get_docstring(node) for node in (source.tree, scored)))
        head = "\n".join(name for name in imports if name != "import funsearch")
        return Description("\n".join([head, "", "", *lines, ""]).lstrip("\n"), evolved.name, "\n\n".join(said))

    def load(self, file: EvaluatorFile) -> Run:
        """Execute the specification; return what puts a program's function into it, and calls the marked one on inputs.

        Inputs are a list `inputs` in the file, or an `inputs.json` beside it; the score is the mean. Raises TaskError
        if the specification cannot be executed or has no inputs.
        """
        source = Source(file.evaluator)
        scored, evolved = _marked(source, "run"), _marked(source, "evolve")
        returns = annotation_of(source.text, evolved.name)
        module = _execute(source)
        inputs = _inputs(module, source.path) if scored.args.args else [()]

        def run(program: Path, recorder: Recorder) -> Result:
            # among the specification's names: the function may call what stands beside it there
            exec(compile(program.read_text(), str(program), "exec"), vars(module))
            setattr(module, evolved.name, recorder.watching(getattr(module, evolved.name), returns))
            return combine_scores([getattr(module, scored.name)(*given) for given in inputs])

        return run


def _mark(function: ast.FunctionDef) -> str:
    """Return the name of FunSearch's decorator on a function, "run" or "evolve"; "" if it has none."""
    named = (ast.unparse(each).partition(".") for each in function.decorator_list)
    return next((name for module, _, name in named if module == "funsearch"), "")


def _marked(source: Source, mark: str) -> ast.FunctionDef:
    """Return the one function of a specification with a decorator; raises UsageError if there is not just one."""
    found = [node for node in source.functions.values() if _mark(node) == mark]
    if len(found) != 1:
        raise UsageError(f"a specification marks one function with @funsearch.{mark}, and this marks {len(found)}")
    return found[0]


def _execute(source: Source) -> ModuleType:
    module = sys.modules["specification"] = ModuleType("specification")
    # the file uses these decorators without an import
    vars(module)["funsearch"] = SimpleNamespace(run=_as_it_is, evolve=_as_it_is)
    sys.path.insert(0, str(source.path.parent))
    with loading(source.place):
        exec(compile(source.text, source.place, "exec"), vars(module))
    return module


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _inputs(module: ModuleType, path: Path) -> list[tuple[Any]]:
    """Return the arguments of each call."""
    found, beside = value_in(module, *_INPUTS), path.parent / _BESIDE
    if found is None and beside.is_file():
        found = json.loads(beside.read_text())
    if not isinstance(found, Sequence) or not found:
        raise TaskError(f"{path} has no inputs to run on; add a line such as `inputs = [8]`, or {_BESIDE} beside it")
    return [(each,) for each in found]


funsearch = FunSearch()
