"""Whether programs that behave alike also look alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis import difference as module
from behavesim.analysis.difference import Pair, agreement
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.code_similarity.metric import missing
from behavesim.code_similarity.text import rouge
from tests.analysis.journals import feasible, journalled, started

SOURCES = ("x = 1\n", "x = 2\n", "def f(a):\n    return [a, a, a]\n")
HERE = None if missing("codebleu", None) else "codebleu"
"""CodeBLEU, which comes before all others, where it is installed."""


def run(folder: Path, sources: tuple[str, ...] = SOURCES) -> Run:
    tours = ([0, 1, 2, 3], [0, 3, 2, 1], [0, 1, 2, 3])
    parts = zip(sources, tours, strict=True)
    return journalled(
        folder, started(), *(feasible(k, 3.0 + k, tour, source=source) for k, (source, tour) in enumerate(parts))
    )


def test_the_pair_is_first_that_is_alike_in_one_way_and_least_alike_in_the_other(tmp_path: Path) -> None:
    found = agreement(run(tmp_path / "first"), "ast")
    assert found.candidates == (0, 1, 2)
    assert found.source[0, 1] == 1.0  # the trees know nothing of numbers
    assert found.behaviour[0, 2] == 1.0
    unlike = float(found.behaviour[0, 1])
    first, second, third = found.disagreements()
    assert first == Pair(0, 1, unlike, 1.0)
    assert second == Pair(0, 2, 1.0, float(found.source[0, 2]))
    assert (third.a, third.b) == (1, 2)


def test_unless_it_is_named_the_metric_is_one_that_suits_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agreement(run(tmp_path / "python")).metric == (HERE or "ast")
    texts = agreement(run(tmp_path / "texts", ("no Python", "no more Python", "no Python at all")))
    assert texts.metric == (HERE or "rouge")
    monkeypatch.setattr(module, "AST_CHARACTERS", 10)
    found = agreement(run(tmp_path / "long"))
    assert found.metric == (HERE or "rouge")
    if HERE is None:
        assert found.source[0, 1] == rouge(*SOURCES[:2])


def test_fewer_than_two_programs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds 1 programs; clustering takes two or more"):
        agreement(journalled(tmp_path / "first", started(), feasible(0, 3.0)))
