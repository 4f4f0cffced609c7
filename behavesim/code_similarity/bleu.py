"""BLEU (Papineni and others 2002), and CrystalBLEU (Eghbali and Pradel 2022), which leaves out what all code shares."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from behavesim.code_similarity.metric import Observed
from behavesim.code_similarity.words import text_words, words

LONGEST = 4
EPSILON = 0.1
"""Counts as so many matches where there is none of a length (smoothing method 1 of Chen and Cherry 2014)."""
SHARED = 50
"""How many n-grams count as shared by all code. The authors' 500 would leave hardly any of thirty pairs."""

Ngram = tuple[str, ...]


def bleu(reference: str, candidate: str) -> float:
    """The BLEU of one program against another, up to 4-grams, in [0, 1]; not symmetric."""
    return bleu_of_words(words(reference), words(candidate))


def text_bleu(reference: str, candidate: str) -> float:
    """The BLEU of any two texts, by their words and signs; not symmetric."""
    return bleu_of_words(text_words(reference), text_words(candidate))


@dataclass(frozen=True)
class CrystalBleu:
    """BLEU without the n-grams in `shared`, those that are most frequent in a corpus; the mean of both directions."""

    shared: Collection[Ngram]
    name: str = "crystalbleu"

    @classmethod
    def of(cls, corpus: Iterable[str], count: int = SHARED) -> CrystalBleu:
        """Sharing the most frequent n-grams of all lengths in these sources; of equally frequent ones, the first."""
        frequent = Counter[Ngram]()
        for source in corpus:
            for length in range(1, LONGEST + 1):
                frequent.update(_ngrams(words(source), length))
        return cls(frozenset(ngram for ngram, _ in frequent.most_common(count)))

    def similarity(self, a: Observed, b: Observed) -> float:
        """How alike the sources are."""
        left, right = words(a.source), words(b.source)
        return (bleu_of_words(left, right, self.shared) + bleu_of_words(right, left, self.shared)) / 2


def bleu_of_words(reference: Sequence[str], candidate: Sequence[str], shared: Collection[Ngram] = frozenset()) -> float:
    """Return the BLEU of one sequence of words against another, without the n-grams in `shared`; 1 for equal ones."""
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
