"""How kernels are compiled and cached."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from behavesim.similarity import kernels

LOOPS = """
from numba import float64

from kernels import inline, kernel, multiply_add
from kernels.parts import more


@inline
def twice(x):
    return multiply_add(2.0, x, 0.0)


@kernel(float64(float64))
def answer(x):
    return more(twice(x))
"""
PARTS = """
from kernels import inline


@inline
def more(x):
    return x + 1.0
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of kernels of its own, compiled by a copy of ours."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy(kernels.__file__, folder / "__init__.py")
    (folder / "parts.py").write_text(PARTS)
    (folder / "loops.py").write_text(LOOPS)
    return folder


def answer(package: Path) -> float:
    """What the package's kernel makes of 10 in another process."""
    code = "from kernels import loops; print(loops.answer(10.0))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(package.parent / "cache"), "PYTHONPATH": str(package.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def cached(package: Path) -> set[str]:
    return {path.name for path in (package.parent / "cache").rglob("*.nb?")}


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_kernel_is_compiled_again_after_a_change_of_what_it_calls_in_another_file_and_only_then(package: Path):
    assert answer(package) == 21.0
    before = cached(package)
    assert answer(package) == 21.0
    assert cached(package) == before != set()

    replace(package / "parts.py", "x + 1.0", "x + 2.0")
    replace(package / "__init__.py", "builder.fma(*arguments)", "builder.fadd(arguments[0], arguments[1])")
    assert answer(package) == 14.0


def test_a_multiplication_and_an_addition_are_rounded_once():
    @njit
    def fused(left, right, addend):
        return kernels.multiply_add(left, right, addend)

    tiny = 2.0**-30
    assert (1 + tiny) * (1 + tiny) - (1 + 2 * tiny) == 0.0
    assert fused(1 + tiny, 1 + tiny, -(1 + 2 * tiny)) == tiny * tiny


@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
def test_room_begins_with_a_line_of_the_cache(dtype: type[np.generic]):
    for _ in range(20):
        room = kernels.empty(3, 5, dtype)
        assert (room.shape, room.dtype, room.ctypes.data % 64) == ((3, 5), dtype, 0)


def test_a_kernel_may_ask_for_the_widest_registers():
    @njit("float64(float64)")
    def wide(x):
        kernels.use_widest_registers()
        return x + 1.0

    assert wide(1.0) == 2.0
    (code,) = wide.inspect_llvm().values()
    assert '"prefer-vector-width"="512"' in code
