"""The notebook of the documentation, carried out in a real kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "search.ipynb"


def test_the_notebook_searches_goes_on_and_compares(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    texts = [str(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("16/16 done" in text for text in texts)
    assert any("(20," in text for text in texts)
    assert any("array([[1." in text for text in texts)
    assert "def " in texts[-1]
    assert len(list((tmp_path / "runs").iterdir())) == 1
