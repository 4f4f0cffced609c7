"""`cli/` and `tasks/` are installed as `behavesim_cli` and `behavesim_tasks`: no wheel has a top-level `cli`."""

from setuptools import find_packages, setup

FOLDERS = {"behavesim": "behavesim", "behavesim_cli": "cli", "behavesim_tasks": "tasks"}

setup(
    package_dir=FOLDERS,
    packages=[
        name
        for package, folder in FOLDERS.items()
        for name in (package, *(f"{package}.{inner}" for inner in find_packages(folder)))
    ],
)
