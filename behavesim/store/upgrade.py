"""Journals of older versions are brought to this one: a backup first, then all steps in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from behavesim.base.errors import JournalError
from behavesim.store.schema import MIGRATIONS, OLDEST, Migration


def upgrade(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Make the journal at `path` one of the newest version, or begin it where the file is empty or missing.

    An older journal is first copied beside itself (see `backup_of`). Raises JournalError where the journal is newer
    than the migrations know; sqlite3.DatabaseError where a step fails, and the journal is as it was.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        version, newest = version_of(db), OLDEST + len(migrations) - 1
        if version == newest:
            return
        refuse_foreign(path, version, newest)
        if version:
            _back_up(db, backup_of(path, version))
        db.execute("BEGIN IMMEDIATE")
        try:
            now = version_of(db)  # another process may have been faster
            for step in migrations[now - OLDEST + 1 if now else 0 :]:
                step(db)
            db.execute(f"PRAGMA user_version = {newest}")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


def backup_of(path: Path, version: int) -> Path:
    """Where the copy of a journal of an older version is kept."""
    return path.with_name(f"{path.stem}.version-{version}{path.suffix}")


def version_of(db: sqlite3.Connection) -> int:
    """The version a journal was written by; 0 of an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_foreign(path: Path, version: int, known: int) -> None:
    """Raise JournalError where a journal comes from the future, or from before requests named their cost."""
    if 0 < version < OLDEST:
        raise JournalError(
            f"{path} was written by an older behavesim (schema {version}, the oldest this one reads is {OLDEST}); "
            "read it with the version that made it"
        )
    if version > known:
        raise JournalError(
            f"{path} was written by a newer behavesim (schema {version}, this one reads {known}); upgrade behavesim"
        )


def copy_journal(path: Path, to: Path) -> None:
    """Copy a journal as it is at this moment, whole or not at all; its run may be going on."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        _back_up(db, to)


def _back_up(db: sqlite3.Connection, path: Path) -> None:
    """Copy the journal, whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft)) as copy:
        db.backup(copy)
    draft.replace(path)
