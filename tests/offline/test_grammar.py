"""The notation of grammars: what it means, what it refuses, and that programs are read as they were written."""

import ast

import numpy as np
import pytest
from behavesim_offline.grammar import Grammar, fresh, generic_grammar, suits
from behavesim_offline.source import Reader, Writer

from behavesim.base.errors import TaskError

TEMPLATE = '''
import numpy as np

def rank(size: float, values: np.ndarray) -> np.ndarray:
    """What the template says about itself is not repeated."""
    return values
'''

TEXT = """
from math import tau

half: scalar = size / 2
middle: vector = values - half
vector = vector + vector | number * vector | np.where(vector > scalar, vector, vector) | values
scalar = number | vector.mean() | few
few = 1 | 2 | 3

score: vector
bound: scalar
# what every program ends with
return np.minimum(score, bound * tau)
"""


def reader_and_writer(text=TEXT, template=TEMPLATE, entry_point="rank"):
    grammar = Grammar.parse(text)
    return grammar, Reader(grammar, entry_point), Writer(grammar, template, entry_point)


def test_rules_definitions_roots_and_form_are_told_apart():
    grammar = Grammar.parse(TEXT)
    assert list(grammar.definitions) == ["half", "middle"]
    assert grammar.roots == {"score": "vector", "bound": "scalar"}
    assert {kind: len(rules) for kind, rules in grammar.rules.items()} == {
        "few": 3,
        "number": 0,
        "scalar": 4,
        "vector": 5,
    }
    assert [rule.holes for rule in grammar.rules["vector"]] == [
        (),
        ("vector", "vector"),
        ("number", "vector"),
        ("vector", "scalar", "vector", "vector"),
        (),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("score: vector\nreturn score", "no finite expression of type vector"),
        ("vector = vector + vector\nscore: vector\nreturn score", "no finite expression of type vector"),
        ("vector = 1\n", "no root"),
        ("vector = (\n", "no Python"),
        ("a: s = b\nb: s = 1\nscore: s\nreturn score", "not defined before"),
        ("a: s = a + 1\nscore: s\nreturn score", "not defined before"),
        ("test = a < b | c < d\nscore: test\nreturn score", "parentheses"),
    ],
)
def test_a_text_that_no_program_could_be_grown_from_is_refused(text, complaint):
    with pytest.raises(TaskError, match=complaint):
        Grammar.parse(text)


def test_programs_are_read_as_they_were_written():
    grammar, reader, writer = reader_and_writer()
    for seed in range(60):
        source = writer.write(fresh(grammar, np.random.default_rng(seed)))
        program = reader.read(source)
        assert program is not None, source
        assert reader.read(writer.write(program)) == program


def test_reading_does_not_depend_on_layout_comments_or_names_of_parts():
    _, reader, _ = reader_and_writer()
    plain = reader.read(
        "def rank(size, values):\n    score = 2 * (values + values)\n    bound = 0.5\n"
        "    return np.minimum(score, bound * tau)"
    )
    other = reader.read(
        'def rank(size, values):\n    """Twice."""\n    twice = values + values  # a part\n    bound = 0.5\n'
        "    score = (2 *\n        twice)\n    return np.minimum(score, bound * tau)"
    )
    assert plain == other is not None


@pytest.mark.parametrize(
    "body",
    [
        "return values",
        "score = values\n    return np.minimum(score, bound * tau)",
        "score = values\n    bound = unknown\n    return np.minimum(score, bound * tau)",
        "for i in values:\n        score = values\n    bound = 0.5\n    return np.minimum(score, bound * tau)",
        "score = values\n    bound = 0.5\n    return np.maximum(score, bound * tau)",
    ],
)
def test_what_the_rules_could_not_have_written_is_not_read(body):
    _, reader, _ = reader_and_writer()
    assert reader.read(f"def rank(size, values):\n    {body}") is None


def test_a_program_too_large_or_too_deep_to_be_changed_is_not_read():
    _, reader, _ = reader_and_writer()
    doubling = "".join(f"    v{i + 1} = v{i} + v{i}\n" for i in range(60))
    ending = "    bound = 0.5\n    return np.minimum(score, bound * tau)"
    assert reader.read(f"def rank(size, values):\n    v0 = values\n{doubling}    score = v60\n{ending}") is None
    deep = " + ".join(["values"] * 3000)
    assert reader.read(f"def rank(size, values):\n    score = {deep}\n{ending}") is None


def test_programs_are_ordinary_short_lines_with_the_definitions_they_use_and_no_others():
    grammar, _, writer = reader_and_writer()
    for seed in range(60):
        source = writer.write(fresh(grammar, np.random.default_rng(seed)))
        body = ast.parse(source).body[-1].body
        assigned = [node.targets[0].id for node in body[:-1]]
        read = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)} & set(assigned)
        assert read == set(assigned), "every line is used"
        assert len(assigned) == len(set(assigned)), "no name is used twice"
        assert ("half" in assigned) >= ("middle" in assigned), "a definition brings those it needs"
        assert max(map(len, source.splitlines()[4:])) < 100
        assert "# what every program ends with" in source
        assert source.startswith("import numpy as np\nfrom math import tau\n")


def test_equal_parts_are_computed_once():
    _, reader, writer = reader_and_writer()
    wide = "np.where(values > middle.mean(), values + middle, 2 * middle)"
    source = (
        f"def rank(size, values):\n    half = size / 2\n    middle = values - half\n    score = {wide} + {wide}\n"
        "    bound = 0.5\n    return np.minimum(score, bound * tau)"
    )
    assert writer.write(reader.read(source)).count("np.where") == 1


@pytest.mark.parametrize(
    ("signature", "ending"),
    [
        ("def f(a: float, b: int) -> float:", "return result"),
        ("def f(a: float, xs: np.ndarray) -> np.ndarray:", "return result"),
        ("def f(a: float, xs: list[float]) -> int:", "return int(np.argmax(result))"),
        ("def f(a: int) -> int:", "return int(result)"),
        ("def f(number: float, scalar: float, array: np.ndarray) -> float:", "return result"),
        ("def f(a: int, xs: NDArray[np.float64]) -> bool:", "return bool(result > 0)"),
        ("def f(unknown, a: float):", "return result"),
        ("def f(text: str) -> float:", "return result"),
    ],
)
def test_a_task_without_a_grammar_gets_one_from_its_annotations(signature, ending):
    template = f"import numpy as np\n\n{signature}\n    return None\n"
    grammar, reader, writer = reader_and_writer(generic_grammar(template, "f"), template, "f")
    arguments = {"a": 2.0, "b": 3, "xs": np.array([0.5, 1.0, 2.0]), "unknown": None, "text": ""}
    arguments |= {"number": 1.5, "scalar": 2.5, "array": np.array([1.0, 2.0])}
    taken = [name.arg for name in ast.parse(template).body[-1].args.args]
    ran = 0
    for seed in range(40):
        source = writer.write(fresh(grammar, np.random.default_rng(seed)))
        assert source.rstrip().endswith(ending)
        assert reader.read(source) is not None
        namespace = {"NDArray": list}
        exec(source.replace("NDArray[np.float64]", "np.ndarray"), namespace)
        ran += np.isfinite(namespace["f"](**{name: arguments[name] for name in taken})).all()
    assert ran >= 36


@pytest.mark.parametrize(
    ("signature", "is_suited"),
    [
        ("def f(a: float, b: int) -> float:", True),
        ("def f(a: float, b: int) -> np.float64:", True),
        ("def f(item: float, bins: np.ndarray) -> np.ndarray:", True),
        ("def f(values: NDArray[np.float64]) -> int:", True),
        ("def f(xs: np.ndarray, ys: np.ndarray) -> float:", True),
        ("def f(a: int) -> bool:", True),
        ("def f(here: int, open_stops: np.ndarray, distances: np.ndarray) -> int:", False),
        ("def f(points: np.ndarray, values: np.ndarray) -> np.ndarray:", False),
        ("def f(n: int) -> np.ndarray:", False),
        ("def f(n: int) -> tuple[np.ndarray, np.ndarray]:", False),
        ("def f(times: list[int]) -> list[int]:", False),
        ("def f(text: str) -> float:", False),
        ("def f(item, bins):", False),
        ("def f(a: float) -> float | None:", False),
    ],
)
def test_a_grammar_from_annotations_suits_functions_whose_value_it_can_make(signature, is_suited):
    assert suits(f"{signature}\n    return None\n", "f") is is_suited


def test_a_grammar_that_leans_draws_the_first_rule_with_holes_more_often_than_others():
    grammar = Grammar.parse(TEXT)
    leaning = grammar.leaning(3)
    for kind, rules in grammar.rules.items():
        first = next((rule for rule in rules if rule.holes), None)
        assert [leaning.rules[kind].count(rule) for rule in rules] == [3 if rule is first else 1 for rule in rules]


def test_of_parts_with_one_name_the_second_is_number_two():
    grammar, _, writer = reader_and_writer()
    numbers = set()
    for seed in range(60):
        source = writer.write(fresh(grammar, np.random.default_rng(seed)))
        parts = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and "by_" in node.id}
        numbered = [part.rpartition("_") for part in parts if part[-1].isdigit()]
        assert {stem for stem, _, _ in numbered} <= parts
        numbers |= {int(number) for _, _, number in numbered}
    assert min(numbers) == 2
