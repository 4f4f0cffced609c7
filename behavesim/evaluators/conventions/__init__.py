"""One module for each convention; its `load` loads an evaluator and returns a function that evaluates one program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from behavesim.evaluators.tracing import Recorder, Result

# Evaluates the program at a path, a file or a folder, and records the calls of its functions in the Recorder. It
# raises what evaluator or program raise.
Run = Callable[[Path, Recorder], Result]
