"""A part of one's own: a file and none of ours, named by its path or installed by a package of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.analysis.journals import feasible, started, write
from tests.cli.command import Command
from tests.packages import install

ROOT = Path(__file__).parents[2]
RUN = ("--budget", 4, "--set", "recommend=false", "--json")


def example(page: str, heading: str) -> str:
    """The first Python block below a heading of a page."""
    _, _, below = (ROOT / "docs/how-to" / page).read_text().partition(f"\n## {heading}\n")
    return re.findall(r"^```python\n(.*?)^```$", below, re.DOTALL | re.MULTILINE)[0]


def written(behavesim: Command, noun: str) -> str:
    """The text of the file that a person begins with."""
    if noun == "proposer":
        return example("proposers.md", "A proposer of your own")
    if noun == "metric":
        return example("metrics.md", "A metric of your own")
    assert behavesim(noun, "init", "begun").code == 0
    begun = Path("begun.py")
    text = begun.read_text()
    begun.unlink()
    return text


def use(behavesim: Command, noun: str, name: str) -> bool:
    """Whether a part does its work under this name."""
    if noun == "metric":
        write(Path("runs/made"), started(), feasible(0, 5.0))
        (run,) = behavesim("report", "made", "--metric", name, "--json").document["runs"]
        return bool(run["metrics"]["candidates_to_best"] == 1)
    given = {
        "task": (name, "--method", "best-of-n"),
        "method": ("tsp", "--method", name),
        "proposer": ("tsp", "--method", "best-of-n", "--proposer", name),
    }
    ended = behavesim("run", *given[noun], *RUN).document
    return bool(ended["feasible"] > 0 and Path(ended[noun]).stem == "mine")


NOUNS = ("task", "method", "proposer", "metric")


@pytest.mark.parametrize("noun", NOUNS)
def test_a_part_of_ones_own_is_a_file(behavesim: Command, tmp_path: Path, noun: str) -> None:
    text = written(behavesim, noun)
    Path("mine.py").write_text(text)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.py"}
    assert use(behavesim, noun, "mine.py")


@pytest.mark.parametrize("noun", NOUNS)
def test_a_part_of_ones_own_comes_with_a_package(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noun: str
) -> None:
    text = written(behavesim, noun)
    install(monkeypatch, tmp_path / "site", text, f"behavesim.{noun}s", mine=noun)
    assert use(behavesim, noun, "candidates_to_best" if noun == "metric" else "mine")


def test_every_part_has_its_row_in_the_recipe() -> None:
    recipe = (ROOT / "CONTRIBUTING.md").read_text().partition("## A part of your own")[2]
    assert re.findall(r"^\| (\w+) \| (?:`|the)", recipe, re.MULTILINE) == list(NOUNS)
