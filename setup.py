"""`cli/` is installed as `behavesim_cli`, and so on: no wheel has a top-level `cli` or `tasks`."""

from setuptools import find_packages, setup

FOLDERS = {"behavesim": "behavesim", **{f"behavesim_{name}": name for name in ("cli", "offline", "studies", "tasks")}}

setup(
    package_dir=FOLDERS,
    packages=[
        name
        for package, folder in FOLDERS.items()
        for name in (package, *(f"{package}.{inner}" for inner in find_packages(folder)))
    ],
)
