"""BLEU (Papineni and others 2002), and CrystalBLEU (Eghbali and Pradel 2022), which ignores n-grams that are common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from behavesim.code_similarity.metric import Observed
from behavesim.code_similarity.words import text_words, words

LONGEST = 4
"""Length of the longest n-grams compared, as in the paper."""
EPSILON = 0.1
"""Number of matches assumed for a length without any (smoothing method 1 of Chen and Cherry 2014)."""
SHARED = 50
"""Number of most frequent n-grams that CrystalBLEU ignores. The authors' 500 would leave hardly any in thirty pairs."""

Ngram = tuple[str, ...]


def bleu(reference: str, candidate: str) -> float:
    """Return the BLEU of one Python source against another, with n-grams up to LONGEST, in [0, 1]; not symmetric."""
    return bleu_of_words(words(reference), words(candidate))


def text_bleu(reference: str, candidate: str) -> float:
    """Return the BLEU of one text of any kind against another, by words and signs, in [0, 1]; not symmetric."""
    return bleu_of_words(text_words(reference), text_words(candidate))


@dataclass(frozen=True)
class CrystalBleu:
    """BLEU without the n-grams in `shared`, the most frequent ones of a corpus; the mean of both directions."""

    shared: Collection[Ngram]
    name: str = "crystalbleu"

    @classmethod
    def of(cls, corpus: Iterable[str], count: int = SHARED) -> CrystalBleu:
        """Return the metric that ignores the `count` most frequent n-grams, of all lengths, in the sources of a corpus.

        Ties go to the n-gram that occurs first.
        """
        frequent = Counter[Ngram]()
        for source in corpus:
            for length in range(1, LONGEST + 1):
                frequent.update(_ngrams(words(source), length))
        return cls(frozenset(ngram for ngram, _ in frequent.most_common(count)))

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the sources in [0, 1]."""
        left, right = words(a.source), words(b.source)
        return (bleu_of_words(left, right, self.shared) + bleu_of_words(right, left, self.shared)) / 2


def bleu_of_words(reference: Sequence[str], candidate: Sequence[str], shared: Collection[Ngram] = frozenset()) -> float:
    """Return the BLEU of one sequence of words against another, in [0, 1], without the n-grams in `shared`.

    Equal sequences have 1, and sequences without a common word 0.
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
    return Counter(zip(*(tokens[start:] for start in range(length)), strict=False))
