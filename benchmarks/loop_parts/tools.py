"""The tools that are compared: how each is run, and how its stored replies are counted."""

from __future__ import annotations

import compileall
import json
import os
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

PARTS = Path(__file__).parent
ROOT = PARTS.parent.parent
# Number of requests that each tool may have under way.
CONNECTIONS = 8


@dataclass(frozen=True)
class Tool:
    """A tool: `command(url, candidates, folder)` runs it, and `kept(folder)` counts the replies stored there."""

    name: str
    command: Callable[[str, int, Path], list[str]]
    kept: Callable[[Path], int]

    def start(self, url: str, candidates: int, folder: Path) -> subprocess.Popen[bytes]:
        """Start a run of so many candidates, which asks the server at `url` and stores its results in `folder`.

        Its output is dropped; errors are shown if the environment has LOOP_VERBOSE.
        """
        keys = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONPATH": ""}
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        errors = None if os.environ.get("LOOP_VERBOSE") else subprocess.DEVNULL
        command = self.command(url, candidates, folder)
        return subprocess.Popen(
            command, env={**os.environ, **keys, **threads}, stdout=subprocess.DEVNULL, stderr=errors
        )


def tools(names: list[str], environments: Path) -> list[Tool]:
    """Return the tools of these names: "behavesim", "openevolve" and "llm4ad"; KeyError for another.

    A peer is installed by pip into `environments`/NAME, a virtual environment, if that does not exist. Ours is compiled
    to bytecode, as pip leaves the peers: other installers do not compile, and then each process compiles what it loads.
    """
    kept = {"openevolve": _kept_by_openevolve, "llm4ad": _kept_by_llm4ad}
    return [_own() if name == "behavesim" else _peer(name, environments, kept[name]) for name in names]


def _own() -> Tool:
    for folder in (Path(sysconfig.get_path("purelib")), *(ROOT / name for name in ("behavesim", "cli"))):
        compileall.compile_dir(folder, quiet=2)

    def command(url: str, candidates: int, folder: Path) -> list[str]:
        start = [sys.executable, "-m", "behavesim", "run", str(PARTS / "own_task.py"), "--proposer", "openai"]
        where = ["--runs-dir", str(folder), "--name", "run", "--connections", str(CONNECTIONS)]
        return [*start, "--model", "m", "--budget", str(candidates), *where]

    def kept(folder: Path) -> int:
        with closing(sqlite3.connect(folder / "run" / "run.db")) as db:
            return int(db.execute("SELECT count(*) FROM events WHERE type = 'Responded'").fetchone()[0])

    return Tool("behavesim", command, kept)


def _peer(name: str, environments: Path, kept: Callable[[Path], int]) -> Tool:
    python = environments / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environments / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", name], check=True)
    script = str(PARTS / f"{name}_run.py")
    return Tool(name, lambda url, n, folder: [str(python), script, url, str(n), str(CONNECTIONS), str(folder)], kept)


def _kept_by_openevolve(folder: Path) -> int:
    """Return the number of programs in the largest checkpoint, without the first program; 0 without a checkpoint."""
    checkpoints = folder.glob("out/checkpoints/checkpoint_*/programs")
    return max((len(list(each.glob("*.json"))) - 1 for each in checkpoints), default=0)


def _kept_by_llm4ad(folder: Path) -> int:
    """Return the number of samples in its logs, without the first program; a log that a kill cut off has none."""
    numbers = set()
    for path in folder.rglob("samples_*.json"):
        if "best" not in path.name:
            with suppress(json.JSONDecodeError):
                numbers |= {sample["sample_order"] for sample in json.loads(path.read_text())}
    return max(0, len(numbers) - 1)
