"""`behavesim serve` as a person starts and ends it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from behavesim_cli.runs import serve

from tests.analysis.journals import feasible, started, write
from tests.cli.command import Command


def test_it_says_where_it_serves_and_ends_in_order(tmp_path: Path) -> None:
    write(tmp_path / "first", started(), feasible(0, 5.0))
    command = [sys.executable, "-m", "behavesim", "serve", str(tmp_path), "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)  # after a failure, leaving the block would wait for it
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        with urlopen(address) as answer:
            assert b'href="runs/first"' in answer.read()
        with socket.create_connection(("127.0.0.1", urlsplit(address).port)) as stranger:
            stranger.sendall(b"GET / HTTP/9x\r\n\r\n")
            assert stranger.recv(100).split()[1] == b"400"
        process.send_signal(signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 130


def test_a_folder_that_is_not_there_is_named(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("serve", tmp_path / "nowhere")
    assert ended.code == 2
    assert "there is no folder" in ended.err


HONOURED = {"runs_dir", "evaluate", "port", "budget", "name"}
"""Parameters of `serve --evaluate` that the run shows; those of REFUSED are the others."""
REFUSED = {
    "host": (
        ("--evaluate", "tsp", "--host", "0.0.0.0"),
        "--evaluate listens at 127.0.0.1 alone, not at --host 0.0.0.0",
    ),
    "budget": (("--budget", "5"), "--budget would begin a run; add --evaluate TASK"),
    "name": (("--name", "agent"), "--name would begin a run; add --evaluate TASK"),
}
"""What is refused, by the parameter: one that the other of the two uses of `serve` would ignore."""


@pytest.mark.parametrize("parameter", sorted(serve.__annotations__.keys() - {"return"} - HONOURED | REFUSED.keys()))
def test_an_option_that_would_be_ignored_is_refused(behavesim: Command, tmp_path: Path, parameter: str) -> None:
    options, said = REFUSED[parameter]
    ended = behavesim("serve", tmp_path, *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [("serve", "runs", "--evaluate", "tsp", "--port", "{}"), ("run", "tsp", "--proposer", "http:{}")]
)
def test_a_port_that_is_taken_is_refused_before_anything_is_tried(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = behavesim(*(word.format(port) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert (
        ended.err.strip() == f"behavesim: cannot take programs at port {port}: Address already in use; choose another"
    )
    assert not any(tmp_path.iterdir())


def test_a_run_for_an_agent_heeds_each_other_option(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--evaluate", "tsp", "--port", str(port), "--host", "localhost", "--budget", "7", "--name", "agent"]
    command = [sys.executable, "-m", "behavesim", "serve", str(tmp_path / "new"), *options]
    address = tmp_path / "new" / "agent" / "http.json"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not address.exists() and process.poll() is None:
            time.sleep(0.05)
        found = json.loads(address.read_text()) if address.exists() else {}
        settings = address.with_name("settings.toml").read_text() if found else ""
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert found, said
    assert found["url"].startswith(f"http://127.0.0.1:{port}")
    assert "budget = 7\n" in settings
    assert 'task = "tsp"\n' in settings
