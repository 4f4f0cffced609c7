"""What a run is launched with, made from plain arguments: names, numbers and paths."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from behavesim.application.injection import first_events
from behavesim.application.machine import cores, has_endpoint
from behavesim.base.errors import UsageError
from behavesim.engine.build import Launch
from behavesim.engine.settings import changed_settings, resolve, settings_from_journal
from behavesim.proposers.installed import proposer_type
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference


def new_launch(
    task: str,
    runs_dir: Path,
    given: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    name: str | None = None,
) -> Launch:
    """A run of a task, by its name or the path of its file, under the settings given for it.

    `given` are settings by name, None where one was not given; it beats `assignments` (`key=value`), these the TOML
    `file`. A proposer that is not given, or "auto", is a model where one is named or the environment has an endpoint,
    else the offline one. The run is called by the task and the time unless it has a `name`. Raises UsageError.
    """
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    flags = {**given, "task": reference.text}
    if flags.get("proposer") == "auto":
        del flags["proposer"]
    unsaid = "openai" if flags.get("models") or has_endpoint() else "genetic"  # who names a model wants it asked
    settings = resolve(flags, assignments, file, loaded, {"workers": cores(), "proposer": unsaid})
    if missing := proposer_type(settings.proposer).missing():
        raise UsageError(f"{missing}; --proposer genetic needs nothing")
    folder = RunFolder.named(runs_dir, name or RunFolder.fresh_name(loaded.name, datetime.now()))
    folder.refuse_at_once()
    return Launch(settings, loaded, folder, first_events(settings, runs_dir, loaded))


def next_launch(
    folder: RunFolder,
    changes: Mapping[str, Any],
    assignments: list[str] | None = None,
    fork: RunFolder | None = None,
) -> Launch:
    """A run gone on with under its own settings but for the changes, in its own folder or that of a fork.

    What is None among the changes was not given. Where the file of its task is gone, the run's own copy stands in.
    Raises UsageError where a change is none.
    """
    before = settings_from_journal(folder.read_settings())
    if not Path(before.task).is_file():
        before = folder.with_task_at_hand(before)
    if task := changes.get("task"):
        changes = {**changes, "task": TaskReference(task).resolved().text}
    settings = changed_settings(before, changes, assignments)
    return Launch(settings, TaskReference(settings.task).load(), fork or folder)
