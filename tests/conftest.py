from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture(autouse=True, scope="session")
def _hung_up_on() -> None:
    """SIGHUP ends a process here as everywhere, though the tests be run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def behavesim(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command in an empty folder, with no key and no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Command(monkeypatch, capfd)
