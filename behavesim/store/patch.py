"""The best program of a git repository as a patch, which `git am` and `git apply` take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from behavesim import __version__
from behavesim.task.evaluated import EvaluatorFile, separate_files

# Beginning of a patch in the form of a mail: the date is the fixed one by which git knows its own.
_MAIL = "From {commit} Mon Sep 17 00:00:00 2001\nFrom: behavesim <behavesim@localhost>\nSubject: [PATCH] {subject}\n\n"
_NO_END = "\n\\ No newline at end of file\n"


def patch_of(file: EvaluatorFile, source: str, subject: str, facts: dict[str, str]) -> str:
    """Return the patch from the repository's commit to the program `source`; "" if that changes nothing.

    The mail's subject is one line, its text has a line for each of the `facts`. Raises OSError if the files of the
    commit cannot be read.
    """
    assert file.repository is not None, "only programs of a repository have patches"
    changes = "".join(_changes(Path(file.runs_in), separate_files(source)))
    if not changes:
        return ""
    told = "".join(f"{name}: {value}\n" for name, value in facts.items())
    mail = _MAIL.format(commit=file.repository.commit, subject=subject)
    return f"{mail}{told}---\n{changes}-- \nbehavesim {__version__}\n"


def _changes(folder: Path, files: dict[str, str]) -> Iterator[str]:
    for path, text in files.items():
        place = folder / path
        old = place.read_bytes().decode() if place.is_file() else None
        # a program's files end with a line break, whether or not the repository's do
        if old is not None and text in (old, f"{old}\n"):
            continue
        header = f"diff --git a/{path} b/{path}\n"
        if old is None:
            header += "new file mode 100644\n" + ("" if text else "index 0000000..e69de29\n")
        lines = unified_diff(_lines(old or ""), _lines(text), "/dev/null" if old is None else f"a/{path}", f"b/{path}")
        yield header + "".join(line if line.endswith("\n") else line + _NO_END for line in lines)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)  # splitlines would also split at what git takes for text
