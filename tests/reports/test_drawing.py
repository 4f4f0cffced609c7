"""Without the packages that draw, whatever draws says so before it does anything else, and how to install it."""

from __future__ import annotations

from pathlib import Path

import behavesim_studies.figures
import pytest
from behavesim_studies.similarity import visual_study

import behavesim as bs
from behavesim.base.errors import UsageError
from behavesim.reports import chart
from tests.analysis.journals import feasible, started, stopped, write
from tests.cli.command import Command

SAID = "figures need the package vl-convert-python, which is not installed; pip install 'behavesim[figures]'"
OF_STUDIES = "figures of studies need the package matplotlib, which is not installed; pip install 'behavesim[studies]'"


@pytest.fixture(autouse=True)
def without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is looked for is installed."""
    for module in (chart, behavesim_studies.figures):
        monkeypatch.setattr(module, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    "line",
    [
        "report nosuchrun --figures F",
        "study visualise --figures F",
        "compare tsp template template --figure likeness.svg",
    ],
)
def test_a_command_that_should_draw_is_refused_in_one_line(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = behavesim(*line.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1 and (OF_STUDIES if "study" in line else SAID) in ended.err
    assert not list(tmp_path.iterdir())


def test_python_is_told_the_same(tmp_path: Path) -> None:
    write(tmp_path / "runs/first", started(), feasible(0, 3.0), stopped("budget"))
    chart = bs.load_run(tmp_path / "runs/first").plot.convergence()
    for said, draw in (
        (SAID, lambda: chart.write(tmp_path / "x.svg")),
        (OF_STUDIES, lambda: visual_study().draw(tmp_path)),
    ):
        with pytest.raises(UsageError) as caught:
            draw()
        assert str(caught.value) == said
