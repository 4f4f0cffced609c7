"""Sequence trajectories, one against many: edit distances by bits and DTW, 64 of the many side by side.

A bit vector holds a column of Levenshtein's table as differences, one bit for each token of a member's state (Myers
1999, in Hyyrö's form for the distance of whole sequences; the names are theirs). A state of up to 32 or 64 tokens takes
one word; a longer one takes several, each of which hands to the next what its last row does. The members' states are
the patterns, the candidate's the texts, so that all lanes read the same token at a time. Of each text the columns are
kept, since the next one mostly begins, or ends, as it does, and need not be read so far again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, types, uint16, uint32, uint64
from numpy.typing import NDArray

from behavesim.similarity.kernels.compiler import count_ones, empty, inline, kernel, read, use_widest_registers

LANES = 64
"""Members in a block; one lane each."""
KEPT = 1024
"""Words of each member, of rises and of falls, in which columns are kept: about 1 MB for all lanes."""

Array = NDArray[Any]

_states = (read(uint16), read(int64))


@kernel(int64[::1](*_states))
def shared(tokens: Array, ends: Array) -> Array:
    """(states,) with how many tokens each state begins as the one before does; 0 for the first."""
    common = np.zeros(ends.size, np.int64)
    for i in range(1, ends.size):
        before, begin = ends[i - 2] if i > 1 else 0, ends[i - 1]
        for place in range(min(begin - before, ends[i] - begin)):
            if tokens[before + place] != tokens[begin + place]:
                break
            common[i] += 1
    return common


@inline
def _set_patterns(
    tokens: Array,
    ends: Array,
    backwards: bool,
    numbers: Array,
    members: Array,
    j: int,
    patterns: Array,
    masks: Array,
    sizes: Array,
) -> None:
    """The bits of state j of each member: those with a number, and those it has; without a state j its size is -1."""
    word_of, width = patterns.dtype.type, 8 * patterns.itemsize
    patterns[:] = 0
    masks[:] = 0
    sizes[:] = -1
    for lane in range(members.size - 1):
        state = members[lane] + j
        if state < members[lane + 1]:
            begin, end = ends[state - 1] if state else 0, ends[state]
            sizes[lane] = end - begin
            for word in range(len(patterns)):
                bit, mask = word_of(1), word_of(0)
                for place in range(word * width, min((word + 1) * width, end - begin)):
                    token = tokens[end - 1 - place] if backwards else tokens[begin + place]
                    patterns[word, numbers[token], lane] |= bit
                    mask |= bit
                    bit = word_of(bit << word_of(1))
                masks[word, lane] = mask


@inline
def _next_column(equal: Array, carry: Any, two: Array) -> None:
    """One word of the column for the text's next token: where Levenshtein's table rises down it, and where it falls.

    equal: (LANES,) the bits of the places where a member's state has that token. two: (4 * LANES,) the rises and the
    falls of the column before, and room for those of this one. carry: None for an only word, else (2, LANES) whether
    the table rises and falls along the row above the word; replaced by the same of its last row.
    """
    word = equal.dtype.type
    one, last = word(1), word(8 * equal.itemsize - 1)
    for lane in range(LANES):
        eq, pv, mv = equal[lane], two[lane], two[LANES + lane]
        xv = eq | mv
        if carry is not None:
            ph_in, mh_in = carry[0, lane], carry[1, lane]
            eq |= mh_in
        xh = (word(word(eq & pv) + pv) ^ pv) | eq
        ph, mh = mv | ~(xh | pv), pv & xh
        if carry is None:
            ph, mh = word(word(ph) << one) | one, word(word(mh) << one)
        else:
            carry[0, lane], carry[1, lane] = word(ph) >> last, word(mh) >> last
            ph, mh = word(word(ph) << one) | ph_in, word(word(mh) << one) | mh_in
        two[2 * LANES + lane], two[3 * LANES + lane] = mh | ~(xv | ph), ph & xv


@inline
def _add_edits(column: Array, masks: Array, edits: Array) -> None:
    """Add what one word of a column of differences comes to at the end of each member's state."""
    for lane in range(LANES):
        rises, falls = column[lane] & masks[lane], column[LANES + lane] & masks[lane]
        more, fewer = count_ones(rises), count_ones(falls)  # type: ignore
        edits[lane] += np.int32(more) - np.int32(fewer)


@inline
def _warp(edits: Array, scale: Array, i: int, path: Array, above: Array) -> None:
    """The least sums of distances along a path in row i of a column, which holds those of the column before.

    above: (3, LANES), all brought up to date: the sums in the cell above, in this column and in the one before, and the
    greatest distance so far.
    """
    for lane in range(LANES):
        distance = float64(edits[lane]) * scale[lane]
        left = path[i, lane]
        up = distance + min(min(left, above[1, lane]), above[0, lane])
        path[i, lane] = up
        above[0, lane], above[1, lane] = up, left
        above[2, lane] = distance if distance > above[2, lane] else above[2, lane]  # NaN never is


def _signature(word: Any, carry: Any) -> Any:
    reads = (*_states, read(int64), *_states, boolean, read(int64), read(uint16), int64, float64, boolean)
    return types.void(*reads, word[:, :, ::1], carry, float64[::1], float64[::1])


@kernel(
    _signature(uint32, types.none),
    _signature(uint64, types.none),
    _signature(uint64, uint64[:, ::1]),
)
def similarities(
    x: Array,
    x_ends: Array,
    known: Array,
    tokens: Array,
    ends: Array,
    backwards: bool,
    members: Array,
    numbers: Array,
    first: int,
    unit: float,
    pairwise: bool,
    patterns: Array,
    carry: Any,
    out: Array,
    largest: Array,
) -> None:
    """Sim of the candidate and each member from block `first` on, unclipped, into `out`.

    x, x_ends: the candidate's states, end to end, and where each ends. known: what they have `shared`. tokens, ends:
    those of all members, whose states are to be read `backwards` where the candidate's are written so; member k has the
    states members[k] to members[k + 1]. numbers: for each of their tokens, its number in the candidate, or one more
    than there are. patterns: room for (words of the longest state of a member, numbers, LANES).
    carry: None for one word, else room for (2, LANES).
    largest: gets the greatest distance that occurs between the states of the candidate and of each member.
    """
    use_widest_registers()  # type: ignore[call-arg]
    words, longest = patterns.shape[0], 0
    for i in range(x_ends.size):
        longest = max(longest, x_ends[i] - (x_ends[i - 1] if i else 0))
    most = max(1, min(longest + 1, KEPT // words))  # columns that are kept; of those after them only the last
    rows = most + 2
    table = empty(words * rows, 2 * LANES, patterns.dtype)
    table[::rows, :LANES], table[::rows, LANES:] = ~patterns.dtype.type(0), 0  # the first column counts the tokens
    columns = table.ravel()
    masks, edits = empty(words, LANES, patterns.dtype), empty(1, LANES, np.int32)[0]
    sizes, scale = empty(1, LANES, np.int64)[0], empty(1, LANES, np.float64)[0]
    path, above = empty(x_ends.size, LANES, np.float64), empty(3, LANES, np.float64)
    for block in range(first, (members.size - 1 + LANES - 1) // LANES):
        here = members[block * LANES : block * LANES + LANES + 1]
        path[:] = np.inf
        above[0], above[1:] = np.inf, 0.0  # into the first cell a path comes from the corner, at no cost
        most_states = 0
        for lane in range(here.size - 1):
            most_states = max(most_states, here[lane + 1] - here[lane])
        for j in range(most_states):
            _set_patterns(tokens, ends, backwards, numbers, here, j, patterns, masks, sizes)
            length = -1
            for i in range(x_ends.size):
                begin, end = x_ends[i - 1] if i else 0, x_ends[i]
                for place in range(min(known[i], most - 1), end - begin):
                    if carry is not None:
                        carry[0], carry[1] = 1, 0  # the first row too
                    for word in range(words):
                        at = (word * rows + min(place, most)) * 2 * LANES
                        _next_column(patterns[word, x[begin + place]], carry, columns[at : at + 4 * LANES])
                    if place >= most:  # by loops: numba takes seconds to compile how slices refuse other shapes
                        for word in range(words):
                            for cell in range(2 * LANES):
                                table[word * rows + most, cell] = table[word * rows + most + 1, cell]
                edits[:] = end - begin
                for word in range(words):
                    at = (word * rows + min(end - begin, most)) * 2 * LANES
                    _add_edits(columns[at : at + 2 * LANES], masks[word], edits)
                if end - begin != length:
                    length = end - begin
                    for lane in range(LANES):
                        longer = max(sizes[lane], length, 1) if pairwise else 1
                        scale[lane] = 1.0 / longer if sizes[lane] >= 0 else np.nan
                _warp(edits, scale, i, path, above)
            above[:2] = np.inf
            for lane in range(here.size - 1):
                if here[lane + 1] - here[lane] == j + 1:
                    member = block * LANES + lane
                    out[member] = 1.0 - path[-1, lane] / (unit * min(x_ends.size, j + 1))
                    largest[member] = above[2, lane]
