"""Similarity metrics of two programs: of sources, results and traces, and the data that they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import UsageError
from behavesim.base.text import one_line
from behavesim.code_similarity.text import bleu, crystal_bleu, rouge
from behavesim.trajectory import AlgorithmRun


@dataclass(frozen=True)
class Observed:
    """A program's source, and its solution, trajectory and trace on each instance; what was not recorded is empty."""

    source: str
    solutions: tuple[Any, ...] = ()
    trajectories: tuple[AlgorithmRun, ...] = ()
    traces: tuple[str, ...] = ()
    """Changes of variables as `name = value`, a line each; one text for each instance."""


class Similarity(Protocol):
    """A similarity metric of two programs: `similarity(a, b)` is in [0, 1], symmetric, and 1 for equal programs."""

    @property
    def name(self) -> str:
        """The metric's name in commands and documents, such as "codebleu"."""

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of two programs in [0, 1]."""


@dataclass(frozen=True)
class OfSource:
    """Similarity of two sources by a metric of texts: the mean of both directions unless it is symmetric."""

    name: str
    of_texts: Callable[[str, str], float]
    is_symmetric: bool = True

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the sources, 1 for equal ones."""
        if a.source == b.source:
            return 1.0  # CodeBLEU gives less to short sources, which have no data flow
        if self.is_symmetric:
            return self.of_texts(a.source, b.source)
        return (self.of_texts(a.source, b.source) + self.of_texts(b.source, a.source)) / 2


@dataclass(frozen=True)
class OfTraces:
    """Similarity of two programs' traces by a metric of texts: the mean over instances and both directions."""

    name: str
    of_texts: Callable[[str, str], float]

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the traces in [0, 1]."""
        pairs = list(zip(a.traces, b.traces, strict=True))
        return sum(self.of_texts(x, y) + self.of_texts(y, x) for x, y in pairs) / (2 * len(pairs))


@dataclass(frozen=True)
class Results:
    """The metric that is 1 if two programs' solutions are equal on every instance, else 0."""

    name: str = "results"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return 1.0 if the recorded solutions are equal, else 0.0."""
        return float(a.solutions == b.solutions)


# The names that `of_source` knows, in the order in which tables and commands list them.
NAMES = ("rouge", "bleu", "crystalbleu", "ast", "codebleu")


def of_source(name: str, corpus: Iterable[str]) -> OfSource:
    """Return the metric of one of NAMES; only CrystalBLEU uses the corpus, to find the n-grams that it ignores.

    Raises UsageError if the metric's package is not installed.
    """
    if how := missing(name, None):
        raise UsageError(f"{name} is {how}")
    from behavesim.code_similarity.trees import ast_similarity  # imported late: numba compiles it

    of_texts = {"rouge": rouge, "bleu": bleu, "ast": ast_similarity, "codebleu": codebleu}
    found = crystal_bleu(corpus) if name == "crystalbleu" else of_texts[name]
    return OfSource(name, found, is_symmetric=name in ("rouge", "ast"))


def source_matrix(metric: Similarity, sources: Sequence[str]) -> NDArray[np.float64]:
    """Return the (N, N) symmetric matrix of the similarities of N sources, with ones on the diagonal.

    Raises UsageError if the metric compares syntax trees and a source is not Python.
    """
    matrix = np.eye(len(sources))
    programs = [Observed(source) for source in sources]
    for row, column in zip(*np.triu_indices(len(sources), 1), strict=True):
        try:
            similarity = metric.similarity(programs[row], programs[column])
        except SyntaxError as error:
            raise UsageError(f"{metric.name} compares Python programs, and one is none: {error}") from None
        matrix[row, column] = matrix[column, row] = similarity
    return matrix


# The modules that each metric with optional packages imports, by the metric's name. Other metrics need none.
NEEDS = {
    "codebleu": ("codebleu", "tree_sitter_python"),
    "codebertscore": ("sentence_transformers",),
    "embedding": ("sentence_transformers",),
    "trace-embedding": ("sentence_transformers",),
}


def missing(metric: str, model: str | None) -> str:
    """Return what is missing for a metric, a package or a model, and how to get it; "" if nothing is."""
    if any(find_spec(module) is None for module in NEEDS.get(metric, ())):
        extra = "codebleu" if metric == "codebleu" else "embeddings"
        return f'not installed: pip install "behavesim[{extra}]"'
    if model is None and NEEDS.get(metric) == ("sentence_transformers",):
        return "no model: --embedding-model NAME"
    return ""


def codebleu(reference: str, candidate: str) -> float:
    """Return the CodeBLEU (Ren and others 2020) of a Python source against a reference, in [0, 1]; not symmetric.

    Raises ImportError if the package `codebleu` is not installed.
    """
    from codebleu import calc_codebleu

    return float(calc_codebleu([reference], [candidate], "python")["codebleu"])


def embeddings(model: str) -> tuple[Similarity, ...]:
    """Return three metrics by the embeddings of a sentence-transformers model, given by name or by its folder's path.

    They are the F1 score of the best matches of tokens ("codebertscore"; Zhou and others 2023), the cosine of programs
    ("embedding"), and the cosine of execution traces ("trace-embedding"). A negative value counts as 0. Raises
    UsageError if the model does not exist or cannot be downloaded.
    """
    from sentence_transformers import SentenceTransformer

    try:
        transformer = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        expected = "the name of a sentence-transformers model, or its folder"
        raise UsageError(
            f"no model {model!r} for embeddings ({one_line(str(error), 200)}); {expected} was expected"
        ) from None
    whole = cache(lambda text: _unit(transformer.encode(text)))
    each = cache(lambda text: _unit(np.asarray(transformer.encode(text, output_value="token_embeddings").cpu())))

    def cosine(a: str, b: str) -> float:
        return float(np.clip(whole(a) @ whole(b), 0.0, 1.0))

    return (
        OfSource("codebertscore", lambda a, b: _match_score(each(a), each(b))),
        OfSource("embedding", cosine),
        OfTraces("trace-embedding", cosine),
    )


def _match_score(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the F1 score of two texts' tokens (rows), each counted by its greatest cosine to one of the other."""
    cosines = a @ b.T
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return max(0.0, 2 * recall * precision / (recall + precision)) if recall + precision > 0 else 0.0


def _unit(vectors: Any) -> NDArray[Any]:
    """Return the vectors, (…, dimensions), divided by their lengths; a vector of length 0 becomes NaN."""
    found: NDArray[Any] = np.asarray(vectors) / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return found
