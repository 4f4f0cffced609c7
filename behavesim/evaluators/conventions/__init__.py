"""One module for each convention; its `load` loads an evaluator and returns a function that evaluates one program.

If the convention is one of JUDGED_APART, that function returns what the program answers, and the module's `load_judge`
returns one that judges answers, in another process.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from behavesim.evaluators.detection import NUMBERS
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import INSTANCE

# Evaluates the program at a path, a file or a folder, and records the calls of its functions in the Recorder. It
# raises what evaluator or program raise.
Run = Callable[[Path, Recorder], Result]

# Judges an answer, the text that a `Run` left in `Result.answer`. The number is the speed of the program, as a multiple
# of the reference's, if the convention measures that.
Judge = Callable[[str, float], Result]


def numbered_arguments(function: Callable[..., Any]) -> dict[str, int]:
    """Return the number of the instance, by the name of the parameter that takes it; {} if there is none of either."""
    if INSTANCE not in os.environ:
        return {}
    taken = [name for name in list(inspect.signature(function).parameters)[1:] if name in NUMBERS]
    return {name: int(os.environ[INSTANCE]) for name in taken[:1]}
