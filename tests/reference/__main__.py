"""Writes the generated pages of docs/reference: `python -m tests.reference`."""

from __future__ import annotations

from pathlib import Path

from tests.reference.pages import PAGES

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(page())
