"""An endpoint that others wrote: a LiteLLM proxy in a process of its own, with canned replies and nobody behind it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proposers.test_planted_key import in_a_process

PROXY = shutil.which("litellm")
KEY = "sk-8d1f6b3a9c5e7f20b4d6a8c0e2f41357"
HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
REPLIES = {
    "program": f"Nearest first.\n\n```python\n{HEAD}\n    return unvisited_nodes[0]\n```",
    "prose": "I would rather not say.",
}
START_S = 180.0

pytestmark = [
    pytest.mark.skipif(PROXY is None, reason='there is no command `litellm`: pipx install "litellm[proxy]"'),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a proxy that has a model for each canned reply."""
    folder = tmp_path_factory.mktemp("proxy")
    models = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "none", "mock_response": reply}}
        for name, reply in REPLIES.items()
    ]
    config = folder / "config.yaml"
    config.write_text(json.dumps({"model_list": models}))  # JSON is YAML
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LITELLM_MASTER_KEY": KEY}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [str(PROXY), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"],
            env={**environment, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            stdout=said,
            stderr=said,
        )
        try:
            wait_until_served(f"http://127.0.0.1:{port}/health/liveliness", process, folder / "said")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait()


def wait_until_served(url: str, process: subprocess.Popen[bytes], said: Path) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the proxy does not serve: {said.read_text(errors='replace')[-2000:]}")


async def test_a_run_asks_it_counts_its_tokens_and_is_verified(proxy: str, tmp_path: Path) -> None:
    options = ("--proposer", "openai", "--budget", "8", "--connections", "4", "--workers", "1", "--name", "proxied")
    models = ("--set", "models={program = 1.0, prose = 1.0}")
    run = ("run", "tsp", "--method", "best-of-n", *options, *models, "--set", "recommend=false")
    code, printed = await in_a_process(*run, folder=tmp_path, url=proxy, key=KEY)
    assert code == 0, printed.decode()
    code, shown = await in_a_process("report", "proxied", "--json", folder=tmp_path, url=proxy, key=KEY)
    (found,) = json.loads(shown)["runs"]
    assert (found["asked"], found["feasible"] + sum(found["rejected"].values())) == (8, 8)
    assert found["feasible"] > 0
    assert set(found["rejected"]) <= {"no-function"}
    assert found["tokens"]["prompt"] > 0 < found["tokens"]["completion"]
    assert found["cost_usd"] is None
    code, printed = await in_a_process("verify", "proxied", folder=tmp_path, url=proxy, key=KEY)
    assert code == 0, printed.decode()
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_a_model_that_it_does_not_have_ends_the_run_in_one_line_that_names_it(proxy: str, tmp_path: Path) -> None:
    options = ("--proposer", "openai", "--budget", "2", "--workers", "1", "--name", "nobody", "--model", "programm")
    code, printed = await in_a_process("run", "tsp", *options, folder=tmp_path, url=proxy, key=KEY)
    assert code == 1
    assert b"Traceback" not in printed
    assert b"programm" in printed


async def test_a_key_that_it_does_not_take_ends_the_run(proxy: str, tmp_path: Path) -> None:
    options = ("--proposer", "openai", "--budget", "2", "--workers", "1", "--name", "locked", "--model", "program")
    code, printed = await in_a_process("run", "tsp", *options, folder=tmp_path, url=proxy, key="sk-another")
    assert code == 1
    assert b"Traceback" not in printed
    assert b"sk-another" not in printed
