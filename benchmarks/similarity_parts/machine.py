"""The machine: what it is, and whether results have the same bits with its other instruction sets."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llvmlite.binding

# Program that prints a SHA-256 of many similarities, of prefixes, sequences and vectors.
BITS = """
import hashlib
import numpy as np
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory

rng, digest = np.random.default_rng(0), hashlib.sha256()
kinds = {
    "prefixes": lambda n: Trajectory.prefixes(rng.permutation(n)),
    "sequences": lambda n: Trajectory.sequences([rng.permutation(40)[: rng.integers(0, 40)] for _ in range(n)]),
    "vectors": lambda n: Trajectory.vectors(rng.random((n, 5))),
}
for kind, draw in kinds.items():
    algorithms = [[draw(rng.integers(1, 60))] for _ in range(100)]
    for normaliser in (60, "pair") if kind != "vectors" else (60,):
        measure = BehaveSim(normaliser, clip=False)
        digest.update(measure.matrix(algorithms).tobytes())
        digest.update(np.array([measure.between(algorithms[0], other) for other in algorithms]).tobytes())
print(digest.hexdigest())
"""


def bits_compared() -> str:
    """Return a sentence that says whether results have the same bits with other instruction sets of x86-64.

    Each set has a process and an empty kernel cache of its own. Raises CalledProcessError if such a process fails.
    """
    digests = {}
    for cpu in (llvmlite.binding.get_host_cpu_name(), "x86-64-v3", "x86-64"):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
            command = [sys.executable, "-c", BITS]
            digests[cpu] = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    return f"Bits on {', '.join(digests)}: {'equal' if len(set(digests.values())) == 1 else 'DIFFERENT'}."


def machine() -> str:
    """Return on one line the date, the processor with its vector instructions, and the versions of the packages."""
    features = llvmlite.binding.get_host_cpu_features()
    widest = next((name for name in ("avx512bw", "avx2", "sse4.2", "neon") if features.get(name)), "no known vectors")
    packages = ("numpy", "numba", "rapidfuzz", "tslearn", "dtaidistance", "editdistance")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())
    cpu = f"{model} ({llvmlite.binding.get_host_cpu_name()}, {widest}), {os.cpu_count()} cores"
    return f"{time.strftime('%Y-%m-%d')}, {cpu}, Python {platform.python_version()}, {versions}"
