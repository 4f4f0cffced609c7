"""Similarity of programs as texts: BLEU, CrystalBLEU without common n-grams, ROUGE-L; distance by shared subtrees."""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from behavesim.base.text import parse

# Most words of the n-grams that are compared, as in the paper.
LONGEST = 4
# Number of matches assumed for an n-gram length without any, so that its logarithm is finite (smoothing method 1 of
# Chen and Cherry 2014).
EPSILON = 0.1
# Number of most frequent n-grams that CrystalBLEU ignores: with repetition, 23 % of all in the programs of the thirty
# pairs. The authors' 500 would be 53 %.
SHARED = 50

# Consecutive words.
Ngram = tuple[str, ...]


def bleu(reference: str, candidate: str) -> float:
    """Return the BLEU (Papineni and others 2002) of one Python source against another, in [0, 1]; not symmetric."""
    return bleu_of_words(words(reference), words(candidate))


def crystal_bleu(corpus: Iterable[str]) -> Callable[[str, str], float]:
    """Return a BLEU of Python sources, in [0, 1], that ignores the SHARED most frequent n-grams of the `corpus`.

    See Eghbali and Pradel (2022). N-grams of all lengths are counted together; ties go to the one counted first.
    """
    frequent = Counter[Ngram]()
    for source in corpus:
        for length in range(1, LONGEST + 1):
            frequent.update(_ngrams(words(source), length))
    shared = frozenset(ngram for ngram, _ in frequent.most_common(SHARED))
    return lambda reference, candidate: bleu_of_words(words(reference), words(candidate), shared)


def bleu_of_words(reference: Sequence[str], candidate: Sequence[str], shared: Collection[Ngram] = frozenset()) -> float:
    """Return the BLEU of the candidate's words against the reference's, in [0, 1], without the n-grams in `shared`."""
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


def rouge(a: str, b: str) -> float:
    """Return ROUGE-L (Lin 2004): the F1 score of the longest common subsequence of two sources' tokens, in [0, 1]."""
    left, right = words(a), words(b)
    return 2 * _common(left, right) / (len(left) + len(right)) if left or right else 1.0


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    # The table of lengths is computed row by row, each row as the bits of one integer: bit i is 0 if the length grows
    # by one at column i. This is the algorithm of Crochemore and others, "A fast and practical bit-vector algorithm for
    # the longest common subsequence problem" (2001).
    places: dict[str, int] = {}
    for place, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << place
    row = full = (1 << len(a)) - 1
    for word in b:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & full
    return len(a) - row.bit_count()


# Kinds of tokens that are left out: layout and comments.
_LAYOUT = {
    *(tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    tokenize.COMMENT,
}
# Number of programs whose tokens are cached: to compare all with all, each is needed many times.
KEPT = 1000


@lru_cache(KEPT)
def words(source: str) -> tuple[str, ...]:
    """Return the tokens of Python source without comments and layout; of any other text what `text_words` does."""
    try:
        found = tokenize.generate_tokens(io.StringIO(source).readline)
        return tuple(token.string for token in found if token.type not in _LAYOUT)
    except (tokenize.TokenError, SyntaxError):
        return text_words(source)


def text_words(text: str) -> tuple[str, ...]:
    """Return the words of any text and, one by one, its other characters, in order; white space is left out."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))


# Distances of programs by the subtrees that their syntax trees do not share.


def subtree_distances(sources: Sequence[str]) -> NDArray[np.float64]:
    """Return (N, N) distances of programs: 1 − 2 · common subtrees / all subtrees of two syntax trees, in [0, 1].

    Subtrees are counted with repetition. Of a text that is no Python the lines are counted in place of subtrees.
    """
    counters = [_parts(source) for source in sources]
    names = {name: column for column, name in enumerate(dict.fromkeys(name for each in counters for name in each))}
    # one matrix for all programs: numpy takes the minima of a row with all others at once
    counts = np.zeros((len(sources), len(names)), dtype=np.int32)
    for row, each in enumerate(counters):
        counts[row, [names[name] for name in each]] = list(each.values())
    common = np.array([np.minimum(row, counts).sum(axis=1) for row in counts])
    sizes = counts.sum(axis=1)
    found: NDArray[np.float64] = 1 - 2 * common / (sizes[:, None] + sizes[None, :])
    return found


@lru_cache(256)  # the programs of an archive are compared again with every newcomer
def _parts(source: str) -> Mapping[str, int]:
    try:
        nodes = [node for node in ast.walk(parse(source)) if not isinstance(node, ast.expr_context)]
        return Counter(map(ast.dump, nodes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter(source.splitlines() or [""])
