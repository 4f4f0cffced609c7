"""Print what an environment has installed, largest first, as a Markdown table. Run it with its own Python."""

from __future__ import annotations

from importlib.metadata import Distribution, distributions

SHOWN_MB = 5.0
"""Smaller packages are summed up in one row."""


def size_mb(package: Distribution) -> float:
    """Return the size of a package's files, with the compiled ones that its installer wrote, in MB (10⁶ bytes)."""
    places = (file.locate() for file in package.files or ())
    return sum(place.stat().st_size for place in places if place.is_file()) / 1e6


def main() -> None:
    """Print a row for each large package, one for the others, and one for all."""
    sizes = sorted(((size_mb(package), package.name, package.version) for package in distributions()), reverse=True)
    rest = [size for size, _, _ in sizes if size < SHOWN_MB]
    print("| what is installed | version | MB |\n|---|---|---|")
    for size, name, version in sizes[: len(sizes) - len(rest)]:
        print(f"| `{name}` | {version} | {size:.0f} |")
    print(f"| {len(rest)} others, each below {SHOWN_MB:.0f} MB | | {sum(rest):.0f} |")
    print(f"| all {len(sizes)} | | {sum(size for size, _, _ in sizes):.0f} |")


if __name__ == "__main__":
    main()
