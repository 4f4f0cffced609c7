"""Writes docs/reference/prompts.md: `python -m tests.prompts.page > docs/reference/prompts.md`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from behavesim.engine.admission import settings_from_person
from behavesim.methods.set_search import describe_wanted, lacks
from behavesim.programs.answer import add_fence
from behavesim.prompts.prompts import Prompts, without_placeholders
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Asked, NoteAsked, Prompt, Rejected, Reply
from behavesim.state.members import Member, Note
from behavesim.state.state import RunState
from behavesim.state.views import Attempt, Failed, PromptHistory
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
IDEAS = (
    "Go to the city whose distance plus that of its nearest other city is least, a step of looking ahead.",
    "Plan the whole rest anew in each call: nearest neighbours, then 2-opt until nothing improves.",
)
BEST = Member(
    7, "", 6.2103, -6.2103, IDEAS[0], scores=(6.2401, 6.5532, 6.1027, 6.3011, 5.8544), operator="improve"
)  # fmt: skip

HINTS = [
    Note(NoteAsked(0, (1, 2), Prompt("", "")), Reply("Look ahead.", "m"), 6.45888, [6.31, None]),
    Note(NoteAsked(1, (1, 3), Prompt("", "")), Reply("Serve far cities first.", "m")),
]


def prompts(task: str, wording: str = "full", **settings: object) -> Prompts:
    """The prompts of a run of a shipped task."""
    loaded = TaskReference(task).load()
    return Prompts.of_run(settings_from_person({"task": task, "prompts": wording, **settings}, task=loaded), loaded)


def specimens(asking: Prompts, state: RunState | None = None) -> Iterator[tuple[str, Prompt]]:
    """A prompt of each kind, which shows programs for TSP; without a state it says nothing of a run."""
    for name, prompt in _specimens(asking):
        shown = (TEMPLATE,) if name in FIRST else (1, 2) if name in OF_TWO else (2,)
        asked = Asked(
            14, shown, None, replace(prompt, text=prompt.text if state else without_placeholders(prompt.text))
        )
        done = asking.complete(asked, state or RunState(asking.objective), Behaviours())
        assert isinstance(done, Asked)
        yield name, done.prompt


def example() -> RunState:
    """A state of a run on TSP with 14 programs."""
    template = replace(PROGRAMS[0], candidate=TEMPLATE)
    state = RunState(TaskReference("tsp").load().objective, registered=14, template=template, best=BEST)
    state.members = {TEMPLATE: template, 1: PROGRAMS[0], 2: PROGRAMS[1]}
    message = "still not done after the 50 s of CPU time that count, at call 61, on instance 2"
    failed = Rejected(9, "evaluation", "timeout", message, "", IDEAS[1])
    ideas = tuple(
        Attempt(each.candidate, each.score, each.thought, each.operator) for each in (BEST, PROGRAMS[1], PROGRAMS[0])
    )
    state.tried = PromptHistory(13, 1, BEST.scores, ideas, deque([Failed((2,), failed)]))
    return state


def _specimens(asking: Prompts) -> Iterator[tuple[str, Prompt]]:
    yield from ((name, asking.showing_template(name, 0, PROGRAMS[0])) for name in FIRST)
    hint = "Weigh how far a city is from the others."
    yield from ((name, asking.hinted(name, PROGRAMS, hint)) for name in OF_TWO)
    yield from ((name, asking.hinted(name, PROGRAMS[1:], hint)) for name in OF_ONE)
    wanting = lacks(PROGRAMS, PROGRAMS, PROGRAMS[0], asking.objective)
    yield "complement", asking.showing_programs("complement", PROGRAMS, set=wanting, adds=describe_wanted(True, True))
    yield (
        "long-term-reflection",
        asking.summary("long-term-reflection", hint, HINTS),
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
        for name, prompt in specimens(prompts("tsp", wording), example()):
            parts += [f"### {name}", add_fence(prompt.text).replace("python", "text", 1)]
    parts += ["## The first prompt of every other task, without what its template scores"]
    for task in TASKS[1:]:
        parts += [
            f"### {task}",
            add_fence(without_placeholders(prompts(task).showing_template("template", 0).text)).replace(
                "python", "text", 1
            ),
        ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
