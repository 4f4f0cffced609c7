"""How kernels are compiled, and the three words of LLVM that numba has no name for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

TRIED = "0.68."
"""The versions of numba whose cache is read the short way."""
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
"""The digest of every file of this folder."""


class _Cache(FunctionCache):
    """numba's cache of one function, which reads machine code with what that needs, and no more.

    numba makes all ready for compiling first, whether the code is there or not: a hundred modules, scipy among them,
    and four times what reading takes. Where there is nothing to read, its compiler does the same by itself. In a numba
    that this was not tried with, it is left as it is: machine code that misses a symbol ends the process.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None where it has to be compiled."""
        if not numba.__version__.startswith(TRIED):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        rtsys.initialize(target_context)  # compiled code calls it for every array that it makes
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def kernel(*signatures: Any) -> Callable[[Function], Function]:
    """Compile a function for these signatures, or read it from numba's cache.

    The cache knows a function by its name and the file that holds it, but not by what it calls in another file; with
    the digest in its name it is never older than any of them. No fastmath and no contraction: a result has the same
    bits on every machine.
    """

    def compiled(function: Function) -> Function:
        function.__qualname__ += f"-{SOURCES[:16]}"
        dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
        for signature in signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return cast(Function, dispatcher)

    return compiled


def inline(function: Function) -> Function:
    """A part of a kernel, whose lines become those of the kernel: no call stands in the way of its loops."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))


@njit
def empty(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """(rows, columns) numbers of any value, from the beginning of a line of the cache: registers fill twice as fast."""
    numbers = np.empty(rows * columns + 64, dtype)
    start = (-numbers.ctypes.data % 64) // numbers.itemsize
    return numbers[start : start + rows * columns].reshape(rows, columns)


@intrinsic
def multiply_add(typing_context: Any, left: Any, right: Any, addend: Any) -> Any:
    """left * right + addend of float64, rounded once: asked for by name, it is the same on every machine.

    One instruction on today's machines, and a call where they have none.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def count_ones(typing_context: Any, bits: Any) -> Any:
    """How many bits of an unsigned integer are set, as one of its kind."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(*arguments)

    return bits(bits), generate


@intrinsic
def use_widest_registers(typing_context: Any) -> Any:
    """Say at a kernel's beginning that its loops may fill registers of 512 bits, where the machine has them.

    On some machines LLVM fills but half of them unless asked, so that a kernel takes 1.3 to 1.6 times as long; results
    are the same.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Attributes are a set, whose own `add` takes those that every target has; this one is for x86.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


def read(element: Any, dimensions: int = 1) -> Any:
    """The type of a contiguous array that a kernel only reads."""
    return types.Array(element, dimensions, "C", readonly=True)
