"""Fuzzing guided by coverage: `python -m tests.fuzz TARGET --seconds 600`; needs `pip install atheris` (extra `fuzz`).

It begins with the seeds of the target and says what it found; put that into `tests/fuzz/corpus/TARGET`, where the suite
tries it from then on, and mend it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["behavesim"]):
    from tests.fuzz.mutation import CHANGES, WORDS
    from tests.fuzz.seeds import seeds
    from tests.fuzz.targets import TARGETS


def changed(target: str, data: bytes, longest: int, seed: int) -> bytes:
    """An input with one change: of the format where the target has one, half of the time, else of its bytes."""
    chance = random.Random(seed)
    if target in CHANGES and chance.random() < 0.5:
        found = CHANGES[target](data, chance)
        if len(found) <= longest:
            return found
    mutated: bytes = atheris.Mutate(data, longest)
    return mutated


def main() -> None:
    """Fuzz one target; never returns, as the fuzzer ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--longest", type=int, default=4096, help="bytes of an input")
    parser.add_argument("--found", type=Path, default=Path(tempfile.gettempdir()), help="where what breaks is written")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen.found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(chosen.target)):
            (Path(folder) / f"{number:04}").write_bytes(data)
        words = Path(folder).with_suffix(".words")
        words.write_text("".join(f"{_quoted(word)}\n" for word in WORDS[chosen.target]))
        limits = [
            f"-max_total_time={chosen.seconds}",
            f"-max_len={chosen.longest}",
            "-timeout=30",
            "-rss_limit_mb=4096",
        ]
        where = [f"-artifact_prefix={chosen.found}/{chosen.target}-", f"-dict={words}", "-print_final_stats=1", folder]
        atheris.Setup(
            [sys.argv[0], *limits, *where],
            TARGETS[chosen.target],
            custom_mutator=lambda data, longest, seed: changed(chosen.target, data, longest, seed),
        )
        atheris.Fuzz()


def _quoted(word: str) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word.encode()) + '"'


if __name__ == "__main__":
    main()
