"""Commands as evaluators: programs in any language, a number or JSON as the last line."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.evaluators.judging import file_of, results

SQUARES = """
BEGIN { total = 0 }
{ total += $1 * $1 }
END { print "squares"; print total }
"""
COMPILE = (
    "g++ -O1 -o /tmp/judged {program} && /tmp/judged 12"
    ' && printf "%s" "[1, 2, {\\"far\\": 3}]" > {output}/trajectory.json'
)
FIBONACCI = """
#include <cstdlib>
#include <cstdio>
long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int main(int count, char **given) { printf("{\\"score\\": %ld}\\n", fibonacci(atoi(given[1]))); }
"""


def echoed(tmp_path, *programs: str):
    """Results of a command that runs each program, which is a shell script."""
    (tmp_path / "initial.sh").write_text("echo 1")
    file = file_of("command", "sh {program} {output}", str(tmp_path / "initial.sh"))
    return results(file, *programs)


@pytest.mark.skipif(shutil.which("awk") is None, reason="there is no awk on this machine")
def test_an_awk_program_is_run_on_the_data_beside_it(tmp_path):
    (tmp_path / "initial.awk").write_text(SQUARES)
    (tmp_path / "data.txt").write_text("1\n2\n3\n")
    file = file_of("command", "awk -f {program} data.txt", str(tmp_path / "initial.awk"))
    right, wrong = results(file, SQUARES, "{ print 1")
    assert right.score == 1 + 4 + 9
    assert wrong.score is None and wrong.failure.startswith("the command left with status ") and wrong.feedback


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ on this machine: apt install g++")
def test_a_cpp_program_is_compiled_and_run_and_its_trajectory_read(tmp_path):
    (tmp_path / "initial.cpp").write_text(FIBONACCI)
    file = file_of("command", COMPILE, str(tmp_path / "initial.cpp"))
    right, wrong = results(file, FIBONACCI, FIBONACCI.replace("int main", "it main"))
    assert right.score == 144.0 and right.traced == "trajectory.json"
    assert right.steps[:2] == (1, 2) and len(right.steps) == 3
    assert wrong.score is None and "error" in wrong.feedback and "status 1" in wrong.failure


def test_python_in_a_command_has_the_packages_of_this_one(tmp_path):
    (found,) = echoed(tmp_path, 'python -c "import numpy; print(numpy.pi)"')
    assert found.score == np.pi


def test_the_last_line_or_all_of_the_output_is_read(tmp_path):
    found = echoed(
        tmp_path,
        "echo noise; echo 2.5",
        "echo .5",
        """echo '{"score": 3, "cost": 7, "feedback": "near"}'""",
        """printf '{\\n"combined_score": 4,\\n"unit": "s"}\\n'""",
        """echo x; echo '{"metrics": {"a": 1, "eval_time": 2}}'""",
        """echo '{"score": 1, "valid": false}'""",
        """echo '{"error": "no tour", "score": 1}'""",
        """echo '{"score": NaN}'""",
        "echo inf",
        "echo none >&2; echo text",
        "true",
        "echo why >&2; exit 7",
        """echo '{"score": "3.5", "cost": 7}'""",
        "printf '\\377\\n2'",
        'printf "[3, -1, true, \\"a\\"]" > $1/trajectory.json; echo 1',
        'printf "7" > $1/trajectory.json; echo 1',
        "head -c 3; echo 6",
    )
    assert [each.score for each in found] == [2.5, 0.5, 3, 4, 1, *[None] * 8, 2, 1, None, 6]
    assert found[2].metrics == {"score": 3.0, "cost": 7.0} and found[2].feedback == "near"
    assert found[3].feedback == "unit: s"
    failures = [each.failure for each in found]
    assert failures[5:9] == [
        "the evaluator says valid False",
        "no tour",
        *["the evaluator gave no finite score"] * 2,
    ]
    assert failures[9] == failures[10] == "the command's last line must be a number or JSON"
    assert "text" in found[9].feedback and "none" in found[9].feedback
    assert failures[11] == "the command left with status 7: why"
    assert failures[12] == "score must be a number, not '3.5'"
    assert found[14].steps[0] == 3 and len(found[14].steps) == 4
    assert failures[15].startswith("ValueError: trajectory.json must hold a list")
