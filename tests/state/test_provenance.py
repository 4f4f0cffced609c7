"""A task is known again: by another process, and after its instances have been used."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import TaskError
from behavesim.state.settings import (
    DECISIVE,
    _Pickler,
    changed_parts,
    hashes_elsewhere,
    instances_hash,
    value_hash,
)
from behavesim.task import SPLITS, TaskReference
from tests.engine.toys import Toy

NAMES = ("tsp", "tsp_hard", "asp", "cpp", "bin_packing")
ARRAYS = (
    np.arange(6.0).reshape(2, 3),
    np.float64(0.5),
    np.dtype("<i4"),
    np.array([1, "a", None], dtype=object),
    np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]),
    np.array("2020-01-02", dtype="datetime64[D]"),
)
ASK = """
import json
from behavesim.state.settings import instances_hash
from behavesim.task import SPLITS, TaskReference
tasks = [TaskReference(name).load() for name in {names}]
print(json.dumps([[instances_hash(task, split) for split in SPLITS] for task in tasks]))
"""


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, list[str]]:
    """The hashes of all splits as another process finds them."""
    run = subprocess.run([sys.executable, "-c", ASK.format(names=NAMES)], capture_output=True, text=True, check=True)
    return dict(zip(NAMES, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_instances_are_known_again_in_another_process_and_after_their_first_use(
    name: str, elsewhere: dict[str, list[str]]
) -> None:
    task = TaskReference(name).load()
    instance = task.instances("search")[0]
    namespace: dict[str, object] = {}
    exec(task.template, namespace)
    solution = task.solve(namespace[task.entry_point], instance)  # type: ignore[arg-type]
    task.score(instance, solution)
    task.trajectory(instance, solution)
    assert [instances_hash(task, split) for split in SPLITS] == elsewhere[name]


class Sized:
    def __init__(self, size: int) -> None:
        self.size = size

    @cached_property
    def square(self) -> int:
        return self.size**2


class Called(Sized):
    """Pickled as a call of its class, without a state."""

    def __reduce__(self) -> Any:
        return Called, (self.size,)


class Slotted:
    __slots__ = ("__dict__", "size")

    def __init__(self, size: int) -> None:
        self.size = size

    @cached_property
    def square(self) -> int:
        return self.size**2


class Bare:
    @cached_property
    def answer(self) -> int:
        return 42


class Rebuilt(Sized):
    """Is pickled as the call that makes it, without a state."""

    def __reduce__(self) -> Any:
        return Rebuilt, (self.size,)


def hashed(instances: Any) -> str:
    return instances_hash(SimpleNamespace(name="t", instances=lambda split: instances), "search")  # type: ignore[arg-type]


def test_an_instance_that_holds_nothing_but_a_cached_property_is_known_again() -> None:
    used = Bare()
    assert used.answer == 42
    assert hashed([used]) == hashed([Bare()])


@pytest.mark.parametrize(
    ("instances", "said"),
    [((n for n in range(3)), "must return a list"), ([], "gives none"), ([lambda: 0], "cannot be pickled")],
)
def test_instances_that_cannot_be_used_or_written_down_are_refused_in_a_line(instances: Any, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        hashed(instances)


@pytest.mark.parametrize("made", [Sized, Slotted, Called])
def test_other_instances_have_another_hash_and_cached_properties_none(made: Any) -> None:
    unused, used = hashed([made(3)]), made(3)
    assert used.square == 9
    assert hashed([used]) == unused != hashed([made(4)])
    assert hashed([used, made(4)]) != hashed([made(4), used])


def test_an_instance_that_is_written_as_the_call_that_makes_it_is_known_again() -> None:
    assert hashed([Rebuilt(3)]) == hashed([Rebuilt(3)]) != hashed([Rebuilt(4)])


def test_no_place_in_numpy_is_part_of_the_hash() -> None:
    written = io.BytesIO()
    _Pickler(written, protocol=4).dump([Sized(3), *ARRAYS])  # type: ignore[arg-type]
    assert b"numpy" not in written.getvalue()


@pytest.mark.parametrize(
    "other",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6.0).reshape(2, 3).astype(np.float32),
        np.arange(6).reshape(2, 3),
        np.arange(6.0).reshape(2, 3) + np.eye(2, 3),
        np.arange(6.0),
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
    ],
)
def test_arrays_are_known_by_their_type_shape_and_elements(other: Any) -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert hashed([array]) == hashed([np.asfortranarray(array)]) == hashed([array.copy()[:, :]]) != hashed([other])


def test_records_and_objects_are_known_by_their_fields_and_elements() -> None:
    assert len({hashed([each]) for each in ARRAYS}) == len(ARRAYS)
    renamed = ARRAYS[4].astype([("a", "<i4"), ("c", "<f8")])
    assert hashed([ARRAYS[4]]) == hashed([ARRAYS[4].copy()]) != hashed([renamed])
    assert hashed([ARRAYS[3]]) == hashed([ARRAYS[3].copy()]) != hashed([ARRAYS[3][::-1]])
    one, other = (np.array([Fraction(1, 3), None], dtype=object) for _ in range(2))
    assert hashed([one]) == hashed([other]), "equal objects at other places in memory"


OWN = """
import behavesim as bs

class City:
    def __init__(self, x):
        self.x = x

class Mine(bs.Task):
    template, objective = "def f():\\n    return 0\\n", bs.Objective("minimise")
    instances = lambda self, split: [City(3), City]
    solve = score = trajectory = lambda *given: None

task = Mine()
"""


def test_instances_of_a_class_in_the_tasks_file_are_known_again_wherever_the_file_is(tmp_path: Path) -> None:
    hashes = set()
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.py").write_text(OWN)
        hashes.add(instances_hash(TaskReference(str(tmp_path / place / "mine.py")).load(), "search"))
    assert len(hashes) == 1


WORDS = """
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
import numpy as np
import behavesim as bs

class Names(set):
    pass

class Keyed:
    def __new__(cls, *, names):
        made = super().__new__(cls)
        made.names = names
        return made

    def __getnewargs_ex__(self):
        return (), {"names": self.names}

@dataclass
class Graph:
    nodes: frozenset
    edges: dict = field(default_factory=dict)

WORDS = frozenset(f"word {number}" for number in range(30))
NESTED = frozenset(frozenset((a, b)) for a in WORDS for b in WORDS)

class Mine(bs.Task):
    template, objective = "def f():\\n    return 0\\n", bs.Objective("minimise")
    solve = score = trajectory = lambda *given: None

    def instances(self, split):
        return [
            [WORDS, [set(WORDS)], (1, {"words": WORDS})],
            NESTED,
            {word: {(word, 1): WORDS} for word in WORDS},
            {pair: 1.5 for pair in NESTED},
            Graph(WORDS, {word: WORDS for word in WORDS}),
            Keyed(names=WORDS),
            Names(WORDS),
            SimpleNamespace(words=[WORDS]),
            Counter(WORDS),
            defaultdict(set, {word: set(WORDS) for word in WORDS}),
            OrderedDict(first=WORDS),
            np.array([WORDS, None], dtype=object),
            10**5000,
        ]

task = Mine()
"""


def test_sets_and_dictionaries_are_known_again_in_a_process_that_lists_them_otherwise(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(WORDS)
    reference = TaskReference(str(tmp_path / "words.py"))
    here = instances_hash(reference.load(), "search")
    load = f"from behavesim.task import TaskReference; task = TaskReference({reference.text!r}).load()"
    ask = f"{load}; print(list(task.instances('search')[1]))"
    listed = set()
    for seed in ("1", "2"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONHASHSEED", seed)
            assert asyncio.run(hashes_elsewhere(reference))["search"] == here
            listed.add(subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True).stdout)
    assert len(listed) == 2, "the processes list the sets in one order, so that nothing was tried"


ATOMS = st.one_of(st.integers(-3, 3), st.text("ab", max_size=2), st.none(), st.floats(0, 1), st.booleans())
HASHABLE = st.recursive(ATOMS, lambda held: st.frozensets(held, max_size=4) | st.tuples(held, held), max_leaves=6)
VALUES = st.recursive(
    HASHABLE,
    lambda held: st.lists(held, max_size=3) | st.dictionaries(HASHABLE, held, max_size=4) | st.sets(HASHABLE),
    max_leaves=10,
)


def turned(value: Any) -> Any:
    """An equal value whose dictionaries were filled the other way round, and its sets too."""
    if isinstance(value, list | tuple):
        return type(value)(map(turned, value))
    if isinstance(value, dict):
        return {turned(key): turned(held) for key, held in reversed(value.items())}
    return type(value)(reversed([*value])) if isinstance(value, set | frozenset) else value


@given(value=VALUES, other=VALUES)
def test_equal_values_have_one_hash_and_others_another(value: Any, other: Any) -> None:
    assert value_hash(turned(value)) == value_hash(value)
    assert value_hash([turned(value)]) == value_hash([value])
    if value != other:
        assert value_hash(other) != value_hash(value)


@pytest.mark.parametrize("key", DECISIVE)
def test_whatever_decides_is_named_where_it_changed_came_or_went(key: str) -> None:
    task = Toy()  # the older hash of its instances, which have no arrays, is the same
    then = {**dict.fromkeys(DECISIVE, "same"), "instances": instances_hash(task, "search"), "numpy": "1"}
    gone = {name: value for name, value in then.items() if name != key}
    assert changed_parts(then, {**then, "numpy": "2"}) == []
    for one, other in (({**then, key: "changed"}, then), (gone, then)):
        assert changed_parts(one, other) == [key]
