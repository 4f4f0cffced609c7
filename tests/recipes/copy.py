"""A copy of this tree in which a recipe of CONTRIBUTING.md is carried out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"behavesim": "behavesim", **{f"behavesim_{name}": name for name in ("cli", "offline", "studies", "tasks")}}
FILES = ("CONTRIBUTING.md", "README.md", "pyproject.toml", "setup.py")


def blocks(recipe: str) -> list[str]:
    """The code blocks below a heading of CONTRIBUTING.md, in their order."""
    _, _, below = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {recipe}\n")
    return re.findall(r"```\w+\n(.*?)```", below.partition("\n## ")[0], re.DOTALL)


def pieces(block: str) -> list[str]:
    """What a block adds at one place after another: its parts between blank lines."""
    return [f"{piece.rstrip()}\n" for piece in block.split("\n\n")]


class Copy:
    """The tree below `root`; what runs there imports the copy and nothing of the original."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        for name in (*PACKAGES.values(), "docs", "tests"):
            shutil.copytree(ROOT / name, self.root / name)  # with what Python and numba have compiled of it
        for name in FILES:
            shutil.copy(ROOT / name, self.root / name)
        self._site = folder / "site"
        self._site.mkdir()
        for package, inner in PACKAGES.items():
            (self._site / package).symlink_to(self.root / inner)
        self._before = self._contents()

    def add_after(self, path: str, holding: str, text: str) -> None:
        """Add lines behind the first that holds a text."""
        lines = (self.root / path).read_text().splitlines(keepends=True)
        place = next(number for number, each in enumerate(lines) if holding in each)
        (self.root / path).write_text("".join([*lines[: place + 1], text, *lines[place + 1 :]]))

    def add_before(self, path: str, holding: str, text: str) -> None:
        """Add lines before the first that holds a text."""
        before, found, after = (self.root / path).read_text().partition(holding)
        assert found, f"{path} has no {holding!r}"
        start = before.rfind("\n") + 1
        (self.root / path).write_text(before[:start] + text + before[start:] + found + after)

    def touched(self) -> set[str]:
        """The files that are new or were changed."""
        return {path for path, content in self._contents().items() if self._before.get(path) != content}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with arguments in the copy."""
        env = {**os.environ, "PYTHONPATH": str(self._site), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, *arguments], cwd=self.root, env=env, capture_output=True, text=True)

    def _contents(self) -> dict[str, bytes]:
        files = (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}
