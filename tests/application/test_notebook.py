"""The notebook of the documentation, carried out in a real kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from behavesim.analysis.run import Run
from behavesim.base.errors import BehavesimError
from tests.crash.processes import FEW_CITIES

NOTEBOOK = Path(__file__).parents[2] / "docs" / "search.ipynb"


def test_the_notebook_searches_goes_on_and_compares(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("application/vnd.vegalite.v5+json" in output.get("data", {}) for output in stored) == 4
    for cell in notebook.cells:  # fewer candidates and seeds
        cell.source = cell.source.replace("BUDGET = 200", "BUDGET = 4").replace("(1, 2)", "(1,)").replace("(3)", "(2)")
    client = NotebookClient(notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    texts = [str(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("4/4 tried" in text for text in texts)
    assert any("(4, 6.53344334553514, " in text for text in texts)
    assert any("<run sampling-0: tsp, best-of-n, seed 0; 4 candidates" in text for text in texts)
    assert any("2 runs per group are too few for any result below 0.33" in text for text in texts)
    assert len(list((tmp_path / "runs").iterdir())) == 4


CELL = f"import behavesim as bs; bs.search_sync({FEW_CITIES!r}, proposer='genetic', budget=5000, name='cut')"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A kernel's manager and its client."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def registered(run: Path) -> int:
    """How many candidates a run has registered; 0 before it has begun."""
    try:
        return Run.load(run).state.registered
    except BehavesimError:
        return 0


def test_a_search_in_a_cell_is_stopped_in_order_by_an_interrupt(tmp_path: Path, kernel: tuple[Any, Any]) -> None:
    manager, client = kernel
    asked = client.execute(CELL)
    until = time.monotonic() + 120
    while registered(tmp_path / "runs" / "cut") == 0 and time.monotonic() < until:
        time.sleep(0.1)
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=500))["parent_header"]["msg_id"] != asked:
        pass  # the kernel's answer to what its start asked
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    left = Run.load(tmp_path / "runs" / "cut").state
    assert left.stopped == "interrupted"
    assert left.registered < 5000
