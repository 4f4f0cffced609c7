"""A command that stands for a model, and fails as told: it answers by the prompt alone.

`python answering.py LOG SHARE` appends the number of each prompt to LOG; of SHARE of them it fails the first time.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from pathlib import Path


def main() -> int:
    log, share = Path(sys.argv[1]), float(sys.argv[2])
    text, number = sys.stdin.read(), os.environ["BEHAVESIM_NUMBER"]
    with log.open("a") as file:
        file.write(f"{number}\n")
    drawn = zlib.crc32(f"{number} {text}".encode())
    is_faulty = zlib.crc32(f"{number} fails".encode()) % 1000 < 1000 * share  # whatever the prompt's words are
    if is_faulty and log.read_text().split().count(number) == 1:
        print(text[:200])  # what a command writes before it fails is no reply
        print("Traceback\nRuntimeError: overloaded", file=sys.stderr)
        return 1 + drawn % 3
    known = [int(value) for value in re.findall(r"return (\d+)", text)]
    print(f"```python\ndef number() -> int:\n    return {(sum(known) + drawn) % 40}\n```")
    return 0


if __name__ == "__main__":
    sys.exit(main())
