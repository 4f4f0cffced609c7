"""`behavesim study`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command


def test_a_study_is_a_table_for_people_and_a_document_for_machines(behavesim: Command, tmp_path: Path) -> None:
    shown = behavesim("study", "visualise", "--figures", tmp_path / "figures")
    assert shown.code == 0, shown.err
    assert "nearest and farthest city" in shown.out
    assert (tmp_path / "figures/routes.svg").exists()
    document = behavesim("study", "visualise", "--json").document
    assert set(document) == {"cities", "routes", "behavesim", "rouge"}


@pytest.mark.parametrize("name", ["main", "ablation"])
def test_what_needs_a_model_points_to_its_experiment(behavesim: Command, name: str) -> None:
    shown = behavesim("study", name)
    assert shown.code == 0
    assert f"behavesim experiment experiments/{name}" in shown.out


def test_an_unknown_study_is_a_usage_error(behavesim: Command) -> None:
    ended = behavesim("study", "nothing")
    assert ended.code == 2
    assert "Traceback" not in ended.err
