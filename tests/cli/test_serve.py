"""`behavesim serve` as a person starts and ends it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.analysis.journals import feasible, started, write
from tests.cli.command import Command


def test_it_says_where_it_serves_and_ends_in_order(tmp_path: Path) -> None:
    write(tmp_path / "first", started(), feasible(0, 5.0))
    command = [sys.executable, "-m", "behavesim", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        with urlopen(address) as answer:
            assert b'href="runs/first"' in answer.read()
        process.send_signal(signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 130


def test_a_folder_that_is_not_there_is_named(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("serve", tmp_path / "nowhere")
    assert ended.code == 2
    assert "there is no folder" in ended.err
