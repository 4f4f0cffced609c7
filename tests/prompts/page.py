"""Writes docs/reference/prompts.md: `python -m tests.prompts.page > docs/reference/prompts.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from behavesim.engine.settings import settings_from_person
from behavesim.methods.set_search import lacks
from behavesim.programs.fences import fenced
from behavesim.prompts.prompts import Prompts
from behavesim.state.events import Asked, Prompt, Rejected
from behavesim.state.members import Member
from behavesim.task import TaskReference

TASKS = ("tsp", "tsp_hard", "asp", "cpp", "bin_packing")
WORDINGS = ("full", "paper", "small")
FIRST = ("template", "i1", "initial")
OF_TWO = ("improve", "e1", "e2", "s1", "cs", "crossover", "short-term-reflection")
OF_ONE = ("m1", "m2", "m3", "ls", "mutation")
CALLS = (
    "import numpy as np\n\n\ndef select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
)
BETTER = (
    f"{CALLS}    near = distance_matrix[current_node, unvisited_nodes]\n"
    "    far = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)\n"
    "    return unvisited_nodes[np.argmin(near - 0.35 * far)]\n"
)
PROGRAMS = (
    Member(
        1, f"{CALLS}    return unvisited_nodes[0]\n", 6.533443, -6.533443, "Go to the nearest city.",
        scores=(6.404506, 6.859483, 6.654867, 6.484626, 6.263734),
    ),
    Member(
        2, BETTER, 6.45888, -6.45888, "Go to a near city that is far from the others left.",
        scores=(6.493561, 6.740465, 6.208382, 6.645367, 6.206625),
    ),
)  # fmt: skip


def prompts(task: str, wording: str = "full", **settings: object) -> Prompts:
    """The prompts of a run of a shipped task."""
    loaded = TaskReference(task).load()
    return Prompts.of_run(settings_from_person({"task": task, "prompts": wording, **settings}, task=loaded), loaded)


def specimens(asking: Prompts) -> Iterator[tuple[str, Prompt]]:
    """A prompt of each kind, which shows programs for TSP."""
    yield from ((name, asking.showing_template(name, 0, PROGRAMS[0])) for name in FIRST)
    hint = "Weigh how far a city is from the others."
    yield from ((name, asking.hinted(name, PROGRAMS, hint)) for name in OF_TWO)
    yield from ((name, asking.hinted(name, PROGRAMS[1:], hint)) for name in OF_ONE)
    wanting = lacks(PROGRAMS, PROGRAMS, PROGRAMS[0], asking.objective)
    yield "complement", asking.showing_programs("complement", PROGRAMS, set=wanting)
    yield (
        "long-term-reflection",
        asking.summary("long-term-reflection", hint, ["Look ahead.", "Serve far cities first."]),
    )
    asked = Asked(3, (1,), None, Prompt("(the prompt that was answered)", "improve"))
    rejected = Rejected(3, "evaluation", "exception", "NameError: name 'near' is not defined (line 5)", "def …")
    yield "repair", asking.repair(asked, "", rejected).prompt


def page() -> str:
    """The whole page."""
    introduction = (Path(__file__).parent / "introduction.md").read_text()
    parts = [introduction.strip()]
    for wording in WORDINGS:
        parts += [f"## `prompts={wording}`"]
        for name, prompt in specimens(prompts("tsp", wording)):
            parts += [f"### {name}", fenced(prompt.text).replace("python", "text", 1)]
    parts += ["## The first prompt of every other task, without what its template scores"]
    for task in TASKS[1:]:
        parts += [
            f"### {task}",
            fenced(prompts(task).showing_template("template", 0).text).replace("python", "text", 1),
        ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
