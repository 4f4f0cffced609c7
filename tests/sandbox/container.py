"""A group of processes with limits of its own, as a container has them: control groups of either version."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


class NoContainer(Exception):
    """This machine lets nobody, or not this user, make such a group."""


@dataclass(frozen=True)
class Container:
    """The folders by which the kernel knows the group: one, or one for each controller."""

    folders: tuple[Path, ...]

    def around(self, *command: str) -> tuple[str, ...]:
        """The command that joins the group and then runs a command."""
        joined = "".join(f"echo $$ > {folder}/cgroup.procs && " for folder in self.folders)
        return ("sh", "-c", f'{joined}exec "$@"', "sh", *command)

    def take(self, process: int) -> None:
        """Move a process into the group."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(process))

    def count(self, *names: str) -> int:
        """The number behind a word, in whichever of the group's files has it: `file:word`."""
        for name, folder in ((name, folder) for name in names for folder in self.folders):
            file, word = name.split(":")
            with contextlib.suppress(OSError, KeyError):
                return int(dict(line.split() for line in (folder / file).read_text().splitlines())[word])
        raise NoContainer(f"the kernel counts none of {names}")


@contextlib.contextmanager
def container(processes: int, memory_mb: int) -> Iterator[Container]:
    """A group for so many processes and threads, and so much memory; raises NoContainer with the reason."""
    own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    limits = {"pids": {"pids.max": processes}, "memory": {"memory.limit_in_bytes": memory_mb << 20}}
    if "pids" not in own:
        limits = {"": {"pids.max": processes, "memory.max": memory_mb << 20}}
    made = []
    try:
        for controller, files in limits.items():
            folder = CGROUPS / controller / own[controller].strip("/") / f"behavesim-test-{os.getpid()}"
            folder.mkdir()
            made.append(folder)
            for name, value in files.items():
                (folder / name).write_text(str(value))
        yield Container(tuple(made))
    except (OSError, KeyError) as error:
        raise NoContainer(f"no control groups of one's own: {error}") from error
    finally:
        for folder in made:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove the group as soon as the last of its processes is gone."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return folder.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
