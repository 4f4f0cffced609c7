"""The two forms of a task's programs, a function or a whole text, and how each is read from a reply and hashed."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.base.errors import TaskError
from behavesim.programs.evolve_blocks import Frame
from behavesim.programs.extract import extract, extract_whole
from behavesim.programs.hashing import program_hash
from behavesim.programs.parsing import Parser
from behavesim.programs.reading import Program
from behavesim.programs.whole import WholeRequest, in_plain_form, refusal, whole_hash
from behavesim.task import Task
from behavesim.task.evaluated import Edits, EvaluatorTask
from behavesim.task.files import separated
from behavesim.task.verdict import Failure


@dataclass(frozen=True)
class FunctionForm:
    """Programs that define the function `entry_point` so that it can be called as the one in `template`.

    Names of positional parameters may differ, and further parameters may have defaults.
    """

    template: str
    entry_point: str

    def read(self, text: str, base: str, finish_reason: str | None = None, thought: bool = False) -> Program | Failure:
        """Return the program in a reply, as `extract` finds it, or why there is none; `base` is not used.

        `finish_reason` is the endpoint's word for why the reply ended, None if it gave none. If `thought`, the model's
        sentence about the program is returned too.
        """
        return extract(text, self.template, self.entry_point, finish_reason, thought)

    def hash(self, source: str) -> str:
        """Return the hash of a program's normal form, without layout, comments, docstrings and names of locals."""
        return program_hash(source)


@dataclass(frozen=True)
class WholeForm:
    """Whole texts: `initial` is the program that the search starts from, `suffix` names its language.

    The suffix is "" for a program of several files. `edits` says whether a model writes a program in full or as edits.
    Text outside EVOLVE-BLOCK markers of `initial` stays byte for byte.
    """

    initial: str
    suffix: str = ".py"
    edits: Edits = "full"

    def __post_init__(self) -> None:
        """Raise TaskError if the first program's markers are not in pairs, or its files have faulty paths."""
        try:
            for text in separated(self.initial).values():
                Frame.of(text)
        except ValueError as error:
            raise TaskError(f"the first program cannot be taken: {error}") from None

    def read(self, text: str, base: str, finish_reason: str | None = None, thought: bool = False) -> Program | Failure:
        """Return the program in a reply, as `extract_whole` finds it; edits apply to the program `base`."""
        return extract_whole(WholeRequest(text, base, self.initial, self.suffix, self.edits, finish_reason, thought))

    def hash(self, source: str) -> str:
        """Return the hash of a program's normal form for the suffix ".py" (see `program_hash`), else of its text.

        Trailing whitespace of the lines and of the text does not count.
        """
        return whole_hash(source, self.suffix)

    def refusal(self, source: str) -> Failure | None:
        """Return why a person's program cannot be evaluated; None if it can. Its text is checked, it does not run.

        It must not be too long, have the first program's files and text outside the markers, and compile if it is
        Python.
        """
        request = WholeRequest("", "", self.initial, self.suffix)
        plain = in_plain_form(source, self.initial)
        if isinstance(plain, Failure):
            return plain
        # with limits: a person's own program may take as long as it does
        return refusal(source, request, Parser(has_limits=True, longest=request.longest))


def form_of(task: Task) -> FunctionForm | WholeForm:
    """Return the form of a task's programs: whole texts for an evaluator that calls no function, else functions.

    Raises TaskError as `WholeForm` does.
    """
    if isinstance(task, EvaluatorTask) and not task.calls_a_function:
        return WholeForm(task.template, task.file.suffix, task.file.edits)
    return FunctionForm(task.template, task.entry_point)
