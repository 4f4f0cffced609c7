"""Compiled kernels: loops over one pair of runs (`scalar`), or over one run and many others side by side.

Here is how they are compiled, and two LLVM intrinsics that numba does not expose. Importing one of them loads numba,
which takes about a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

# SHA-256 of all source files of this folder.
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def kernel(*signatures: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function for these signatures, or reads it from numba's cache.

    No fastmath and no contraction: a result has the same bits on every machine.
    """

    def compiled(function: Function) -> Function:
        # the cache knows a function by its name and its own file, and sees no change in the files of what it calls: so
        # the digest of all files becomes part of the name
        function.__qualname__ += f"-{SOURCES[:16]}"
        dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
        dispatcher.enable_caching()
        for signature in signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return cast(Function, dispatcher)

    return compiled


def inline(function: Function) -> Function:
    """Compile a function that is copied into each kernel that calls it, so that the kernel's loops stay vectorised."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))


@register_jitable
def empty(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """Return an uninitialised (rows, columns) array that starts at a cache line: registers load twice as fast."""
    numbers = np.empty(rows * columns + 64, dtype)  # 64 numbers of room to move the start by less than 64 bytes
    start = (-numbers.ctypes.data % 64) // numbers.itemsize
    return numbers[start : start + rows * columns].reshape(rows, columns)


@intrinsic
def multiply_add(typing_context: Any, left: Any, right: Any, addend: Any) -> Any:
    """Return left * right + addend of float64, rounded once, so that the result is the same on every machine.

    Numba gives `typing_context`.
    """
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, arguments: builder.fma(*arguments)


@intrinsic
def use_widest_registers(typing_context: Any) -> Any:
    """Let the calling kernel use 512-bit registers where the processor has them; results are the same.

    Numba gives `typing_context`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # On some processors LLVM uses 256 bits unless told otherwise, and a kernel takes 1.3 to 1.6 times as long.
        # llvmlite's `add` refuses attributes that only some processors have, so the set's own is called.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


def read(element: Any, dimensions: int = 1) -> Any:
    """Return numba's type of a contiguous array that a kernel only reads; `element` is the type of its numbers."""
    return types.Array(element, dimensions, "C", readonly=True)


def together(*parts: Any) -> Any:
    """Return numba's type of a tuple of values of these types."""
    return types.Tuple(parts)  # type: ignore[no-untyped-call]
