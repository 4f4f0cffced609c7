"""Sequence trajectories, one (the candidate) against many (the members): DTW over edit distances, 64 members at once.

Edit distances come from bit vectors (Myers 1999, in Hyyrö's form for whole sequences, with their names). Two bits for
each token of a member's state say whether a column of Levenshtein's table rises or falls there. A state of up to 32 or
64 tokens takes one word; a longer one takes several, and each passes a carry to the next. The members' states are the
patterns and the candidate's the texts, so that all lanes read the same token at a time. Columns are kept from text to
text: the next text mostly begins (or ends) like the last, and its first columns are reused.
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
"""Words of kept columns per member, for rises and for falls each: about 1 MB for all lanes."""

Array = NDArray[Any]

_states = (read(uint16), read(int64))


@kernel(int64[::1](*_states))
def shared(tokens: Array, ends: Array) -> Array:
    """Return, (states,), how many leading tokens each state has in common with the one before it; 0 for the first.

    tokens: those of all states, end to end. ends: where each state ends.
    """
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
    """Set the bit patterns of state j of each member of a block.

    tokens, ends: all members' states, end to end; `backwards` reads each from its end. numbers: each token's number in
    the candidate. members: where each member's states begin, then the end. patterns: (words, numbers, LANES) gets the
    places of each number; masks: (words, LANES) all places of the state; sizes: (LANES,) its tokens, -1 if it has no
    state j.
    """
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
    """Compute one word of the next column: the bits where Levenshtein's table rises from row to row, or falls.

    equal: (LANES,) bits of the places where a member's state has the text's next token. two: (4 * LANES,) rises and
    falls of the column before, then those of this column, which are written. carry: (2, LANES) whether the table rises
    or falls along the row above the word, replaced by the same for the word's last row; None if there is only one word.
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
    """Add a word's rises minus its falls, within each member's state (`masks`), to the edit distances, in place."""
    for lane in range(LANES):
        rises, falls = column[lane] & masks[lane], column[LANES + lane] & masks[lane]
        more, fewer = count_ones(rises), count_ones(falls)  # type: ignore
        edits[lane] += np.int32(more) - np.int32(fewer)


@inline
def _warp(edits: Array, scale: Array, i: int, path: Array, above: Array) -> None:
    """Fill row i of a column of DTW's table in place: the smallest sum of distances along a path to that cell.

    edits: (LANES,) edit distances. scale: (LANES,) their factors. path: (rows, LANES) the sums of the column before;
    row i gets the new ones. above: (3, LANES) the sum in the cell above in this column, the same in the column before,
    and the largest distance so far; updated for the next row.
    """
    for lane in range(LANES):
        distance = float64(edits[lane]) * scale[lane]
        left = path[i, lane]
        up = distance + min(min(left, above[1, lane]), above[0, lane])
        path[i, lane] = up
        above[0, lane], above[1, lane] = up, left
        above[2, lane] = distance if distance > above[2, lane] else above[2, lane]  # comparing NaN is false


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
    """Write the unclipped Sim of the candidate and each member from block `first` on into `out`, (members,).

    x, x_ends: the candidate's states, end to end, and where each ends. known: `shared(x, x_ends)`. tokens, ends: those
    of all members; member k has the states members[k] to members[k + 1]. backwards: whether x has each state reversed,
    so that the members' are read from their ends too. numbers: for each member's token its number in the candidate; the
    number after the last if it has none. unit: what distances are divided by. pairwise: whether they are divided by the
    longer state first. patterns: scratch of (words of the longest member's state, numbers, LANES). carry: scratch of
    (2, LANES); None if a state takes one word. largest: (members,) gets the largest distance between two states.
    """
    use_widest_registers()  # type: ignore[call-arg]
    words, longest = patterns.shape[0], 0
    for i in range(x_ends.size):
        longest = max(longest, x_ends[i] - (x_ends[i - 1] if i else 0))
    most = max(1, min(longest + 1, KEPT // words))  # columns that are kept; of the later ones, only the last
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
        above[0], above[1:] = np.inf, 0.0  # paths begin in the corner before the first cell, with sum 0
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
                        carry[0], carry[1] = 1, 0  # the table's border rises by 1 along the row above the first
                    for word in range(words):
                        at = (word * rows + min(place, most)) * 2 * LANES
                        _next_column(patterns[word, x[begin + place]], carry, columns[at : at + 4 * LANES])
                    if place >= most:  # in loops: numba takes seconds to compile a slice's shape checks
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
