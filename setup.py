"""The folders `cli/` and `tasks/` become `behavesim_cli` and `behavesim_tasks`: no wheel puts a `cli` into site-packages."""

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
