"""What is imported is declared, what is declared is imported, and each says what it is for."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {
    "behavesim",
    "behavesim_cli",
    "behavesim_tasks",
    "behavesim_offline",
    "behavesim_studies",
    *("benchmarks", "tests"),
    *(p.stem for p in (ROOT / "benchmarks").rglob("*") if p.suffix in ("", ".py")),
}
IMPORTED_AS = {"yaml": "pyyaml", "vl_convert": "vl_convert_python"}
"""The packages whose modules have another name."""
PEERS = {"openevolve", "llm4ad", "shinka", "eoh"}
"""Packages that `benchmarks/loop.py` has in environments of their own, or whose evaluators import stand-ins of ours."""


def declared(*extras: str) -> set[str]:
    """The import names of what is required, with that of some extras; ours are spelled like their packages."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in PROJECT["optional-dependencies"][extra])]
    return {re.split(r"[^\w.-]", text)[0].replace("-", "_") for text in texts}


@cache
def imported(folder: str) -> frozenset[str]:
    """The packages of others that a folder's modules import, wherever in them."""
    names: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names.add(node.module.partition(".")[0])
    return frozenset(IMPORTED_AS.get(name, name) for name in names - set(sys.stdlib_module_names) - OURS - PEERS)


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("behavesim", ["pandas", "codebleu", "embeddings", "dask", "figures", "mcp", "mlflow", "tensorboard", "wandb"]),
        ("cli", []),
        ("tasks", ["bbob"]),
        ("offline", []),
        ("studies", ["studies"]),
        ("tests", ["test", "pandas", "fuzz", "mutants"]),
        ("benchmarks", ["bench", "dask", "mcp", "solvers"]),
    ],
)
def test_what_is_imported_is_declared(folder: str, extras: list[str]) -> None:
    assert imported(folder) <= declared(*extras)


def test_what_is_required_is_imported_and_the_documentation_says_what_for() -> None:
    assert declared() <= imported("behavesim") | imported("cli") | imported("tasks") | imported("studies")
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    assert {name.replace("-", "_") for name in re.findall(r"^\| ([\w-]+) \| ", page, re.MULTILINE)} == {
        "package",
        *declared(),
    }


def test_the_versions_are_tried_with_tests_that_are_there() -> None:
    tried = runpy.run_path(str(ROOT / ".ci/versions"))["TESTS"]
    assert [path for paths in tried.values() for path in paths if not (ROOT / path).exists()] == []
    assert tried.keys() <= PROJECT["optional-dependencies"].keys()
