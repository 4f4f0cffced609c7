"""`python -m behavesim`: the installed command, found by its entry point, for the library knows nothing of it."""

from importlib.metadata import entry_points

if __name__ == "__main__":
    next(iter(entry_points(group="console_scripts", name="behavesim"))).load()()
