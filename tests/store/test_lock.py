"""The file of a run's lock."""

from __future__ import annotations

import os
from pathlib import Path

from behavesim.store.folder import lock


def test_nobody_else_may_open_the_file_of_a_lock(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with lock(tmp_path / "lock") as is_held:
            assert is_held
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
