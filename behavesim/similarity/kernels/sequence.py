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

from behavesim.similarity.kernels.compiler import (
    count_ones,
    empty,
    inline,
    kernel,
    read,
    together,
    use_widest_registers,
)

# Members in a block; one lane each.
LANES = 64
# Words of kept columns per member, for rises and for falls each: about 1 MB for all lanes.
KEPT = 1024

Array = NDArray[Any]

_states = (read(uint16), read(int64))


@kernel(int64[::1](*_states))
def shared_prefix_lengths(tokens: Array, ends: Array) -> Array:
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
def _most_states(here: Array) -> int:
    """Return the largest number of states of a member. `here`: where each member's states begin, then the end."""
    # It is a loop: numba takes 3 s to compile `np.diff(here).max()`.
    most = 0
    for lane in range(here.size - 1):
        most = max(most, here[lane + 1] - here[lane])
    return most


@inline
def _set_patterns(members: Any, here: Array, j: int, patterns: Array, masks: Array, sizes: Array) -> None:
    """Set the bit patterns of state j of each member of a block."""
    # members: (tokens, ends, runs, numbers, are_reversed): tokens and ends of their states, where each member's states
    # begin, the candidate's number of each token, and whether states are read from their ends. here: where each
    # member's states begin, then the end. patterns: (words, numbers, LANES) gets the places of each of the candidate's
    # tokens in the state. masks: (words, LANES) gets all places of the state. sizes: (LANES,) gets its number of
    # tokens, -1 if the member has no state j.
    tokens, ends, _, numbers, are_reversed = members
    word_of, width = patterns.dtype.type, 8 * patterns.itemsize
    patterns[:], masks[:], sizes[:] = 0, 0, -1
    for lane in range(here.size - 1):
        state = here[lane] + j
        if state < here[lane + 1]:
            begin, end = ends[state - 1] if state else 0, ends[state]
            sizes[lane] = end - begin
            for word in range(len(patterns)):
                bit, mask = word_of(1), word_of(0)
                for place in range(word * width, min((word + 1) * width, end - begin)):
                    token = tokens[end - 1 - place] if are_reversed else tokens[begin + place]
                    patterns[word, numbers[token], lane] |= bit
                    mask |= bit
                    bit = word_of(bit << word_of(1))
                masks[word, lane] = mask


@inline
def _next_column(equal: Array, carry: Any, two: Array) -> None:
    """Compute one word of the next column: the bits where Levenshtein's table rises from row to row, or falls."""
    # equal: (LANES,) bits of the places where a member's state has the text's next token. two: (4 * LANES,) rises and
    # falls of the column before, then those of this column, which are written. carry: (2, LANES) whether the table
    # rises or falls along the row above the word, replaced by the same for the word's last row; None if there is only
    # one word.
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
def _first_columns(patterns: Array, most: int) -> Array:
    """Return flat room for `most` + 2 columns of each word in `patterns`, (words, numbers, LANES)."""
    # A column holds the rises, then the falls, for all lanes. Only column 0 is set: it rises everywhere, counting
    # tokens.
    columns = empty(len(patterns) * (most + 2), 2 * LANES, patterns.dtype).ravel()
    for word in range(len(patterns)):
        at = word * (most + 2) * 2 * LANES
        columns[at : at + LANES], columns[at + LANES : at + 2 * LANES] = ~patterns.dtype.type(0), 0
    return columns


@inline
def _fill_columns(
    x: Array, begin: int, end: int, known: int, patterns: Array, carry: Any, most: int, columns: Array
) -> None:
    """Compute the columns of the text x[begin:end], whose first `known` columns are those of the text before."""
    # x: the texts' token numbers. patterns: (words, numbers, LANES) the places of each number in the members' states.
    # carry: scratch, (2, LANES), None for one word. columns: flat, words * (most + 2) * 2 * LANES; for each word the
    # columns 0 to `most`, each the rises, then the falls. Columns after `most` are not kept: each overwrites the one
    # before.
    for place in range(min(known, most - 1), end - begin):
        if carry is not None:
            carry[0], carry[1] = 1, 0  # the table's border rises by 1 along the row above the first
        for word in range(len(patterns)):
            at = (word * (most + 2) + min(place, most)) * 2 * LANES
            _next_column(patterns[word, x[begin + place]], carry, columns[at : at + 4 * LANES])
            if place >= most:  # a loop: numba takes seconds to compile a slice's shape checks
                for cell in range(at, at + 2 * LANES):
                    columns[cell] = columns[cell + 2 * LANES]


@inline
def _set_edits(length: int, columns: Array, most: int, masks: Array, edits: Array) -> None:
    """Set the edit distances, (LANES,), of a text of `length` tokens and the members' states."""
    # Each is the length plus the rises minus the falls of the text's last column within the member's state. columns: as
    # `_fill_columns` writes them: the last column is that of index `length`, or `most` if that is less. masks: (words,
    # LANES) the bits of the places that the member's state has.
    edits[:] = length
    for word in range(len(masks)):
        at = (word * (most + 2) + min(length, most)) * 2 * LANES
        for lane in range(LANES):
            rises, falls = columns[at + lane] & masks[word, lane], columns[at + LANES + lane] & masks[word, lane]
            more, fewer = count_ones(rises), count_ones(falls)  # type: ignore
            edits[lane] += np.int32(more) - np.int32(fewer)


@inline
def _set_scale(sizes: Array, length: int, is_pairwise: bool, scale: Array) -> None:
    """Set the factors, (LANES,), of edit distances from a text of `length` tokens."""
    # Each is 1 / the longer length if `is_pairwise`, else 1; NaN where a member has no state. sizes: (LANES,) the
    # number of tokens of each member's state, -1 for none.
    for lane in range(LANES):
        longer = max(sizes[lane], length, 1) if is_pairwise else 1
        scale[lane] = 1.0 / longer if sizes[lane] >= 0 else np.nan


@inline
def _warp(edits: Array, scale: Array, i: int, path: Array, above: Array) -> None:
    """Fill row i of a column of DTW's table in place: the smallest sum of distances along a path to that cell."""
    # edits: (LANES,) edit distances. scale: (LANES,) their factors. path: (rows, LANES) the sums of the column before;
    # row i gets the new ones. above: (3, LANES) the sum in the cell above in this column, the same in the column
    # before, and the largest distance so far; updated for the next row.
    for lane in range(LANES):
        distance = float64(edits[lane]) * scale[lane]
        left = path[i, lane]
        up = distance + min(min(left, above[1, lane]), above[0, lane])
        path[i, lane] = up
        above[0, lane], above[1, lane] = up, left
        above[2, lane] = distance if distance > above[2, lane] else above[2, lane]  # comparing NaN is false


def _signature(word: Any, carry: Any) -> Any:
    text = together(*_states, read(int64))
    members = together(*_states, read(int64), read(uint16), boolean)
    return types.void(text, members, int64, float64, boolean, word[:, :, ::1], carry, float64[:, ::1])


@kernel(_signature(uint32, types.none), _signature(uint64, types.none), _signature(uint64, uint64[:, ::1]))
def similarities(
    text: Any, members: Any, first: int, unit: float, is_pairwise: bool, patterns: Array, carry: Any, found: Array
) -> None:
    """Write the unclipped Sim of the candidate and each member from block `first` on into `found`.

    text: (tokens, ends, known), the candidate's token numbers, where each state ends, and how many leading tokens it
    has in common with the state before. members: (tokens, ends, runs, numbers, are_reversed), their states, where each
    member's states begin and the last one's end, the candidate's number of each token, and whether states are read from
    their ends. Distances are divided by `unit`, before that by the longer state's length if `is_pairwise`. patterns:
    scratch, (words of the longest state, numbers, LANES). carry: scratch, (2, LANES), None for one word. found: (2,
    members) gets in column k the Sim of member k and the largest distance between states, before it is divided by
    `unit`. Member k is in block k // LANES.
    """
    use_widest_registers()  # type: ignore[call-arg]
    x, x_ends, known = text  # unpacked here: in the loops below this would count references
    runs, words = members[2], len(patterns)
    most = max(1, KEPT // words)  # columns that are kept; of the later ones, only the last
    columns = _first_columns(patterns, most)
    masks, edits = empty(words, LANES, patterns.dtype), empty(1, LANES, np.int32)[0]
    sizes, scale = empty(1, LANES, np.int64)[0], empty(1, LANES, np.float64)[0]
    path, above = empty(x_ends.size, LANES, np.float64), empty(3, LANES, np.float64)
    for block in range(first, (runs.size - 1 + LANES - 1) // LANES):
        here = runs[block * LANES : block * LANES + LANES + 1]
        path[:] = np.inf
        above[0], above[1:] = np.inf, 0.0  # paths begin in the corner before the first cell, with sum 0
        for j in range(_most_states(here)):
            _set_patterns(members, here, j, patterns, masks, sizes)
            length = -1
            for i in range(x_ends.size):
                begin, end = x_ends[i - 1] if i else 0, x_ends[i]
                _fill_columns(x, begin, end, known[i], patterns, carry, most, columns)
                _set_edits(end - begin, columns, most, masks, edits)
                if end - begin != length:  # consecutive texts are mostly of equal length, and divisions are slow
                    length = end - begin
                    _set_scale(sizes, length, is_pairwise, scale)
                _warp(edits, scale, i, path, above)
            above[:2] = np.inf
            for lane in range(here.size - 1):
                if here[lane + 1] - here[lane] == j + 1:  # this state is the member's last one
                    found[0, block * LANES + lane] = 1.0 - path[-1, lane] / (unit * min(x_ends.size, j + 1))
                    found[1, block * LANES + lane] = above[2, lane]
