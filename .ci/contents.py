"""Compare the files of a built wheel and sdist with those that git knows, and say which are missing or too many."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

FOLDERS = {"behavesim": "behavesim", **{name: f"behavesim_{name}" for name in ("cli", "offline", "studies", "tasks")}}
"""The folders of which the wheel has every file, and what each is called there."""
GENERATED = ("PKG-INFO", "setup.cfg", "behavesim.egg-info/")
"""What setuptools adds to an sdist."""
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py"}
"""Files beside the folders that an sdist has."""


def known() -> set[str]:
    """Return the files that git knows below these folders, as paths from the project's root."""
    listed = subprocess.run(["git", "ls-files", "-z", *FOLDERS], check=True, capture_output=True, text=True).stdout
    return set(listed.split("\0")) - {""}


def in_wheel(path: str) -> str:
    """Return a file's path in the wheel, from its path in the project."""
    folder, _, rest = path.partition("/")
    return f"{FOLDERS[folder]}/{rest}"


def differences(kind: str, found: set[str], expected: set[str]) -> list[str]:
    """Return a line for each file that is missing or that should not be there."""
    missing = [f"{kind}: {name} is missing" for name in sorted(expected - found)]
    return missing + [f"{kind}: {name} should not be there" for name in sorted(found - expected)]


def main(wheel: Path, sdist: Path) -> int:
    """Print the differences of both files, or how many files they have; return 1 if there are any, else 0."""
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        sources = {member.name.partition("/")[2] for member in archive if member.isfile()}
    sources = {name for name in sources if not name.startswith(GENERATED)}
    found = differences("wheel", packed, set(map(in_wheel, known())))
    found += differences("sdist", sources, known() | BESIDE | {"behavesim/reports/page/vendor/LICENSES"})
    print("\n".join(found) or f"wheel: {len(names)} files, sdist: {len(sources)}; git knows each, and none is missing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
