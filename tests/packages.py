"""Packages of somebody's own that are installed for a test: a module, and the folder that says what it offers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, group: str, **points: str) -> None:
    """Install the package `mine`, a module of this text, with entry points in a group: a name and what it stands for.

    It is there for this process and for those that it starts, until the test has ended.
    """
    information = folder / "mine-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "mine.py").write_text(text)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    offered = "".join(f"{name} = mine:{attribute}\n" for name, attribute in points.items())
    (information / "entry_points.txt").write_text(f"[{group}]\n{offered}")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
