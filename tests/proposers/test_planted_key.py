"""A key is planted in the environment of a whole run, and looked for wherever the run leaves anything."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.processes import FEW_CITIES
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY

SPY = f"""```python
import os

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    seen = [str(dict(os.environ))]
    for path in ("/proc/self/environ", f"/proc/{{os.getppid()}}/environ"):
        try:
            seen.append(open(path).read())
        except OSError:
            seen.append("closed")
    raise ValueError(" ".join(seen).replace("PATH", "")[:400])
```
The key was {KEY[:6]}…"""

NOISY = [
    chat.fails(429, f"slow down, {KEY}").with_headers(Retry_After="0.01"),
    chat.fails(500, f"crashed on Bearer {KEY}"),
    chat.fails(400, f"temperature is not for {KEY}", "unsupported_value", "temperature"),
]


async def in_a_process(*arguments: str, folder: Path, url: str, key: str = KEY) -> tuple[int, bytes]:
    """The command in a process of its own: its exit code, and all it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "from behavesim_cli.app import main; main()", *arguments),
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed


@pytest.mark.parametrize(("then", "is_run"), [(chat.says(SPY), True), (chat.fails(403, f"not with {KEY}"), False)])
async def test_the_key_is_in_no_file_of_a_run_and_in_nothing_it_prints(
    server: Any, tmp_path: Path, then: chat.Answer, is_run: bool
) -> None:
    server.behaviour = chat.script(*NOISY, then=then)
    options = ("--proposer", "openai", "--method", "best-of-n", "--budget", "4", "--connections", "2", "--workers", "1")
    returned, printed = await in_a_process(
        *(
            "run",
            FEW_CITIES,
            *options,
            "--name",
            "spied",
            "--runs-dir",
            "runs",
            "--set",
            "temperature=0.5",
            "--set",
            "recommend=false",
        ),
        folder=tmp_path,
        url=server.url,
    )
    assert returned == 1, printed.decode()  # no program is feasible, or none comes
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.db", "settings.toml", "log.txt"} <= {path.name for path in files}
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    if is_run:
        assert b"PYTHONHASHSEED" in b"".join(path.read_bytes() for path in files), "the candidate saw no environment"
    for content in [printed, *(path.read_bytes() for path in files)]:
        assert KEY.encode() not in content
