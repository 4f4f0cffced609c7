"""The command as a run of an experiment calls it: in a process that ends in order when the experiment's is killed."""

from __future__ import annotations

import signal

from . import app


def main() -> None:
    """Carry out the command line of this process."""
    from behavesim.sandbox.processes import die_with_parent

    die_with_parent(signal.SIGTERM)
    app.main()
