"""Upgrades of journals of older versions: first a backup, then all steps in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from behavesim.base.errors import JournalError
from behavesim.store.schema import MIGRATIONS, OLDEST, Migration


def upgrade(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Upgrade the journal at `path` to the newest version; make a new one if the file is empty or missing.

    An older journal is first copied beside itself (see `backup_of`). Raises JournalError if its version is newer than
    the migrations or older than OLDEST. Raises sqlite3.DatabaseError if a step fails; the journal is then unchanged.
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
    """Return the path of the backup that `upgrade` makes of a journal of that version, in the same folder."""
    return path.with_name(f"{path.stem}.version-{version}{path.suffix}")


def version_of(db: sqlite3.Connection) -> int:
    """Return a journal's schema version, 0 for an empty file; raises sqlite3.DatabaseError if it is no database."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_foreign(path: Path, version: int, known: int) -> None:
    """Raise JournalError if a journal's version is newer than `known` or older than OLDEST; 0 (empty file) passes."""
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
    """Copy a journal's present content to the file `to`, which appears only when it is complete; its run may go on.

    Raises sqlite3.Error if the journal cannot be read, OSError if the copy cannot be put in its place.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        _back_up(db, to)


def _back_up(db: sqlite3.Connection, path: Path) -> None:
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft)) as copy:
        db.backup(copy)
    draft.replace(path)
