"""BLEU (Papineni and others 2002), and CrystalBLEU (Eghbali and Pradel 2022), which ignores n-grams that are common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from behavesim.code_similarity.words import text_words, words

LONGEST = 4
"""Most words of the n-grams that are compared, as in the paper."""
EPSILON = 0.1
"""Number of matches assumed for an n-gram length without any, so that its logarithm is finite (smoothing method 1 of
Chen and Cherry 2014)."""
SHARED = 50
"""Number of most frequent n-grams that CrystalBLEU ignores: with repetition, 23 % of all in the programs of the thirty
pairs. The authors' 500 would be 53 %."""

Ngram = tuple[str, ...]
"""Consecutive words."""


def bleu(reference: str, candidate: str) -> float:
    """Return the BLEU of one Python source against another, with n-grams up to LONGEST, in [0, 1]; not symmetric."""
    return bleu_of_words(words(reference), words(candidate))


def text_bleu(reference: str, candidate: str) -> float:
    """Return the BLEU of one text of any kind against another, in [0, 1]; not symmetric.

    N-grams of up to LONGEST words and other characters are compared.
    """
    return bleu_of_words(text_words(reference), text_words(candidate))


def crystal_bleu(corpus: Iterable[str]) -> Callable[[str, str], float]:
    """Return a BLEU of Python sources, in [0, 1], that ignores the SHARED most frequent n-grams of the `corpus`.

    The function takes a reference and a candidate as `bleu` does. N-grams of all lengths are counted together; ties go
    to the one counted first: source by source, shorter ones first.
    """
    frequent = Counter[Ngram]()
    for source in corpus:
        for length in range(1, LONGEST + 1):
            frequent.update(_ngrams(words(source), length))
    shared = frozenset(ngram for ngram, _ in frequent.most_common(SHARED))
    return lambda reference, candidate: bleu_of_words(words(reference), words(candidate), shared)


def bleu_of_words(reference: Sequence[str], candidate: Sequence[str], shared: Collection[Ngram] = frozenset()) -> float:
    """Return the BLEU of the candidate's words against the reference's, in [0, 1], without the n-grams in `shared`.

    Equal sequences have 1; sequences without a common word that is not in `shared` have 0. It is not symmetric.
    """
    if reference == candidate:
        return 1.0  # also where the words are fewer than the longest n-gram, or all n-grams are shared
    if not reference or not candidate:
        return 0.0
    precisions = []
    for length in range(1, LONGEST + 1):
        there = {ngram: n for ngram, n in _ngrams(reference, length).items() if ngram not in shared}
        here = {ngram: n for ngram, n in _ngrams(candidate, length).items() if ngram not in shared}
        matches = sum(min(n, there.get(ngram, 0)) for ngram, n in here.items())
        if length == 1 and not matches:
            return 0.0
        precisions.append((matches or EPSILON) / max(1, sum(here.values())))
    brevity = min(1.0, math.exp(1 - len(reference) / len(candidate)))
    return brevity * math.exp(math.fsum(math.log(p) for p in precisions) / LONGEST)


def _ngrams(tokens: Sequence[str], length: int) -> Counter[Ngram]:
    """Return how often each run of `length` consecutive tokens occurs."""
    return Counter(zip(*(tokens[start:] for start in range(length)), strict=False))
