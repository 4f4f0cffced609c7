"""A wall as a site may have one: `python own_wall.py FOLDER… -- COMMAND` shows a command these folders alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from behavesim.sandbox import namespaces

if __name__ == "__main__":
    end = sys.argv.index("--")
    namespaces.enter_untried()
    namespaces.enter_root(map(Path, sys.argv[1:end]), ())
    os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
