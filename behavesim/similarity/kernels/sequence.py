"""Sequence trajectories, one against an archive: edit distances by bits and DTW, 32 members abreast.

A bit vector holds a column of Levenshtein's table as differences, one bit for each token of a member's state (Myers
1999, in Hyyrö's form for the distance of whole sequences): a word of 32 or 64 bits takes a state of so many tokens.
The members' states are the patterns, the candidate's the texts, so all lanes read the same token at a time.
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
def _compare(
    typing_context: Any,
    text: Any,
    begin: Any,
    end: Any,
    patterns: Any,
    masks: Any,
    scale: Any,
    state: Any,
    path: Any,
    carry: Any,
) -> Any:
    """Distances of one state of the candidate, text[begin:end], to one state of each member, and their DTW.

    patterns[token, lane] has the bits of the places where a member's state has the token, masks[lane] those of all its
    places; a distance is multiplied by scale[lane]. For `path` and `carry` see `vectors.warp`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text, patterns, masks, scale, path, carry = arrays(context, builder, signature, arguments, 0, 3, 4, 5, 7, 8)
        begin, end, state = arguments[1], arguments[2], arguments[6]
        bits = Lanes(builder, number_type(signature.args[3]), LANES)
        numbers = Lanes(builder, ir.DoubleType(), LANES)
        both, either = builder.and_, builder.or_
        full = bits.constant(-1)

        def without(left: Any, right: Any) -> Any:
            return both(left, builder.xor(right, full))

        higher, lower = bits.variables([full, bits.constant(0)])  # where a column rises by one, and where it falls
        with cgutils.for_range_slice(builder, begin, end, index(1), intp=INDEX) as (position, _):
            token = builder.zext(builder.load(builder.gep(text.data, [position])), INDEX)
            equal = bits.load(patterns.data, builder.mul(token, index(LANES)))
            up, down = builder.load(higher), builder.load(lower)
            vertical = either(equal, down)
            carried = either(builder.xor(builder.add(both(equal, up), up), up), equal)
            # Where the row does not rise, shifted: its first bit, the empty pattern, rises with every token.
            level = builder.shl(without(either(carried, up), down), bits.constant(1))
            fall = builder.shl(both(up, carried), bits.constant(1))
            builder.store(either(fall, without(level, vertical)), higher)
            builder.store(without(vertical, level), lower)
        mask = bits.load(masks.data, index(0))
        length = bits.splat(bits.resize(builder.sub(end, begin)))
        more, fewer = (bits.ones(both(builder.load(variable), mask)) for variable in (higher, lower))
        edits = numbers.convert(builder.sub(builder.add(length, more), fewer))
        warp(numbers, path, carry, [state], [builder.fmul(edits, numbers.load(scale.data, index(0)))])
        return context.get_dummy_value()

    return types.void(text, begin, end, patterns, masks, scale, state, path, carry), generate


def _read(dtype: Any) -> Any:
    return types.Array(dtype, 1, "C", readonly=True)


_states = (_read(uint16), _read(int64))


def _signature(word: Any) -> Any:
    return types.void(
        *_states,
        *_states,
        _read(int64),
        _read(uint16),
        int64,
        float64,
        types.boolean,
        word[:, ::1],
        *(float64[::1],) * 2,
    )


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
            begin = ends[state - 1] if state else 0
            sizes[lane] = ends[state] - begin
            for place in range(sizes[lane]):
                patterns[numbers[tokens[begin + place]], lane] |= one << patterns.dtype.type(place)
            if sizes[lane]:
                masks[lane] = ~patterns.dtype.type(0) >> patterns.dtype.type(width - sizes[lane])


@njit(**OPTIONS)  # type: ignore[untyped-decorator]
def _set_scale(sizes: Array, length: int, pairwise: bool, scale: Array) -> None:
    """What distances to texts of this length are multiplied by; NaN where a member has no state left."""
    for lane in range(LANES):
        if sizes[lane] < 0:
            scale[lane] = np.nan
        else:
            scale[lane] = 1.0 / max(sizes[lane], length, 1) if pairwise else 1.0


@njit([_signature(word) for word in (uint32, uint64)], **OPTIONS)
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
    out: Array,
    largest: Array,
) -> None:
    """Sim of the candidate and each member from block `first` on, unclipped, into `out`.

    x, x_ends: the candidate's states, end to end, and where each ends. tokens, ends: those of all members; member k has
    the states members[k] to members[k + 1]. numbers: for each of their tokens, its number in the candidate, or one more
    than there are. patterns: room for a row for each number; the words' width bounds the members' states.
    largest: gets the greatest distance that occurs between the states of the candidate and of each member.
    """
    path, carry = np.empty((x_ends.size, LANES)), np.empty((3, LANES))
    scale, sizes = np.empty(LANES), np.empty(LANES, np.int64)
    masks = np.empty(LANES, patterns.dtype)
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
                _compare(x, begin, end, patterns, masks, scale, i, path, carry)  # type: ignore[call-arg]
            carry[:2] = np.inf
            for lane in range(here.size - 1):
                if here[lane + 1] - here[lane] == j + 1:
                    member = block * LANES + lane
                    out[member] = 1.0 - path[-1, lane] / (unit * min(x_ends.size, j + 1))
                    largest[member] = carry[2, lane]
