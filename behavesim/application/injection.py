"""Programs and advice that people put into a run, while it goes on or while it is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from behavesim.application.evaluation import program_of, read_program
from behavesim.base.errors import UsageError
from behavesim.base.text import printable
from behavesim.state.advice import LONGEST
from behavesim.store.folder import RunFolder
from behavesim.store.inbox import ADVICE
from behavesim.task import Task


def inject(folder: RunFolder, task: Task, files: Sequence[Path]) -> None:
    """Put programs into a run's inbox, from which its search takes them, now or when it is resumed.

    The path `template` stands for the task's template. Raises UsageError for the first file that cannot be read or has
    no program of the task. Raises TaskError for a folder that cannot be read. No program is put into the inbox then.
    Raises UsageError, too, if the inbox cannot be written.
    """
    programs = [(file.stem, program_of(task, str(file), read_program(file, task))) for file in files]
    for stem, source in programs:
        folder.inbox.put(stem, source)


def advise(folder: RunFolder, sentence: str) -> None:
    """Put a sentence for later prompts into a run's inbox; "" withdraws all advice of the run.

    Raises UsageError if the sentence has only spaces, more than LONGEST characters, several lines, or control
    characters, or if the inbox cannot be written.
    """
    if sentence and not (sentence.strip() and printable(sentence) == sentence and "\n" not in sentence):
        raise UsageError("advice is one line of printable text")
    if len(sentence) > LONGEST:
        raise UsageError(f"advice has {LONGEST} characters at most, this one {len(sentence)}; shorten or divide it")
    folder.inbox.put("advice", sentence, ADVICE)
