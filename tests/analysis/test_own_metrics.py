"""Metrics of one's own, by file and by entry point."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis.metrics import METRICS, available_metrics
from behavesim.base.errors import UsageError
from tests.packages import install

TEXT = """
import behavesim as bs
metric = bs.Metric("asked", "candidates", bs.Unit(".0f"), None, lambda run: run.summary.asked)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "asked.py"
    path.write_text(TEXT)
    return path


def test_ours_come_first_and_a_file_behind_them(file: Path) -> None:
    *ours, own = available_metrics([str(file), str(file), "best_gap"])
    assert tuple(ours) == METRICS
    assert own.name == "asked"


def test_a_package_adds_its_metrics_to_every_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, TEXT, "behavesim.metrics", anything="metric")
    assert [metric.name for metric in available_metrics()[len(METRICS) :]] == ["asked"]
    assert available_metrics(["asked"]) == available_metrics()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace('"asked"', '"best_gap"'), "called 'best_gap', as another is"),
        (TEXT.replace("bs.Metric", "tuple"), "raised TypeError"),
        ("metric = 3", "must be a behavesim.Metric, not 3"),
        ("metrics = []", "names no `metric`"),
        ("raise RuntimeError('one\\ntwo')", "raised RuntimeError: one two"),
    ],
)
def test_a_file_that_is_no_metric_is_refused_in_one_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        available_metrics([str(file)])
    assert "\n" not in str(caught.value)


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "import no_such_module", "behavesim.metrics", broken="metric")
    with pytest.raises(UsageError, match=r"the metric broken \(mine:metric\) raised ModuleNotFoundError.*uninstall it"):
        available_metrics()


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no metric 'best_gab'; did you mean 'best_gap'"):
        available_metrics(["best_gab"])
    with pytest.raises(UsageError, match="there are best_gap, top10_gap"):
        available_metrics(["zzzzzz"])
    with pytest.raises(UsageError, match=r"no metric 'candidates_to_gap_12\.5'; did you mean 'candidates_to_gap_12_5'"):
        available_metrics(["candidates_to_gap_12.5"])
    with pytest.raises(UsageError, match="there is no metric file"):
        available_metrics(["nowhere.py"])
