"""Whether a worker has the task that the daemon has: the same code, and the same instances."""

from __future__ import annotations

import sys

from behavesim.base.errors import BehavesimError
from behavesim.base.plugins import file_hash
from behavesim.state.provenance import instances_hash
from behavesim.task import Split, Task, task_from


def proof(task: Task, split: Split) -> str:
    """Return the hashes of a task's file and of a split's instances, as hexadecimal digits with a space between.

    Raises OSError if the file is gone, TaskError if the instances cannot be made or hashed.
    """
    return f"{file_hash(type(task))} {instances_hash(task, split)}"


def main(place: str, split: Split) -> None:
    """Print the proof of the task at a place; on standard error, and with status 1, why there is none."""
    try:
        sys.stdout.write(proof(task_from(place), split))
    except (BehavesimError, ImportError, OSError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])  # type: ignore[arg-type]
