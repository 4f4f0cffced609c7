"""Metrics of source: equal to the packages that are known for them, symmetric, 1 for equal programs."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from behavesim_studies.dataset import PAIRS
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import UsageError
from behavesim.code_similarity import metric as optional
from behavesim.code_similarity.metric import NAMES, Observed, OfSource, Similarity, missing, of_source
from behavesim.code_similarity.text import LONGEST, bleu, crystal_bleu, rouge, subtree_distances, words
from behavesim.code_similarity.trees import ast_similarity

SOURCES = sorted({program.source for pair in PAIRS for program in (pair.first, pair.second)})
TEXTS = [(pair.first.source, pair.second.source) for pair in PAIRS]
METRICS: list[Similarity] = [
    OfSource("rouge", rouge),
    OfSource("bleu", bleu, is_symmetric=False),
    OfSource("crystalbleu", crystal_bleu(SOURCES), is_symmetric=False),
    OfSource("ast", ast_similarity),
]


def test_words_are_those_of_python_without_layout_and_comments() -> None:
    assert words("def f(x):  # why\n    return x+1\n") == ("def", "f", "(", "x", ")", ":", "return", "x", "+", "1")
    assert words("x = (") == ("x", "=", "(")
    assert words("value = [1, 2") == ("value", "=", "[", "1", ",", "2")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: str(metric.name))
def test_a_metric_is_symmetric_between_0_and_1_and_1_for_equal_programs(metric: Similarity) -> None:
    for first, second in TEXTS:
        a, b = Observed(first), Observed(second)
        assert metric.similarity(a, b) == pytest.approx(metric.similarity(b, a), abs=1e-15)
        assert 0 <= metric.similarity(a, b) <= 1
        assert metric.similarity(a, a) == pytest.approx(1, abs=1e-15)


@given(st.text("ab+ \n", max_size=12))
def test_every_metric_of_a_text_with_itself_is_1_however_short_and_common_it_is(text: str) -> None:
    for name in NAMES:
        if not missing(name, None):
            metric = of_source(name, [text, text])
            assert metric.similarity(Observed(text), Observed(text)) == pytest.approx(1, abs=1e-15)
            assert metric.similarity(Observed("x = 1"), Observed("x = 1")) == 1


def test_a_package_s_metric_of_a_text_with_itself_is_1_whatever_the_package_says() -> None:
    asked = OfSource("codebleu", lambda a, b: 0.75, is_symmetric=False)
    assert asked.similarity(Observed("pass"), Observed("pass")) == 1
    assert asked.similarity(Observed("pass"), Observed("x = 1")) == 0.75


def test_codebleu_is_asked_for_python_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def calc_codebleu(references: list[str], candidates: list[str], language: str) -> dict[str, float]:
        assert (len(references), len(candidates), language) == (1, 1, "python")
        return {"codebleu": len(references[0]) / 10, "ngram_match_score": 1.0}

    monkeypatch.setattr(optional, "find_spec", lambda module: None)
    with pytest.raises(UsageError, match=r'codebleu is not installed: pip install "behavesim\[codebleu\]"'):
        of_source("codebleu", [])
    monkeypatch.setattr(optional, "find_spec", lambda module: module)
    monkeypatch.setitem(sys.modules, "codebleu", SimpleNamespace(calc_codebleu=calc_codebleu))  # type: ignore[arg-type]
    found = of_source("codebleu", []).similarity(Observed("x = 1"), Observed("y"))
    assert found == pytest.approx((0.5 + 0.1) / 2)
    assert missing("embedding", None) == "no model: --embedding-model NAME"


def longest_common_subsequence(a: str, b: str) -> int:
    """By the table of the textbook."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


@given(st.text("ab+", max_size=40), st.text("ab+", max_size=40))
def test_rouge_counts_the_longest_common_subsequence(a: str, b: str) -> None:
    left, right = words(" ".join(a)), words(" ".join(b))
    common = longest_common_subsequence("".join(left), "".join(right))
    assert rouge(" ".join(a), " ".join(b)) == (2 * common / (len(left) + len(right)) if left or right else 1)


def test_rouge_is_that_of_rouge_score() -> None:
    scorers = pytest.importorskip("rouge_score.rouge_scorer")

    class Tokenizer:
        tokenize = staticmethod(words)

    scorer = scorers.RougeScorer(["rougeL"], tokenizer=Tokenizer())
    for a, b in TEXTS:
        assert rouge(a, b) == pytest.approx(scorer.score(a, b)["rougeL"].fmeasure, abs=1e-9)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("x = 1", "x  =  1  # one", 1.0),
        ("x", "x ", 1.0),
        ("", "x = 1", 0.0),
        ("x = 1", "", 0.0),
        ("a + b", "c * d", 0.0),
    ],
)
def test_bleu_of_sources_that_share_all_words_or_none(reference: str, candidate: str, expected: float) -> None:
    assert bleu(reference, candidate) == expected


def test_texts_that_are_no_python_are_compared_line_by_line() -> None:
    found = subtree_distances(["x = (\ny = [", "x = (\nz", "x = (\ny = [", ""])
    assert found[0].tolist() == [0.0, 0.5, 0.0, 1.0]


def test_bleu_is_that_of_nltk() -> None:
    oracle = pytest.importorskip("nltk.translate.bleu_score")
    smoothing = oracle.SmoothingFunction().method1
    for a, b in TEXTS:
        expected = oracle.sentence_bleu([words(a)], words(b), smoothing_function=smoothing)
        assert bleu(a, b) == pytest.approx(expected, abs=1e-9)


def test_crystal_bleu_is_that_of_its_authors() -> None:
    oracle = pytest.importorskip("crystalbleu")
    counts = Counter(
        ngram
        for source in SOURCES
        for length in range(1, LONGEST + 1)
        for ngram in zip(*(islice(words(source), start, None) for start in range(length)), strict=False)
    )
    shared = dict(counts.most_common(50))
    smoothing = oracle.SmoothingFunction().method1
    ours = crystal_bleu(SOURCES)
    for a, b in TEXTS:
        pairs = ((words(a), words(b)), (words(b), words(a)))
        scores = [
            oracle.sentence_bleu([reference], candidate, smoothing_function=smoothing, ignoring=shared)
            for reference, candidate in pairs
        ]
        assert (ours(a, b), ours(b, a)) == pytest.approx(tuple(scores), abs=1e-9)


def test_edits_of_trees_are_those_of_apted() -> None:
    import ast

    apted = pytest.importorskip("apted")
    helpers = pytest.importorskip("apted.helpers")

    def tree(node: ast.AST) -> object:
        return helpers.Tree(type(node).__name__, *map(tree, ast.iter_child_nodes(node)))

    for a, b in TEXTS[6:20:4]:  # neither alike nor large: the other takes seconds for those
        left, right = ast.parse(a), ast.parse(b)
        edits = apted.APTED(tree(left), tree(right), apted.Config()).compute_edit_distance()
        size = max(len(list(ast.walk(left))), len(list(ast.walk(right))))
        assert ast_similarity(a, b) == pytest.approx(max(0, 1 - edits / size), abs=1e-9)


def branches(count: int) -> str:
    return "if a: b\n" + "elif a: b\n" * count


def test_trees_of_any_depth_that_python_parses_are_compared() -> None:
    assert ast_similarity(branches(500), branches(500)) == 1
    assert 0.9 < ast_similarity(branches(500), branches(499)) < 1
    assert ast_similarity("a\n" * 30, "-" * 60 + "a") == 0, "more edits than nodes are no negative similarity"
    with pytest.raises(SyntaxError, match="nested too deep"):
        ast_similarity(branches(20_000), "x")
