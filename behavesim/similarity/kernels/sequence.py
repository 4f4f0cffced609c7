"""Sequence trajectories, one against an archive: edit distances by bits and DTW, 32 members abreast.

A bit vector holds a column of Levenshtein's table as differences, one bit for each token of a member's state (Myers
1999, in Hyyrö's form for the distance of whole sequences). A state of up to 32 or 64 tokens takes one word; a longer
one takes several, and what a row hands from one word to the next goes through memory. The members' states are the
patterns, the candidate's the texts, so all lanes read the same token at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int64, njit, types, uint16, uint32, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from behavesim.similarity.kernels import OPTIONS
from behavesim.similarity.kernels.vectors import INDEX, Lanes, arrays, index, number_type, warp

LANES = 32

Array = NDArray[Any]


@intrinsic
def _count_edits(
    typing_context: Any, text: Any, begin: Any, end: Any, patterns: Any, row: Any, masks: Any, handed: Any, edits: Any
) -> Any:
    """Add to `edits` what one word of the members' states contributes to their distance to text[begin:end].

    Row row + token of `patterns` has the bits of the places where a member's state has the token, row 0 of `masks` the
    bits of all its places. `handed` is None, or has two rows for each token of the text: where the row of the table
    rises not, and where it falls, at the end of the word before; they are brought up to date.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text, patterns, masks, edits = arrays(context, builder, signature, arguments, 0, 3, 5, 7)
        begin, end, row = arguments[1], arguments[2], arguments[4]
        has_neighbour = not isinstance(signature.args[6], types.NoneType)
        bits = Lanes(builder, number_type(signature.args[3]), LANES)
        both, either, full = builder.and_, builder.or_, bits.constant(-1)
        top = bits.constant(bits.element.width - 1)

        def without(left: Any, right: Any) -> Any:
            return both(left, builder.xor(right, full))

        higher, lower = bits.variables([full, bits.constant(0)])  # where a column rises by one, and where it falls
        with cgutils.for_range_slice(builder, begin, end, index(1), intp=INDEX) as (position, _):
            token = builder.zext(builder.load(builder.gep(text.data, [position])), INDEX)
            equal = bits.load(patterns.data, builder.mul(builder.add(row, token), index(LANES)))
            up, down = builder.load(higher), builder.load(lower)
            vertical = either(equal, down)
            if has_neighbour:
                (memory,) = arrays(context, builder, signature, arguments, 6)
                level_offset = builder.mul(builder.sub(position, begin), index(2 * LANES))
                fall_offset = builder.add(level_offset, index(LANES))
                level_before, fall_before = bits.load(memory.data, level_offset), bits.load(memory.data, fall_offset)
                equal = either(equal, fall_before)
            carried = either(builder.xor(builder.add(both(equal, up), up), up), equal)
            level, fall = without(either(carried, up), down), both(up, carried)
            level_here = builder.shl(level, bits.constant(1))  # the empty pattern's bit: it rises with every token
            fall_here = builder.shl(fall, bits.constant(1))
            if has_neighbour:
                level_here, fall_here = either(level_here, level_before), either(fall_here, fall_before)
                bits.store(builder.lshr(level, top), memory.data, level_offset)
                bits.store(builder.lshr(fall, top), memory.data, fall_offset)
            builder.store(either(fall_here, without(level_here, vertical)), higher)
            builder.store(without(vertical, level_here), lower)
        mask = bits.load(masks.data, index(0))
        more, fewer = (bits.ones(both(builder.load(variable), mask)) for variable in (higher, lower))
        so_far = bits.load(edits.data, index(0))
        bits.store(builder.sub(builder.add(so_far, more), fewer), edits.data, index(0))
        return context.get_dummy_value()

    return types.void(text, begin, end, patterns, row, masks, handed, edits), generate


@intrinsic
def _align(typing_context: Any, edits: Any, scale: Any, state: Any, path: Any, carry: Any) -> Any:
    """DTW of one state of the candidate at `edits` times `scale` from the members'; see `vectors.warp`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        edits, scale, path, carry = arrays(context, builder, signature, arguments, 0, 1, 3, 4)
        bits, numbers = Lanes(builder, number_type(signature.args[0]), LANES), Lanes(builder, ir.DoubleType(), LANES)
        distance = numbers.convert(bits.load(edits.data, index(0)))
        distance = builder.fmul(distance, numbers.load(scale.data, index(0)))
        warp(numbers, path, carry, [arguments[2]], [distance])
        return context.get_dummy_value()

    return types.void(edits, scale, state, path, carry), generate


def _read(dtype: Any) -> Any:
    return types.Array(dtype, 1, "C", readonly=True)


_states = (_read(uint16), _read(int64))


def _signature(word: Any, handed: Any) -> Any:
    reads = (*_states, *_states, _read(int64), _read(uint16), int64, float64, types.boolean)
    return types.void(*reads, word[:, :, ::1], handed, float64[::1], float64[::1])


@njit(**OPTIONS)  # type: ignore[untyped-decorator]
def _set_patterns(
    tokens: Array, ends: Array, numbers: Array, members: Array, j: int, patterns: Array, sizes: Array, masks: Array
) -> None:
    """The patterns of state j of each member; one that has no state j has size -1."""
    one, width = patterns.dtype.type(1), 8 * patterns.itemsize
    patterns[:] = 0
    masks[:] = 0
    sizes[:] = -1
    for lane in range(members.size - 1):
        state = members[lane] + j
        if state < members[lane + 1]:
            own = tokens[ends[state - 1] if state else 0 : ends[state]]
            sizes[lane] = own.size
            for word in range((own.size + width - 1) // width):
                bit = one
                for token in own[word * width : (word + 1) * width]:
                    patterns[word, numbers[token], lane] |= bit
                    masks[word, lane] |= bit
                    bit <<= one


@njit(**OPTIONS)  # type: ignore[untyped-decorator]
def _set_scale(sizes: Array, length: int, pairwise: bool, scale: Array) -> None:
    """What distances to texts of this length are multiplied by; NaN where a member has no state left."""
    for lane in range(LANES):
        if sizes[lane] < 0:
            scale[lane] = np.nan
        else:
            scale[lane] = 1.0 / max(sizes[lane], length, 1) if pairwise else 1.0


@njit(
    [
        _signature(uint32, types.none),
        _signature(uint64, types.none),
        _signature(uint64, uint64[:, ::1]),
    ],
    **OPTIONS,
)
def similarities(
    x: Array,
    x_ends: Array,
    tokens: Array,
    ends: Array,
    members: Array,
    numbers: Array,
    first: int,
    unit: float,
    pairwise: bool,
    patterns: Array,
    handed: Any,
    out: Array,
    largest: Array,
) -> None:
    """Sim of the candidate and each member from block `first` on, unclipped, into `out`.

    x, x_ends: the candidate's states, end to end, and where each ends. tokens, ends: those of all members; member k has
    the states members[k] to members[k + 1]. numbers: for each of their tokens, its number in the candidate, or one more
    than there are. patterns: room for the words of the longest state of a member, each with a row for each number.
    handed: None for one word, else room for two rows for each token of the candidate's longest state.
    largest: gets the greatest distance that occurs between the states of the candidate and of each member.
    """
    path, carry = np.empty((x_ends.size, LANES)), np.empty((3, LANES))
    scale, sizes = np.empty(LANES), np.empty(LANES, np.int64)
    words, rows = patterns.shape[0], patterns.shape[1]
    masks, edits = np.empty((words, LANES), patterns.dtype), np.empty(LANES, patterns.dtype)
    by_row = patterns.reshape(words * rows, LANES)
    count = members.size - 1
    for block in range(first, (count + LANES - 1) // LANES):
        here = members[block * LANES : block * LANES + LANES + 1]
        path[:] = np.inf
        carry[:] = np.inf
        carry[1:] = 0.0  # into the first cell a path comes from the corner, at no cost
        for j in range((here[1:] - here[:-1]).max()):
            _set_patterns(tokens, ends, numbers, here, j, patterns, sizes, masks)
            length = -1
            for i in range(x_ends.size):
                begin, end = x_ends[i - 1] if i else 0, x_ends[i]
                if end - begin != length:
                    length = end - begin
                    _set_scale(sizes, length, pairwise, scale)
                edits[:] = length  # what the empty pattern is away
                if handed is not None:
                    handed[:] = 0
                for word in range(words):
                    _count_edits(x, begin, end, by_row, word * rows, masks[word], handed, edits)  # type: ignore
                _align(edits, scale, i, path, carry)  # type: ignore[call-arg]
            carry[:2] = np.inf
            for lane in range(here.size - 1):
                if here[lane + 1] - here[lane] == j + 1:
                    member = block * LANES + lane
                    out[member] = 1.0 - path[-1, lane] / (unit * min(x_ends.size, j + 1))
                    largest[member] = carry[2, lane]
