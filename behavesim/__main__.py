"""`python -m behavesim`: runs the command `behavesim`, found by its entry point: the library must not import it."""

from importlib.metadata import entry_points

if __name__ == "__main__":
    next(iter(entry_points(group="console_scripts", name="behavesim"))).load()()
