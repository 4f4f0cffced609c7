"""Metrics by embeddings, of a model that knows a text by the letters of its words."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import UsageError
from behavesim.code_similarity.metric import Observed, embeddings
from tests.cli.command import Command


class Letters:
    """A stand-in for sentence_transformers.SentenceTransformer: a text is its counts of letters, word by word."""

    def __init__(self, model: str) -> None:
        if model != "letters":
            raise OSError(f"{model} is not a local folder\nand is not a valid model identifier")

    def encode(self, text: str, output_value: str = "sentence_embedding") -> Any:
        words = np.array([[word.count(letter) + 0.01 for letter in "abcd"] for word in text.split()])
        return words.sum(axis=0) if output_value == "sentence_embedding" else _OnCpu(words)


class _OnCpu:
    """As tensors are: they have to be fetched."""

    def __init__(self, words: Any) -> None:
        self._words = words

    def cpu(self) -> Any:
        return self._words


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.SentenceTransformer = Letters  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def of(metric: str, a: str, b: str) -> float:
    found = {each.name: each for each in embeddings("letters")}[metric]
    return found.similarity(Observed(a, traces=(a,)), Observed(b, traces=(b,)))


@pytest.mark.parametrize("metric", ["codebertscore", "embedding", "trace-embedding"])
def test_equal_texts_are_alike_and_those_that_share_no_letter_are_not(metric: str) -> None:
    assert of(metric, "aab b", "aab b") == pytest.approx(1.0)
    assert of(metric, "aab b", "cc d") < 0.05
    assert of(metric, "aab b", "ab cd") == pytest.approx(of(metric, "ab cd", "aab b"))


def test_programs_are_compared_as_a_whole_by_the_cosine_and_by_tokens_by_their_best_matches() -> None:
    assert of("embedding", "a a a", "a b") == pytest.approx(1 / np.sqrt(2), abs=0.02)
    recall, precision = 1.0, 1 / 2  # each "a" finds an "a", and "b" finds next to nothing
    assert of("codebertscore", "a a a", "a b") == pytest.approx(2 * recall * precision / (recall + precision), abs=0.02)


def test_a_model_that_there_is_none_of_is_refused_in_one_line(behavesim: Command) -> None:
    with pytest.raises(UsageError, match="no model 'nosuch' for embeddings"):
        embeddings("nosuch")
    refused = behavesim("study", "similarity", "--embedding-model", "nosuch")
    assert refused.code == 2
    assert "nosuch is not a local folder and is not a valid model identifier" in " ".join(refused.err.split())
    assert "Traceback" not in refused.err
