"""The form in which prompts show programs and models write one: a function, a whole text, or edits of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.files import separated

Variant = Literal["function", "whole", "diff"]
"""What a model is asked for: a function, a whole program, or edits of one that is shown."""
# the label of fenced blocks, and the name in a sentence
_LANGUAGES = {
    ".py": ("python", "Python"),
    ".c": ("c", "C"),
    ".h": ("c", "C"),
    ".cc": ("cpp", "C++"),
    ".cpp": ("cpp", "C++"),
    ".cxx": ("cpp", "C++"),
    ".hpp": ("cpp", "C++"),
    ".cu": ("cuda", "CUDA"),
    ".cs": ("csharp", "C#"),
    ".f90": ("fortran", "Fortran"),
    ".go": ("go", "Go"),
    ".hs": ("haskell", "Haskell"),
    ".java": ("java", "Java"),
    ".jl": ("julia", "Julia"),
    ".js": ("javascript", "JavaScript"),
    ".kt": ("kotlin", "Kotlin"),
    ".lua": ("lua", "Lua"),
    ".m": ("matlab", "MATLAB"),
    ".ml": ("ocaml", "OCaml"),
    ".r": ("r", "R"),
    ".rb": ("ruby", "Ruby"),
    ".rs": ("rust", "Rust"),
    ".scala": ("scala", "Scala"),
    ".sh": ("bash", "shell"),
    ".sql": ("sql", "SQL"),
    ".swift": ("swift", "Swift"),
    ".ts": ("typescript", "TypeScript"),
    ".zig": ("zig", "Zig"),
}

_FILES = {
    "whole": "Files that you do not name stay as they are.",
    "diff": "Write the line `=== file: PATH ===` before the edits of each file.",
}


@dataclass(frozen=True)
class Answering:
    """The form in which programs of a task are shown and asked for."""

    variant: Variant = "function"
    label: str = "python"
    """The label of fenced blocks with programs; "" for several files, for unknown languages the suffix without dot."""
    form: str = ""
    """What to answer with: "the complete program in one fenced Python block" or the like; "" for a function."""
    files: str = ""
    """A sentence on programs of several files; "" for all others."""

    @classmethod
    def of(cls, task: Task) -> Answering:
        """Return the form for a task, by the suffix, files and edits of its programs; for functions the defaults."""
        if not isinstance(task, EvaluatorTask) or task.calls_a_function:
            return cls()
        variant: Variant = "diff" if task.file.edits == "diff" else "whole"
        if "" not in separated(task.template):
            form = "the files that change, complete, each in a fenced block whose first line is `=== file: PATH ===`"
            return cls(variant, "", form, _FILES[variant])
        suffix = task.file.suffix.lower()
        label, language = _LANGUAGES.get(suffix, (suffix.removeprefix("."), ""))
        lines = ", lines with EVOLVE-BLOCK included," if "EVOLVE-BLOCK-START" in task.template else ""
        return cls(variant, label, f"the complete program{lines} in one fenced {language} block".replace("  ", " "))
