"""The wheel has every file of its folders: each folder of code is a package, and pyproject.toml names all data."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import behavesim

ROOT = Path(__file__).parents[2]
FOLDERS = {"behavesim": "behavesim", **{f"behavesim_{name}": name for name in ("cli", "offline", "studies", "tasks")}}
"""The folder of each package, as setup.py has it."""
DATA: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]


@pytest.fixture(scope="module")
def files() -> set[str]:
    """The files that git knows in these folders, or would add, as paths from the root."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git, or no repository")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FOLDERS.values()]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {path for path in listed.split("\0") if path and (ROOT / path).exists()}


def test_each_folder_of_code_is_a_package(files: set[str]) -> None:
    folders = {folder for file in files if file.endswith(".py") for folder in list(Path(file).parents)[:-1]}
    assert {str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()} == set()


def test_all_other_files_are_named_as_data(files: set[str]) -> None:
    assert set(DATA) <= set(FOLDERS)
    named = {
        str(path.relative_to(ROOT))
        for package, patterns in DATA.items()
        for pattern in patterns
        for path in (ROOT / FOLDERS[package]).glob(pattern)
    }
    assert {file for file in files if not file.endswith(".py")} - named == set()


def test_each_pattern_of_data_names_a_file() -> None:
    patterns = [(package, pattern) for package, all_patterns in DATA.items() for pattern in all_patterns]
    assert [each for each in patterns if not any((ROOT / FOLDERS[each[0]]).glob(each[1]))] == []


def test_the_version_is_the_same_everywhere() -> None:
    version = behavesim.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()
