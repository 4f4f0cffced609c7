"""The command as a person calls it, in this process: arguments in, exit code and both streams out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from behavesim_cli.app import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What `--json` printed: one document and nothing else."""
        return json.loads(self.out)


class Command:
    """Calls `behavesim` with arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def __call__(self, *arguments: object) -> Ended:
        self._monkeypatch.setattr("sys.argv", ["behavesim", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Ended(code, *self._capfd.readouterr())
