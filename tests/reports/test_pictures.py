"""The pictures of the documentation can be made again."""

from __future__ import annotations

from pathlib import Path

import behavesim as bs
from tests.reports import page_figures, tours

DOCS = Path(__file__).parents[2] / "docs"


def test_two_tours_are_drawn_with_their_lengths_and_the_certificate_with_each_fresh_instance(made: Path) -> None:
    run = bs.load_run(made)
    drawn = tours.picture(run)
    assert drawn.count('class="tour ') == 2
    assert drawn.count("tour of length") == 2
    assert drawn.count('class="gain"') == (run.certificate.fresh if run.certificate else 0)


def test_the_figure_of_portfolios_shows_the_tables_of_its_page() -> None:
    figure = page_figures.portfolios((DOCS / "explanation/portfolios.md").read_text())
    assert len(figure.axes) == 3
