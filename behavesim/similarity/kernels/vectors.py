"""A few words of LLVM: numbers of neighbouring archive members, one a lane, in one vector register.

LLVM turns a vector wider than the machine's registers into several, so the same code runs everywhere. The cache of
compiled kernels looks at a kernel's own file alone: after a change here or in `cell`, touch the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

INDEX = ir.IntType(64)
_POSITION = ir.IntType(32)


def number_type(array: Any) -> Any:
    """The LLVM type of the elements of a numba array type: an integer, or double."""
    dtype = array.dtype
    return ir.DoubleType() if dtype.name == "float64" else ir.IntType(dtype.bitwidth)


class Lanes:
    """Emits the operations on vectors of one shape; unsigned where they hold integers."""

    def __init__(self, builder: Any, element: Any, count: int) -> None:
        self.builder, self.element, self.count = builder, element, count
        self.type = ir.VectorType(element, count)
        self.is_float = not isinstance(element, ir.IntType)

    def constant(self, value: float) -> Any:
        """The same constant in every lane."""
        return ir.Constant(self.type, [value] * self.count)

    def splat(self, scalar: Any) -> Any:
        """The same number in every lane."""
        undefined = ir.Constant(self.type, ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(_POSITION, 0))
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_POSITION, self.count), None))

    def resize(self, scalar: Any) -> Any:
        """A position as an element."""
        return scalar if self.element == INDEX else self.builder.trunc(scalar, self.element)

    def shifted(self, vector: Any, first: Any) -> Any:
        """Every lane's number one lane on, and this one in the first."""
        order = ir.Constant(ir.VectorType(_POSITION, self.count), [0, *range(self.count - 1)])
        moved = self.builder.shuffle_vector(vector, ir.Constant(self.type, ir.Undefined), order)
        return self.builder.insert_element(moved, first, ir.Constant(_POSITION, 0))

    def variables(self, values: Iterable[Any]) -> list[Any]:
        """Variables that start with the given values; LLVM keeps them in registers across a loop."""
        return [cgutils.alloca_once_value(self.builder, value) for value in values]  # type: ignore[no-untyped-call]

    def load(self, data: Any, offset: Any) -> Any:
        """The vector that starts at an element of an array; numpy promises no more than the element's alignment."""
        pointer = self.builder.gep(data, [offset])
        vector = self.builder.load(self.builder.bitcast(pointer, self.type.as_pointer()))
        vector.align = self._bytes()
        return vector

    def store(self, vector: Any, data: Any, offset: Any) -> None:
        """Write the vector from an element of an array on."""
        pointer = self.builder.gep(data, [offset])
        self.builder.store(vector, self.builder.bitcast(pointer, self.type.as_pointer())).align = self._bytes()

    def add(self, left: Any, right: Any) -> Any:
        """The sums."""
        return self.builder.fadd(left, right) if self.is_float else self.builder.add(left, right)

    def minimum(self, left: Any, right: Any) -> Any:
        """The smaller ones; of numbers, never NaN, so a comparison will do."""
        compare = self.builder.fcmp_ordered if self.is_float else self.builder.icmp_unsigned
        return self.builder.select(compare("<", left, right), left, right)

    def root(self, squares: Any) -> Any:
        """The correctly rounded square roots of float64."""
        return self._call("llvm.sqrt", squares)

    def fused(self, left: Any, right: Any, addend: Any) -> Any:
        """left * right + addend of float64, rounded once; see `multiply_add`."""
        return self._call("llvm.fma", left, right, addend)

    def ones(self, bits: Any) -> Any:
        """How many bits are set."""
        return self._call("llvm.ctpop", bits)

    def convert(self, integers: Any) -> Any:
        """Unsigned integers, lane by lane as numbers of this kind; they must fit."""
        if integers.type == self.type:
            return integers
        if self.is_float:
            wide = ir.VectorType(_POSITION, self.count)  # machines convert signed 32-bit integers best
            is_wider = integers.type.element.width > _POSITION.width
            resize = self.builder.trunc if is_wider else self.builder.zext
            return self.builder.sitofp(resize(integers, wide), self.type)
        return self.builder.zext(integers, self.type)

    def _call(self, name: str, *vectors: Any) -> Any:
        kind = ir.FunctionType(self.type, [self.type] * len(vectors))
        full_name = f"{name}.v{self.count}{'f' if self.is_float else 'i'}{8 * self._bytes()}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, full_name)  # type: ignore[no-untyped-call]
        return self.builder.call(function, vectors)

    def _bytes(self) -> int:
        return 8 if self.is_float else int(self.element.width) // 8


@intrinsic
def multiply_add(typing_context: Any, left: Any, right: Any, addend: Any) -> Any:
    """left * right + addend, rounded once: asked for by name and nowhere left to the compiler, it is the same anywhere.

    One instruction on today's machines, and a call where they have none.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def warp(lanes: Lanes, path: Any, carry: Any, states: list[Any], distances: list[Any]) -> None:
    """DTW of float64 distances, a column of the table at a time: the candidate's `states` against one state of members.

    `path` holds the previous column and gets this one. `carry` has three rows: the path to the state before the first,
    in this column and in the previous one, and the largest distance so far; all are brought up to date.
    """
    builder = lanes.builder
    rows = [index(row * lanes.count) for row in range(3)]
    up, diagonal, largest = (lanes.load(carry.data, row) for row in rows)
    for i, distance in zip(states, distances, strict=True):
        offset = builder.mul(i, index(lanes.count))
        left = lanes.load(path.data, offset)
        up = builder.fadd(distance, lanes.minimum(lanes.minimum(left, diagonal), up))
        diagonal = left
        lanes.store(up, path.data, offset)
        largest = builder.select(builder.fcmp_ordered(">", distance, largest), distance, largest)  # NaN never is
    for row, vector in zip(rows, (up, diagonal, largest), strict=True):
        lanes.store(vector, carry.data, row)


def arrays(context: Any, builder: Any, signature: Any, arguments: Any, *positions: int) -> list[Any]:
    """The arguments of an intrinsic at these positions, which are arrays."""
    return [context.make_array(signature.args[k])(context, builder, arguments[k]) for k in positions]


def index(value: int) -> Any:
    """A constant position."""
    return ir.Constant(INDEX, value)
