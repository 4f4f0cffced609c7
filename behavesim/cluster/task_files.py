"""Both sides of a cluster have the same task: its files, the software, and the same instances from its code.

The files are collected here, sent to each worker in pieces, and checked by their hash there.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from behavesim import __version__
from behavesim.base.errors import BehavesimError, TaskError, UsageError
from behavesim.base.plugins import file_hash
from behavesim.sandbox.namespaces import is_key
from behavesim.state.settings import instances_hash
from behavesim.task import Split, Task
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.reference import task_from

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

# Most bytes of a task's files together, since each worker gets a copy; a larger task is refused.
LARGEST = 200 << 20
# Most files of a task; one with more is refused.
MOST_FILES = 10_000
# Most bytes of a piece: while a file is sent to many workers, each of them adds this to the daemon's memory.
PIECE = 1 << 22


@dataclass(frozen=True)
class TaskFiles:
    """Files by their paths, which are relative and written with slashes."""

    files: Mapping[str, bytes]

    @property
    def hash(self) -> str:
        """The SHA-256 of all pieces with their paths and sizes, in hexadecimal."""
        found = hashlib.sha256()
        for name, piece in self.pieces():
            _update(found, name, piece)
        return found.hexdigest()

    def pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files in pieces of at most PIECE bytes, each with its path; an empty file is one piece."""
        for path, content in self.files.items():
            for at in range(0, max(1, len(content)), PIECE):
                yield path, content[at : at + PIECE]


class Unpacking:
    """Writes the pieces of some files below `folder`, which must be empty at first.

    The pieces must come in the order of `TaskFiles.pieces`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hash = hashlib.sha256()

    @property
    def hash(self) -> str:
        """The hash of the pieces written so far; it equals `TaskFiles.hash` once all are written."""
        return self._hash.hexdigest()

    def write(self, name: str, piece: bytes) -> None:
        """Append a piece to file `name`; raises UsageError for a path out of the folder, OSError if writing fails."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise UsageError(f"a task's file cannot be named {name!r}")
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(piece)
        _update(self._hash, name, piece)


def _update(found: Hash, name: str, piece: bytes) -> None:
    """Update a hash with one piece of a file: with its path and size, then the bytes."""
    found.update(f"{name}\0{len(piece)}\0".encode())
    found.update(piece)


def files_of_task(path: Path, data_files: Sequence[str]) -> TaskFiles:
    """Return a task's file and the `Task.data_files` that it declares, a folder with the files in it. Nothing else.

    In folders, keys (`is_key`), links and Python's caches are left out. Raises TaskError for a path that is not below
    the task's folder, and for one that names no file there or a hidden one. It does so, too, if the files are too large
    or too many. Raises OSError if one cannot be read.
    """
    found = [path]
    for text in data_files:
        parts = PurePosixPath(text).parts
        place = path.parent.joinpath(*parts)
        if not parts or text.startswith("/") or any(is_key(part, is_file=True) for part in parts):  # ".." is hidden
            raise TaskError(
                f"the task's data_files name {text!r:.100}; give paths from the task's folder to files in it, "
                "not to hidden ones or to keys"
            )
        # os.path answers False for texts that no file can have, such as too long ones, where Path raises
        if os.path.isdir(place):  # noqa: PTH112
            found += _below(place)
        elif os.path.isfile(place):  # noqa: PTH113
            found.append(place)
        else:
            raise TaskError(f"the task's data_files name {text!r:.100}, and there is no such file in {path.parent}")
    return _collected(path.parent, dict.fromkeys(found))


def files_of_evaluator(file: EvaluatorFile, hidden: Iterable[Path]) -> TaskFiles:
    """Return the files below an evaluator's folder, but no `hidden` paths, links, caches, and keys (`is_key`).

    `hidden` may name folders. Raises TaskError if the files are too large or too many, OSError if one cannot be read.
    """
    left_out = set(hidden)
    kept = (path for path in _below(file.readable) if not left_out.intersection((path, *path.parents)))
    return _collected(file.readable, dict.fromkeys(kept))


def _below(folder: Path) -> Iterable[Path]:
    """Yield the files below a folder in order, without Python's caches, links, and keys (`is_key`)."""
    for path in sorted(folder.iterdir()):
        if is_key(path.name, path.is_file()) or path.name == "__pycache__" or path.is_symlink():
            continue
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path


def _collected(folder: Path, paths: Iterable[Path]) -> TaskFiles:
    """Return some files below a folder; raises TaskError if they are too large or too many."""
    files: dict[str, bytes] = {}
    size = 0
    for path in paths:
        size += path.stat().st_size
        if size > LARGEST or len(files) >= MOST_FILES:
            raise TaskError(
                f"the task's files in {folder} are more than {LARGEST >> 20} MB or {MOST_FILES} files, too much for "
                "workers of a cluster; put it in a folder of its own, or large data where every worker can read it"
            )
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return TaskFiles(files)


# Packages that programs compute with.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite")


def platform_facts() -> dict[str, str]:
    """Return versions by software, and the system and the processor of this machine.

    `cpu` lists the instruction sets that numpy uses here: its exp and tanh differ in the last bit between some of them.
    """
    return {
        "behavesim": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}",
        "cpu": " ".join(sorted(_instruction_sets())),
    }


def differing_facts(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Return how a worker's facts differ from ours, one phrase each; empty if they do not."""
    found = [
        f"{name} {theirs.get(name, 'unknown')} there, {here} here"
        for name, here in ours.items()
        if name != "cpu" and theirs.get(name) != here
    ]
    here, there = set(ours["cpu"].split()), set(theirs.get("cpu", "").split())
    if here != there:
        sides = ((there - here, "there"), (here - there, "here"))
        only = " and ".join(f"only {place}: {' '.join(sorted(names))}" for names, place in sides if names)
        found.append(f"instruction sets of the processors, {only}")
    return found


def _instruction_sets() -> list[str]:
    """Return the instruction sets that this numpy was built for and those beyond that it found at its import."""
    found: Mapping[str, Any] = np.show_config(mode="dicts")["SIMD Extensions"]  # without the keys of empty lists
    return [*found.get("baseline", ()), *found.get("found", ())]


def task_hash(task: Task, split: Split) -> str:
    """Return the hashes of a task's file and of a split's instances, as hexadecimal digits with a space between.

    Raises OSError if the file is gone, TaskError if the instances cannot be made or hashed.
    """
    return f"{file_hash(type(task))} {instances_hash(task, split)}"


def main(place: str, split: Split) -> None:
    """Print `task_hash` of the task at a place; on standard error, and with status 1, why there is none."""
    try:
        sys.stdout.write(task_hash(task_from(place), split))
    except (BehavesimError, ImportError, OSError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])  # type: ignore[arg-type]
