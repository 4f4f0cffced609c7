"""Whole programs in replies: in full, within EVOLVE-BLOCK markers, as edits, and as several files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import TaskError
from behavesim.programs.edits import Edit, Frame, apply_edits, edit_between, edits_in
from behavesim.programs.extract import WholeForm, complete_program, extract
from behavesim.programs.parsing import LONGEST_PROGRAM, PLAIN_CHARACTERS
from behavesim.programs.reading import Program, Request
from behavesim.task.evaluated import Edits, first_program, join_files, separate_files
from behavesim.task.verdict import Failure

FRAMED = """import math
# EVOLVE-BLOCK-START
def f():
    return 1
# EVOLVE-BLOCK-END

def main():
    return f()
"""
lines = st.lists(st.text("ab ()", max_size=8), max_size=6).map(lambda parts: "".join(f"{part}\n" for part in parts))


def fenced(code: str) -> str:
    return f"Here it is.\n```python\n{code}```\n"


def source(found: Program | Failure) -> str:
    assert isinstance(found, Program), found
    return found.source


def reason(found: Program | Failure) -> str:
    assert isinstance(found, Failure), found
    return found.reason


@pytest.mark.parametrize(
    "reply",
    [
        FRAMED.replace("return 1", "return 2"),
        FRAMED.replace("return 1", "return 2").replace("import math", "import os"),
        "def f():\n    return 2\n",
        "import math\ndef f():\n    return 2\n\ndef main():\n    return f()\n",
    ],
    ids=["whole", "other text outside", "the block alone", "without markers"],
)
def test_what_stands_outside_the_block_is_the_first_programs(reply):
    assert source(extract(WholeForm(FRAMED), Request(fenced(reply), FRAMED))) == FRAMED.replace("return 1", "return 2")


@pytest.mark.parametrize(
    ("imports", "kept"),
    [
        ("import os, heapq as h\nfrom collections import deque\nimport math\n", "import os, heapq as h\n"),
        ("from collections import deque, Counter as h\n", "from collections import deque, Counter as h\n"),
        ("from __future__ import h\nfrom os import *\nh = 1\n", ""),
    ],
)
def test_a_block_keeps_the_imports_that_a_model_wrote_above_it(imports, kept):
    reply = f"{imports}{FRAMED.replace('return 1', 'return h(math.pi)')}"
    expected = FRAMED.replace("def f", f"{kept}def f").replace("return 1", "return h(math.pi)")
    assert source(extract(WholeForm(FRAMED), Request(fenced(reply), FRAMED))) == expected
    indented = "class A:\n    # EVOLVE-BLOCK-START\n    x = 1\n    # EVOLVE-BLOCK-END\n"
    assert complete_program(indented, f"{imports}{indented.replace('1', 'h')}") == indented.replace("1", "h")


def test_without_markers_the_whole_file_may_change():
    assert source(extract(WholeForm("x = 1\n"), Request(fenced("y = 2\n"), ""))) == "y = 2\n"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I cannot do that.", "refusal"),
        ("Here it is.", "empty"),
        (fenced(""), "empty"),
        (fenced("def f(:\n"), "syntax"),
        (fenced("# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n"), "outside"),
    ],
)
def test_a_reply_without_a_program_is_told_why(reply, expected):
    assert reason(extract(WholeForm(FRAMED), Request(reply, FRAMED))) == expected


def test_other_languages_are_not_parsed():
    assert source(extract(WholeForm("int main(){}\n", ".cpp"), Request(fenced("int main(){return 1;}\n"), ""))) == (
        "int main(){return 1;}\n"
    )


def test_an_edit_replaces_lines_of_the_shown_program():
    reply = "<<<<<<< SEARCH\n    return 1\n=======\n    return 3\n>>>>>>> REPLACE\n"
    found = extract(WholeForm(FRAMED, edits="diff"), Request(reply, FRAMED))
    assert source(found) == FRAMED.replace("return 1", "return 3")


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ("    return 7\n", "does not occur"),
        ("", "does not occur"),
        ("a\n", "occurs 2 times"),
        ("eturn 1\n", "not occur"),
    ],
)
def test_an_edit_that_does_not_fit_is_shown(search, why):
    found = apply_edits([Edit(search, "b\n")], "a\nb\na\n    return 1\n")
    assert isinstance(found, Failure) and found.reason == "edit" and why in found.message
    assert search.strip() in found.message


def test_an_edit_outside_the_blocks_is_refused():
    reply = "<<<<<<< SEARCH\nimport math\n=======\nimport os\n>>>>>>> REPLACE\n"
    assert reason(extract(WholeForm(FRAMED, edits="diff"), Request(reply, FRAMED))) == "outside"


@given(lines, lines)
def test_an_edit_of_all_lines_gives_the_other_text(old, new):
    found = apply_edits([Edit(old, new)], old)
    assert found == new if old.strip() else isinstance(found, Failure)


@given(st.lists(st.tuples(lines, lines), max_size=4))
def test_edits_are_found_in_order(pairs):
    text = "\n".join(f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE" for old, new in pairs)
    assert edits_in(text) == [Edit(old, new) for old, new in pairs]


@given(st.lists(lines, min_size=1, max_size=3), lines)
def test_a_frame_finds_the_blocks_that_it_was_filled_with(blocks, outside):
    text = "".join(f"{outside}# EVOLVE-BLOCK-START\nold\n# EVOLVE-BLOCK-END\n" for _ in blocks)
    frame = Frame.of(text)
    filled = frame.fill(tuple(blocks))
    assert Frame.of(filled) == frame
    found = frame.blocks_of(filled)
    assert found is not None and [each.strip("\n") for each in found] == [
        block.strip("\n") if block.strip() else "" for block in blocks
    ]


@pytest.mark.parametrize("text", ["# EVOLVE-BLOCK-END\n", "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-START\n" * 2])
def test_a_marker_without_its_counterpart_is_refused(text):
    with pytest.raises(TaskError, match="EVOLVE-BLOCK-END"):
        Frame.of(text)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,4}(/[a-z]{1,4})?\.py", fullmatch=True), lines, min_size=1, max_size=5))
def test_files_survive_as_one_text(files):
    assert separate_files(join_files(files)) == files


@pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", "a/../../b"])
def test_a_path_out_of_the_programs_folder_is_refused(path):
    with pytest.raises(ValueError, match=r"path|line"):
        separate_files(join_files({path: "x\n"}))


def test_a_reply_changes_the_files_that_it_names():
    first = join_files({"a.py": "x = 1\n", "data/b.txt": "hello\n"})
    found = extract(WholeForm(first, ""), Request("```\n=== file: a.py ===\nx = 2\n```", first))
    assert separate_files(source(found)) == {"a.py": "x = 2\n", "data/b.txt": "hello\n"}


def test_the_normal_form_of_other_languages_is_their_text_without_trailing_blanks():
    form = WholeForm("x\n", ".cpp")
    assert form.hash("a  \nb\n\n") == form.hash("a\nb") != form.hash("a\n b")


TWO = FRAMED.replace("def main", "# EVOLVE-BLOCK-START\nSIZE = 3\n# EVOLVE-BLOCK-END\ndef main")
NOTE = 'NOTE = """\n```\nx\n```\n"""\ndef f'
EDIT = "<<<<<<< SEARCH\n    return 1\n=======\n    return 3\n>>>>>>> REPLACE"
ODD = {
    "thoughts before": f"<think>```python\nx\n```</think>\n{fenced(FRAMED)}",
    "an open thought's end": f"try this\n</think>\n{fenced(FRAMED)}",
    "JSON": json.dumps({"code": FRAMED}),
    "JSON in a fence": f"```json\n{json.dumps({'thought': 'x', 'code': FRAMED})}\n```",
    "a draft before": f"{fenced(FRAMED.replace('return 1', 'return 9'))}\nBetter:\n{fenced(FRAMED)}",
    "a command behind": f"{fenced(FRAMED)}\nRun it:\n```bash\npython program.py\n```\n",
    "no fence": FRAMED,
    "no label": f"```\n{FRAMED}```",
    "another label": f"```text\n{FRAMED}```",
    "an open fence": f"```python\n{FRAMED}",
    "a nested fence": f"```python\n{FRAMED.replace('def f', NOTE)}```",
    "Windows line ends": fenced(FRAMED).replace("\n", "\r\n"),
    "a byte-order mark": "\ufeff" + fenced("\ufeff" + FRAMED),
    "unicode line separators in prose": f"a\u2028b\u2029c\x85\n{fenced(FRAMED)}",
    "zero-width spaces": fenced(FRAMED.replace("def", "\u200bdef")),
    "tilde fence": f"~~~python\n{FRAMED}~~~",
    "indented": "".join(f"   {line}\n" for line in fenced(FRAMED).splitlines()),
}


@pytest.mark.parametrize("reply", ODD.values(), ids=ODD)
def test_odd_replies_give_their_program(reply):
    first = FRAMED.replace("return 1", "return 0")
    found = extract(WholeForm(first), Request(reply, first, "stop", thought=True))
    assert "return 1" in source(found)
    frame = Frame.of(first)
    assert frame.blocks_of(source(found)) is not None


@pytest.mark.parametrize("code", ["size = 2\nprint(size)\n", "size=2\n", "import math\nprint(math.pi)\n"])
def test_code_without_a_fence_and_a_function_is_the_program(code):
    assert source(extract(WholeForm("size = 1\n"), Request(code, "size = 1\n", "stop"))) == code


@pytest.mark.parametrize(("suffix", "edits"), [(".py", "full"), (".py", "diff"), (".cpp", "diff")])
@pytest.mark.parametrize(
    "reply",
    [
        fenced("x = " + "(" * 10_000 + ")" * 10_000),
        fenced("x = " + "-" * 50_000 + "1"),
        fenced("def f():\n" + "".join(f"{' ' * k}if x:\n" for k in range(1, 300)) + " " * 300 + "pass"),
        fenced("x = " + "a." * 14_000 + "b"),
        "<<<<<<< SEARCH\n" * 30_000,
        "<<<<<<< SEARCH\n=======\n" * 20_000,
        "=== file: ../../etc/passwd ===\n" * 10_000,
        "# EVOLVE-BLOCK-START\n" * 20_000,
        "```\n" * 100_000,
        "```python\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n```\n" * 8_000,
        fenced("/*" * 100_000 + "\n" + " " * 200_000 + "x"),
        "a" * 500_001,
        fenced("x = '\ud800'\n"),
        fenced("x = 1\0\n"),
        json.dumps({"code": "def f():\n    return '\ud800'"}),
        "{" * 100_000,
    ],
    ids=lambda reply: repr(reply[:20]),
)
def test_hostile_replies_are_told_at_once(reply, suffix, edits):
    first = "x = 1\n" if suffix == ".cpp" else FRAMED
    found = extract(WholeForm(first, suffix, edits), Request(reply, first, "stop", thought=True))
    assert isinstance(found, Program | Failure)
    if isinstance(found, Program):
        assert found.source.encode() and "\0" not in found.source
    else:
        assert len(found.message) <= 500


def test_a_costly_program_is_read_in_a_process_with_limits():
    plain = FRAMED.replace("return 1", f"return [{', '.join(['1'] * 6000)}]")
    assert len(plain) > PLAIN_CHARACTERS
    assert source(extract(WholeForm(plain), Request(fenced(plain), plain))) == plain


@pytest.mark.parametrize("edits", ["full", "diff"])
def test_a_long_first_program_may_be_answered_by_one_as_long(edits):
    long = FRAMED + "".join(f"x{number} = {number}\n" for number in range(5000))
    reply = EDIT if edits == "diff" else fenced(long.replace("return 1", "return 3"))
    assert source(extract(WholeForm(long, edits=edits), Request(reply, long))) == long.replace("return 1", "return 3")
    reply = fenced(FRAMED.replace("return 1", f"return 1{'0' * 40_000}"))
    assert reason(extract(WholeForm(FRAMED), Request(reply))) == "too-long"


@pytest.mark.parametrize(("finish", "expected"), [("length", "truncated"), ("content_filter", "refusal")])
def test_a_reply_that_was_cut_off_is_told(finish, expected):
    assert reason(extract(WholeForm(FRAMED), Request(fenced(FRAMED)[:-8], FRAMED, finish))) == expected
    assert reason(extract(WholeForm(FRAMED, edits="diff"), Request(EDIT, FRAMED, finish))) == expected
    assert source(extract(WholeForm(FRAMED), Request(fenced(FRAMED), FRAMED, finish))) == FRAMED


@given(st.text(alphabet="ab\n #<=>`SEARCHREPLACE-LOCKVTDN\t\r\u2028", max_size=200), st.sampled_from(["full", "diff"]))
def test_text_outside_the_blocks_stays_whatever_is_answered(reply, edits):
    found = extract(WholeForm(TWO, ".txt", edits), Request(reply, TWO, thought=True))
    if isinstance(found, Program):
        assert Frame.of(TWO).blocks_of(found.source) is not None


@given(lines, lines, st.booleans())
def test_a_block_with_other_text_keeps_the_frame_byte_for_byte(one, other, repeats):
    first = f"head \t\n// EVOLVE-BLOCK-START here\n{one}// EVOLVE-BLOCK-END\ntail without a line break"
    reply = first.replace(f"here\n{one}//", f"here\n{other}//") if repeats else other
    found = extract(WholeForm(first, ".cpp"), Request(f"```cpp\n{reply}\n```", first))
    if other.strip():
        text = source(found)
        assert text.startswith("head \t\n// EVOLVE-BLOCK-START here\n")
        assert text.endswith("// EVOLVE-BLOCK-END\ntail without a line break")


def test_a_block_within_a_class_may_be_written_without_its_indentation():
    first = "class A:\n    # EVOLVE-BLOCK-START\n    x = 1\n    # EVOLVE-BLOCK-END\n"
    assert source(extract(WholeForm(first), Request(fenced("x = 2\nif x:\n    y = 3\n"), first))) == first.replace(
        "    x = 1\n", "    x = 2\n    if x:\n        y = 3\n"
    )


def test_a_sentence_about_markers_is_no_marker():
    text = f'"""Change what is between EVOLVE-BLOCK-START and EVOLVE-BLOCK-END."""\n{FRAMED}'
    assert len(Frame.of(text).fixed) == 2


def test_markers_out_of_order_are_told_before_a_run_begins():
    with pytest.raises(TaskError, match="EVOLVE-BLOCK-END"):
        WholeForm("# EVOLVE-BLOCK-START\n")


@pytest.mark.parametrize("program", [FRAMED.replace("-END", "-STOP"), FRAMED.replace("main", "run"), "x = 1\n"])
def test_a_persons_program_that_changes_what_is_outside_the_blocks_is_refused(program):
    assert reason(WholeForm(FRAMED).failure_of(program)) == "outside"
    assert WholeForm(FRAMED).failure_of(FRAMED.replace("return 1", "return 2")) is None
    frame = Frame.of(FRAMED)
    assert frame.spans(program) is None
    assert [FRAMED[begin:end] for begin, end in frame.spans(FRAMED)] == ["def f():\n    return 1\n"]


def test_a_persons_program_may_be_as_long_as_said_and_no_longer():
    form = WholeForm("x\n", ".txt")
    assert form.failure_of("x" * LONGEST_PROGRAM) is None
    said = f"the program has {LONGEST_PROGRAM + 1} characters; at most {LONGEST_PROGRAM} are taken"
    assert form.failure_of("x" * (LONGEST_PROGRAM + 1)) == Failure("too-long", said)


def edited(reply: str, base: str) -> Program | Failure:
    return extract(WholeForm(base, ".txt", "diff"), Request(reply, base, thought=True))


@pytest.mark.parametrize(
    ("base", "search"),
    [
        ("a\nb", "b"),
        ("a  \nb\t\nc\n", "a\nb"),
        ("a\nb\n", "a  \nb "),
        ("a\u00a0b\nc\n", "a b"),
        ("\ta\n", "\ta"),
    ],
    ids=["last line without a break", "blanks in the program", "blanks in the search", "hard space", "tab"],
)
def test_what_cannot_be_seen_does_not_keep_an_edit_from_fitting(base, search):
    found = edited(f"Better:\n<<<<<<< SEARCH\n{search}\n=======\nnew\n>>>>>>> REPLACE\n", base)
    assert "new" in source(found)
    assert source(found).endswith("\n") == base.endswith("\n")
    assert isinstance(found, Program) and found.thought == "Better:"


@pytest.mark.parametrize(
    ("search", "says"),
    [
        ("  b", "indentation"),
        ("b\nb", "in this order"),
        ("q", "has no line 'q'"),
        ("a", "occurs 2 times"),
        ("", "is empty"),
    ],
)
def test_why_an_edit_does_not_fit_is_said_with_the_block(search, says):
    found = edited(f"<<<<<<< SEARCH\n{search}\n=======\nnew\n>>>>>>> REPLACE\n", "a\nb\na\n")
    assert reason(found) == "edit"
    assert isinstance(found, Failure) and says in found.message and "edit 1" in found.message


@pytest.mark.parametrize(
    "reply",
    [
        "<<<<<<< SEARCH\na\n",
        "<<<<<<< SEARCH\na\n=======\nb\n",
        f"{EDIT}\n<<<<<<< SEARCH\na",
        f"<<<<<<< SEARCH\na\n=======\nb\n{EDIT}",
        f"<<<<<<< SEARCH\na\n{EDIT}",
    ],
)
def test_an_edit_without_an_end_is_told(reply):
    found = extract(WholeForm(FRAMED, edits="diff"), Request(reply, FRAMED))
    assert reason(found) == "edit" and "has no end" in found.message  # type: ignore[union-attr]


def test_no_more_edits_are_applied_than_said():
    edits = [f"<<<<<<< SEARCH\n{number}\n=======\n{number}.5\n>>>>>>> REPLACE\n" for number in range(201)]
    base = "".join(f"{number}\n" for number in range(201))
    assert source(edited("".join(edits[:200]), base)).startswith("0.5\n1.5\n")
    found = edited("".join(edits), base)
    assert found == Failure("edit", "the reply has 201 edits; at most 200 are applied")


def test_edits_in_a_fence_count_and_a_line_of_equals_signs_may_be_written():
    reply = "```diff\n<<<<<<< SEARCH\na\n=======\nTitle\n=======\n>>>>>>> REPLACE\n```"
    assert source(edited(reply, "a\n")) == "Title\n=======\n"


@given(lines, lines)
def test_the_edit_between_two_programs_gives_the_second(old, new):
    edit = edit_between(old, new)
    if edit is not None:
        found = edits_in(edit)
        assert isinstance(found, list) and apply_edits(found, old) == new
    else:
        assert old == new or not old.strip() or "=" in old + new or len(set(old.splitlines())) < len(old.splitlines())


FILES = join_files({"a.py": "x = 1\n", "lib/b.py": "x = 1\ny = 2\n"})


def files_after(reply: str, edits: Edits = "full") -> dict[str, str]:
    return separate_files(source(extract(WholeForm(FILES, "", edits), Request(reply, FILES))))


def test_several_blocks_may_each_name_a_file_and_new_ones_are_added():
    reply = "```python\n=== file: ./lib//b.py ===\ny = 3\n```\nand\n```python\n=== file: new.py ===\nz = 1\n```"
    assert files_after(reply) == {"a.py": "x = 1\n", "lib/b.py": "y = 3\n", "new.py": "z = 1\n"}


def test_an_edit_can_name_its_file_and_make_a_new_one():
    reply = (
        "=== file: lib/b.py ===\n<<<<<<< SEARCH\nx = 1\n=======\nx = 5\n>>>>>>> REPLACE\n"
        "=== file: new.py ===\n<<<<<<< SEARCH\n=======\nz = 1\n>>>>>>> REPLACE\n"
    )
    assert files_after(reply, "diff") == {"a.py": "x = 1\n", "lib/b.py": "x = 5\ny = 2\n", "new.py": "z = 1\n"}


def test_an_edit_of_a_file_that_is_not_there_is_told():
    reply = "=== file: c.py ===\n<<<<<<< SEARCH\nx = 1\n=======\nx = 5\n>>>>>>> REPLACE\n"
    found = extract(WholeForm(FILES, "", "diff"), Request(reply, FILES))
    assert found == Failure("edit", "edit 1 is of the file 'c.py', which the program does not have")


def test_a_path_out_of_the_programs_folder_is_refused_in_any_program():
    with pytest.raises(TaskError, match=r"the first program cannot be taken: .*\.\./x\.py"):
        WholeForm("=== file: ../x.py ===\nx = 1\n")
    assert reason(complete_program(FILES, "=== file: ../x.py ===\nx = 1\n")) == "edit"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("=== file: ../x.py ===\nx = 1", "edit"),
        ("=== file: /etc/passwd ===\nx", "edit"),
        ("=== file: ~/x ===\nx", "edit"),
        ("=== file: a\\b ===\nx", "edit"),
        ("=== file: a.py/b ===\nx", "edit"),
        (f"=== file: {'x' * 300} ===\nx", "edit"),
        ("=== file: a.py ===\nx = (", "syntax"),
        ("x = 1", "empty"),
        ("".join(f"=== file: f{number} ===\n" for number in range(101)), "edit"),
    ],
)
def test_files_that_cannot_be_written_are_refused(body, expected):
    assert reason(extract(WholeForm(FILES, ""), Request(f"```\n{body}\n```", FILES))) == expected


def test_a_program_of_one_file_cannot_become_several():
    form = WholeForm("x = 1\n", ".txt")
    assert reason(extract(form, Request(fenced("=== file: ../../x ===\nx = 2\n")))) == "edit"
    assert reason(extract(form, Request(fenced("=== file: y ===\nx = 2\n")))) == "outside"


def test_a_folder_is_read_as_one_text_without_hidden_files(tmp_path):
    for name in ("a.py", "lib/b.py", ".git/config", "__pycache__/a.pyc", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"# {name}")
    assert separate_files(first_program(tmp_path)) == {"a.py": "# a.py\n", "lib/b.py": "# lib/b.py\n"}


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"=== file: x ===\nq", b"x" * (1 << 21)])
def test_a_file_that_is_no_text_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "weights.bin").write_bytes(content)
    with pytest.raises(TaskError) as refused:
        first_program(tmp_path)
    assert "\n" not in str(refused.value)
