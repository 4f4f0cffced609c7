"""What a process does with its own memory before it forks."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

HOLES = """
import ctypes

from behavesim.sandbox import kernel

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
libc.free.restype, libc.free.argtypes = None, (ctypes.c_void_p,)
blocks = [(size, libc.malloc(size)) for size in (24, 200, 1000, 5000, 60000) for _ in range(200)]
holes = {block for _, block in blocks[::2]}
for block in holes:
    libc.free(block)
if FILLED:
    kernel.fill_holes()
again = {libc.malloc(size) for size, _ in blocks[::2]}
print(len(again & holes))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heap of glibc alone is filled")
@pytest.mark.parametrize("is_filled", [False, True])
def test_no_block_that_was_free_before_is_given_out_once_holes_are_filled(is_filled: bool) -> None:
    found = subprocess.run(
        [sys.executable, "-c", f"FILLED = {is_filled}\n{HOLES}"], capture_output=True, text=True, check=True
    )
    assert (int(found.stdout) == 0) is is_filled
