"""Nothing that is shown ends a command: its streams may be closed, full, slow, gone, or of a small alphabet."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from behavesim_cli.app import main

from behavesim.analysis.run import Run
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES

RUN = ("run", FEW_CITIES, "--proposer", "genetic", "--budget", "2", "--name", "one", "--set", "recommend=false")
COMMANDS = (RUN, ("resume", "one", "--budget", "3"), ("report", "one"), ("watch", "one"), ("list",))


def closed(*numbers: int) -> Callable[[], None]:
    return lambda: [os.close(number) for number in numbers] and None


def full(*numbers: int) -> Callable[[], None]:
    return lambda: [os.dup2(os.open("/dev/full", os.O_RDWR), number) for number in numbers] and None


def gone() -> None:
    """A pipe whose reader has ended."""
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)
    os.dup2(write, 2)


def encoded(encoding: str) -> Callable[[], None]:
    def prepare() -> None:
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding=encoding, closefd=False) for number in (1, 2))

    return prepare


def slow() -> None:
    """A small pipe that another process has made non-blocking, and that is read a few bytes at a time."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    os.dup2(write, 1)
    os.dup2(write, 2)

    def trickle() -> None:
        while os.read(read, 100):
            pass

    threading.Thread(target=trickle, daemon=True).start()


STREAMS = {
    "closed stdin, stdout and stderr": closed(0, 1, 2),
    "closed stdout": closed(1),
    "full stderr": full(2),
    "full stdout and stderr": full(1, 2),
    "gone": gone,
    "slow": slow,
    "ASCII": encoded("ascii"),
}
LOSING = ("full stdout and stderr", "gone")
"""Where a command whose result is what it prints has failed."""


def ended(arguments: tuple[str, ...], prepare: Callable[[], None]) -> int:
    """The exit code of a command in a process of its own; 70 for a traceback, negative where a signal ended it."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 70
    try:
        prepare()
        sys.argv = ["behavesim", *arguments]
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        if code == 70:
            Path("traceback").write_text(traceback.format_exc())
        os._exit(code)


@pytest.mark.usefixtures("made")  # each fork begins with the kernels, and with a server of zygotes
@pytest.mark.parametrize("stream", STREAMS)
def test_a_command_ends_as_its_work_does_whatever_its_streams_are(behavesim: Command, stream: str) -> None:
    codes = [ended(arguments, STREAMS[stream]) for arguments in COMMANDS]
    assert not Path("traceback").exists(), Path("traceback").read_text()
    assert codes == [0, 0, *[int(stream in LOSING)] * 3]
    assert Run.load(Path("runs/one")).state.registered == 3


def few_files() -> None:
    lowest = os.dup(1)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 6, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def test_too_few_open_files_are_one_line_and_exit_code_1(
    behavesim: Command, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ended(RUN, few_files) == 1
    assert not Path("traceback").exists() and not Path("runs").exists()
    said = "behavesim: Too many open files: raise the limit on open files (ulimit -n 1024), or set fewer workers"
    assert capfd.readouterr().err.splitlines()[-1] == said

    async def findings(models: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("behavesim_cli.setup.findings", findings)
    doctor = behavesim("doctor")
    assert (doctor.code, doctor.err) == (1, f"{said}; a run that had begun goes on with `behavesim resume`\n")


def test_a_document_is_json_in_any_encoding(finished: Command, capfd: pytest.CaptureFixture[str]) -> None:
    Path("runs/first").rename("runs/größer")
    for encoding in ("ascii", "latin-1", "utf-8"):
        assert ended(("list", "--json"), encoded(encoding)) == 0
        assert [run["run"] for run in json.loads(capfd.readouterr().out)] == ["größer"]


def test_a_chart_keeps_its_columns_in_an_encoding_without_its_signs() -> None:
    out = subprocess.run(
        [sys.executable, "-c", "from behavesim_cli.output import lenient_streams as s\nwith s(): print('▁█→é|')"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert out.stdout == b".#>\\xe9|\n"
