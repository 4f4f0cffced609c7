"""The commands of the documentation, carried out page by page, with small budgets and without asking a model."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import behavesim as bs
from tests.cli.command import Command

ROOT = Path(__file__).parents[2]
SHELL = re.compile(r"^```(?:sh|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = {
    "method check": "tests/cli/test_own_parts.py does it",
    "task check": "tests/cli/test_task.py does it, for every kind of task to start from",
    "demo": "tests/cli/test_demo.py does it, without the time that a person looks at it",
    "study ": "tests/studies makes them; together they take minutes",
    "experiment experiments/": "hours",
    "resume $run": "a loop over runs that take an hour",
    "report flat-": "the same",
    "report bin_packing-": "the same",
    "--workers dask": "needs the extra dask",
    "--workers tls": "the same",
    "http:8437": "it serves at one port until it is ended; tests/proposers/test_http_proposer.py does it",
    "mcp ": "it serves until its client leaves; tests/application/serve/test_mcp.py does it",
    "--repo ": "it needs a repository; tests/application/test_repository.py does it",
    "--mlflow": "needs the extra mlflow",
    "--wandb": "needs the extra wandb",
    "--tensorboard": "needs the extra tensorboard",
}
"""What is not carried out here, and why."""
ASKS = ("--model ", "--connections ", "--proposer ")
"""Options with which a run would ask somebody: such a run is only tried dry."""
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "reference")]


def commands(page: Path) -> list[str]:
    """The calls of `behavesim` in a page's shell blocks, without comments, each once, but for those made elsewhere."""
    lines = re.findall(
        r"^(?:\w+=\S+ |pip .* && )?behavesim (.*?)(?: +#.*| &)?$",
        "\n".join(SHELL.findall(page.read_text())).replace("\\\n", ""),
        re.MULTILINE,
    )
    return [line for line in dict.fromkeys(lines) if not any(each in line for each in ELSEWHERE)]


def smaller(line: str) -> str:
    """The same command with a small budget, or dry where it would ask somebody."""
    line = (
        re.sub(r"--evaluations 200", "--evaluations 8", re.sub(r"--budget \d+", "--budget 4", line))
        .replace("--seed 0", "--seed 4")
        .replace("RUN", "first")
    )
    if line.startswith("run "):
        line += " --set recommend=false" if "--budget" in line else " --set recommend=false --budget 4"
        line += " --dry-run" if any(each in line for each in ASKS) and "--dry-run" not in line else ""
    return line.replace("--budget 4", "--budget 6") if line.startswith("resume ") else line


def prepare(page: Path, made: Path) -> None:
    """Write the files that a page shows under their names, and the run and the programs that it takes for granted."""
    text = page.read_text()
    if "--evaluator evaluator.py" in text:
        text += (ROOT / "docs/how-to/evaluators.md").read_text()
    for name, body in re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        Path(name).write_text(body)
    for name, body in re.findall(r"`(\w+\.toml)`:\n\n```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        Path(name).write_text(
            body.replace("budget = 100", "budget = 2\nrecommend = false").replace("seeds = 3", "seeds = 1")
        )
    Path("mine").mkdir()
    for name in ("idea.py", "another.py", "mine/one.py"):
        Path(name).write_text(bs.load_run(made).template.source)
    if not any("--name first" in line for line in commands(page)):
        shutil.copytree(made, "runs/first")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_of_a_page_does_its_work(
    behavesim: Command, made: Path, monkeypatch: pytest.MonkeyPatch, page: Path
) -> None:
    prepare(page, made)
    for line in commands(page):
        if "--model" in line:
            monkeypatch.setenv("OPENAI_API_KEY", "none")
        if re.search(r"\b139\b", line):
            best = bs.load_run("runs/first").best
            line = line.replace("139", str(best.candidate if best else 0))
        ended = behavesim(*shlex.split(smaller(line)))
        assert ended.code == 0, f"{line}\n{ended.err}"
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_every_query_of_the_page_on_sql_answers(made: Path) -> None:
    queries = re.findall(
        r"^sqlite3 runs/first/run.db '(.*)'$", (ROOT / "docs/reference/sql.md").read_text(), re.MULTILINE
    )
    with closing(sqlite3.connect(made / "run.db")) as journal:
        assert all(journal.execute(query).fetchall() for query in queries)
    assert queries
