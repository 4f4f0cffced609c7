"""ROUGE-L (Lin 2004): similarity of texts by their longest common subsequence."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.code_similarity.words import words


def rouge(a: str, b: str) -> float:
    """Return the F1 score of the longest common subsequence of two sources' tokens, in [0, 1]; 1 if both have none."""
    left, right = words(a), words(b)
    return 2 * _common(left, right) / (len(left) + len(right)) if left or right else 1.0


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    The table of lengths is computed row by row, each row as the bits of one integer: bit i is 0 if the length grows by
    one at column i. This is the algorithm of Crochemore and others, "A fast and practical bit-vector algorithm for the
    longest common subsequence problem" (2001).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << place
    row = full = (1 << len(a)) - 1
    for word in b:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & full
    return len(a) - row.bit_count()
