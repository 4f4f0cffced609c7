"""ROUGE-L (Lin 2004): how much of two texts is a common subsequence."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.code_similarity.words import words


def rouge(a: str, b: str) -> float:
    """The F1 score of the longest common subsequence of the tokens, in [0, 1]; symmetric."""
    left, right = words(a), words(b)
    return 2 * _common(left, right) / (len(left) + len(right)) if left or right else 1.0


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of its table at a time as the bits of one integer.

    Bit i is 0 where the table grows by one at column i (Crochemore and others, "A fast and practical bit-vector
    algorithm for the longest common subsequence problem", 2001).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << place
    row = full = (1 << len(a)) - 1
    for word in b:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & full
    return len(a) - row.bit_count()
