"""GEPA's convention: `evaluator(candidate[, example])` gets the program's text, and returns a score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Convention, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.modules import function_taking, module_of, numbered_arguments, value_in
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.source import parameters_of

# Name of the first parameter by which the function is found, and names of the list of examples beside it.
_CANDIDATE = "candidate"
_EXAMPLES = ("dataset", "trainset", "DATASET", "TRAINSET")


class Gepa(Convention):
    """Text of any kind is a program; an evaluator may return a score, or a pair of a score and infos."""

    called_as = "GEPA calls evaluators"
    shape = "a file with a function whose first parameter is `candidate`"
    example = "--evaluator evaluator.py --program seed.py"
    called = "evaluat"

    def finds(self, source: Source) -> bool:
        """Whether a function's first parameter is `candidate`."""
        return any(parameters_of(each)[:1] == [_CANDIDATE] for each in source.functions.values())

    def load(self, file: EvaluatorFile) -> Run:
        """Import the evaluator's file; return a function that calls its evaluator on a program's text.

        If the file has a list `dataset` or `trainset`, it is called on each example, and the score is the mean. Raises
        TaskError if the file cannot be imported or has no such function.
        """
        module = module_of(file.evaluator)
        said = "has no function `evaluate(candidate)`; write it, or name another file"
        evaluator, examples = function_taking(module, _CANDIDATE, "evaluat(e|or)", said), value_in(module, *_EXAMPLES)
        if examples is not None and not len(examples):
            raise TaskError(f"{module.__file__} has an empty data set; fill it, or leave it out")
        seed = getattr(module, "seed_candidate", None)

        def run(program: Path, recorder: Recorder) -> Result:
            text = program.read_text()
            # a candidate of named texts has one text here: a program
            candidate = {next(iter(seed)): text} if isinstance(seed, Mapping) and len(seed) == 1 else text
            more, given = numbered_arguments(evaluator), [()] if examples is None else [(each,) for each in examples]
            return combine_scores([evaluator(candidate, *example, **more) for example in given], file.metric)

        return run


gepa = Gepa()
