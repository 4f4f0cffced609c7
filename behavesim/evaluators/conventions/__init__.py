"""Ways in which projects call evaluators: all that is known of one stands in one class, derived from Convention.

It has words for people, the shape by which a file is found, the first program that an evaluator brings, and how it is
loaded in the sandbox. To add one, write a module here that ends in `NAME = …`, an object of the class, and add the name
to ORDER and to `ConventionName`, in task/evaluated.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from behavesim.evaluators.modules import NUMBERS
from behavesim.evaluators.source import Source, last_function, parameters_of
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import INSTANCE, ConventionName, EvaluatorFile, first_program

# What a convention's module is made of, with what this one defines.
__all__ = ["EvaluatorFile", "Recorder", "Result", "Source"]
# The conventions of files, in the order in which they are tried: the first whose shape a file has counts.
ORDER: tuple[ConventionName, ...] = (
    *("shinka", "funsearch", "reevo", "gepa", "llamea", "heurigym", "codeevolve", "openevolve"),
    *("algotune", "algodisco", "eoh", "llm4ad", "gigaevo", "levi"),
)
# The modules of those that stand beside another.
_SHARED = {"codeevolve": "openevolve", "algodisco": "classes", "eoh": "classes", "llm4ad": "classes"}

# Evaluates the program at a path, a file or a folder, and records the calls of its functions in the Recorder. It
# raises what evaluator or program raise.
Run = Callable[[Path, Recorder], Result]

# Judges an answer, the text that a `Run` left in `Result.answer`. The number is the speed of the program, as a multiple
# of the reference's, if the convention measures that.
Judge = Callable[[str, float], Result]


@dataclass(frozen=True)
class Description:
    """What an evaluator says of itself: a program to start from, the name that it calls, and the task in words.

    The program is blank if it has none.
    """

    template: str
    entry_point: str
    description: str


class Convention:
    """One way to call evaluators. What a class does not say holds for most of them."""

    called_as: str
    """How a message names it: an evaluator "is called as …"."""
    shape: str
    """By which shape an evaluator is found to follow it."""
    example: str
    """An example of the options."""
    is_of_classes = False
    """Whether an evaluator may be a class in a file, or of an installed module."""
    has_program = False
    """Whether evaluators bring a first program, so that `describe` can be called."""
    has_metrics = True
    """Whether an evaluator may give several numbers, so that a person can choose the score."""
    has_configuration = False
    """Whether a config.yaml beside the evaluator is OpenEvolve's."""
    averages = False
    """Whether the score is the mean where an evaluator gives several numbers."""
    called = ""
    """Beginning of the names of functions that may take the number of an instance by a parameter; "" for none."""
    judged_by = ""
    """The function of `rescore_file` or `rescore_class` that lets trusted code judge its programs; "" for none."""

    def finds(self, source: Source) -> bool:
        """Whether an evaluator has the shape of this convention, and of none before it in ORDER."""
        return False

    def decides(self, place: str) -> Mapping[str, Any]:
        """Return what an evaluator's place and files decide of the task's file: values by names of its fields."""
        return {}

    def scripts(self, file: EvaluatorFile) -> list[Path]:
        """Return the Python files of an evaluator that are known before it runs; none of an installed one."""
        path = file.evaluator_path
        return [path] if path and path.suffix == ".py" else []

    def takes_number(self, file: EvaluatorFile) -> bool:
        """Whether an evaluator takes the number of an instance: its text speaks of INSTANCE, or a parameter is one."""
        return any(INSTANCE in each.text or self._is_numbered(each) for each in map(Source, self.scripts(file)))

    def _is_numbered(self, source: Source) -> bool:
        called = [each for each in source.functions.values() if self.called and each.name.startswith(self.called)]
        return any(name in NUMBERS for each in called for name in parameters_of(each)[1:])

    def most_thresholds(self, place: str) -> int:
        """Return how many thresholds an evaluator uses: one for each stage but the last, one for a single stage."""
        return 0

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Return what an evaluator says of itself; raises UsageError or TaskError if it cannot be read or asked."""
        raise NotImplementedError

    def last_function(self, file: EvaluatorFile, template: str) -> str:
        """Return the name of the last function of the first program: the one that a person chose, else `template`."""
        return last_function(first_program(Path(file.program)) if file.program else template)

    def load(self, file: EvaluatorFile) -> Run:
        """Load an evaluator in the sandbox; raises TaskError, in one line, if that fails.

        If the convention is one of JUDGED_APART, the function returns what the program answers.
        """
        raise NotImplementedError

    def load_judge(self, file: EvaluatorFile) -> Judge:
        """Load what judges answers, in another process, for one of JUDGED_APART; raises TaskError as `load` does."""
        raise NotImplementedError


def convention_named(name: ConventionName) -> Convention:
    """Return the convention of a name."""
    # the modules of others are not imported: the more memory a process has, the longer each fork of it takes
    found: Convention = getattr(import_module(f"{__name__}.{_SHARED.get(name, name)}"), name)
    return found
