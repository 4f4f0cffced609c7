"""MCTS-AHD: Monte Carlo tree search over a tree of programs (Zheng et al., ICML 2025).

The method and its tree policy come first, then the tree that it reads from the state. "The authors' code" is
github.com/zz1358m/MCTS-AHD-master, source/mcts_ahd.py, mcts.py and evolution_interface.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import ClassVar

from pydantic import Field

from behavesim.methods.eoh import FIRST_PROGRAMS
from behavesim.methods.method import (
    Generator,
    Method,
    MethodContext,
    MethodSettings,
    add_if_feasible,
    question,
    worst_first,
)
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# The name of the group of all programs in the tree.
TREE = "tree"
# The number of the node at the root, which is no program; the other nodes are candidates.
ROOT: CandidateId = -1
# The operators by which a leaf gets its children, in turn (section 4.2 and the authors' weights).
#
# e2 crosses it with a good program, m1 modifies it, m2 changes its parameters, s1 learns from its line of descent.
EXPANSION: Sequence[str] = ("e2", "m1", "m1", "m2", "m2", "s1")
# EXPANSION for a leaf right below the root: without s1, which needs two programs in the line of descent.
FIRST_EXPANSION = [operator for operator in EXPANSION if operator != "s1"]
# The fewest and the most subtrees of the root of which e1 shows a program each (the authors' `ec_m`).
#
# The number is drawn for each prompt; if the root has fewer subtrees than were drawn, all are shown.
SUBTREES = (2, 5)
# Most programs of a line of descent that s1 shows: the last ones. The authors show up to 10; prompts stay short.
ANCESTRY = 3


class MctsAhdSettings(MethodSettings):
    """The settings of MCTS-AHD."""

    initial: int = Field(4, ge=1)
    """Number of first programs below the root (N_I): the first by i1, each other one by e1, unlike those before it."""
    depth: int = Field(10, ge=1)
    """Greatest depth of a program that is expanded (H); the search does not descend below it."""
    exploration: float = Field(0.1, ge=0)
    """λ0: weight of seldom visited programs at the start; greater values explore more. It falls linearly to 0 as the
    budget is spent."""
    widening: float = Field(0.5, gt=0, le=1)
    """α of progressive widening: after its first expansion, a node with N visits may have up to N^α children."""
    elites: int = Field(10, ge=1)
    """Crossover (e2) draws its other parent from this many best programs and one more, the expanded one left out."""


class MctsAhd(Method[MctsAhdSettings]):
    """Monte Carlo tree search over a tree of programs (Zheng et al., ICML 2025).

    It selects by UCT, expands by the operators of EoH and one that reads the line of descent, and has no roll-out. A
    leaf is expanded by `EXPANSION`. Where progressive widening allows it, a node gets one more child: the root by e1,
    any other node by e2. Programs at `depth` are expanded like leaves.
    """

    settings_type: ClassVar[type[MethodSettings]] = MctsAhdSettings

    def __init__(self, settings: MctsAhdSettings, context: MethodContext) -> None:
        super().__init__(settings, context)
        # The tree of the last question: to read it anew from 3 000 programs takes ten times as long. It follows from
        # the state alone, and only `ask` uses it: screens call `facts` in another thread.
        self._tree: Tree | None = None

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the question for a first program, or for the expansion of the node that the tree policy leads to."""
        settings, tree = self.settings, self._tree
        if tree is None or tree.state is not state:
            tree = self._tree = Tree(state, settings.depth)
        tree.update()
        awaited = sum(_node(each.asked.group) == ROOT for each in state.open.values())
        tries = tree.root.grown - awaited
        is_first = len(tree.root.children) < settings.initial and tries < FIRST_PROGRAMS * settings.initial
        if is_first or not tree.members:
            # one after another: each is to be unlike those before it, which its prompt shows
            if awaited:
                return None
            if not tree.members:
                return Asked(candidate, (), str(ROOT), self.prompts.showing_template("i1", candidate, state.template))
            node, operator = tree.root, "e1"
        else:
            cooled = settings.exploration * max(0.0, 1.0 - candidate / state.budget)  # λ = λ0 (T − t) / T
            node, operator = self._selected(tree, cooled)
        operator, draw = self._drawing(tree, node, operator, self.generator(candidate))
        shown = self.fresh(state, operator, draw)
        return question(candidate, shown, self.prompts.showing_programs(operator, shown), str(node.number))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the tree."""
        return add_if_feasible(candidate, TREE)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the number of programs in the tree, and its depth."""
        depths = {ROOT: 0}
        for member in state.members_of(TREE):
            depths[member.candidate] = depths[_node(member.origin)] + 1
        return {"tree": f"{len(depths) - 1} programs, {max(depths.values())} deep"}

    def _selected(self, tree: Tree, exploration: float) -> tuple[Node, str]:
        """Return the node to be expanded, and the operator (tree policy, figure 2); `exploration` is λ."""
        # Progressive widening: a node may have a further child beside its first expansion once it has been visited
        # often enough, so that the tree grows broader near the root while it grows deeper.
        node = tree.root
        if node.grown < self._allowed(node):
            return node, "e1"
        while node.depth < tree.deepest and node.children:
            node = tree.preferred(node, exploration)
            if node.grown < len(node.turns):
                break
            if node.children and node.grown < self._allowed(node):
                return node, "e2"
        return node, node.turns[node.grown % len(node.turns)]

    def _allowed(self, node: Node) -> int:
        """Return how many children progressive widening allows a node: its visits ** `widening`, rounded down."""
        return math.floor(math.pow(node.visits, self.settings.widening))

    def _drawing(
        self, tree: Tree, node: Node, operator: str, rng: Generator
    ) -> tuple[str, Callable[[bool], list[Member]]]:
        """Return the operator that can be used at a node, and what draws the programs of its prompt, worst first."""
        # No prompt shows a program twice, nor a copy of it. m1 takes the place of an operator that has nothing to show:
        # e2 without another program, s1 with one program in the line of descent, m2 (`asks_once`) without constants.
        # What is linear in the tree is done here, once: `fresh` calls a draw up to 63 times.
        if operator == "e1":  # a program of each of some subtrees, as in the authors' `expand`
            subtrees = [child.programs_below() for child in tree.root.children]
            return operator, lambda is_uniform: _of_subtrees(subtrees, rng)
        line = node.line()
        own = line[-1]
        if operator == "e2":
            # the oldest of each program and its copies: the tree keeps every feasible program
            different = {member.identity: member for member in reversed(tree.members)}
            others = [member for identity, member in different.items() if identity != own.identity]
            best = nlargest(self.settings.elites + 1, different.values(), key=lambda member: member.merit)
            elites = [member for member in best if member.identity != own.identity]

            def crossed(is_uniform: bool) -> list[Member]:
                among = others if is_uniform else elites
                return worst_first((own, among[int(rng.integers(len(among)))]))

            if others:
                return operator, crossed
        shown = list({member.identity: member for member in line}.values())[-ANCESTRY:]
        if operator == "s1" and len(shown) > 1:
            return operator, lambda is_uniform: worst_first(shown)
        can_change = operator == "m2" and self.can_change_numbers(own)
        return "m2" if can_change else "m1", lambda is_uniform: [own]


@dataclass(eq=False, slots=True)
class Node:
    """A program of the tree, or its root."""

    number: CandidateId
    program: Member | None  # None at the root
    parent: Node | None  # None at the root
    depth: int  # 0 at the root
    children: list[Node] = field(default_factory=list)  # the programs that grew from it, oldest first
    fruitless: int = 0  # candidates that grow from it and are no programs: in flight, or rejected
    visits: int = 0  # N: 1, the programs below it, and the fruitless candidates at it and below
    best: float = -math.inf  # the best utility at it or below it
    # How often all operators were used at the node, of those where selection can end below it, used least often.
    rounds: int = 0

    @property
    def grown(self) -> int:
        """The number of candidates that grow from it: programs, failed ones, and those in flight."""
        return len(self.children) + self.fruitless

    @property
    def turns(self) -> Sequence[str]:
        """The operators that expand it, in turn."""
        return EXPANSION if self.depth > 1 else FIRST_EXPANSION

    def line(self) -> list[Member]:
        """Return the programs from just below the root down to it, itself included; [] for the root."""
        above, node = list[Member](), self
        while node.program is not None and node.parent is not None:
            above.append(node.program)
            node = node.parent
        return above[::-1]

    def programs_below(self) -> list[Member]:
        """Return its program, first, and those below it at any depth."""
        waiting, found = [self], [self.program]
        while waiting:
            children = waiting.pop().children
            waiting += children
            found += [child.program for child in children]
        return [program for program in found if program is not None]


class Tree:
    """The tree of a run's programs. `update` adds what is new in the state, in time that hardly grows with the tree.

    `members` are the programs, oldest first. Selection does not descend below the depth `deepest`.
    """

    def __init__(self, state: RunState, deepest: float = math.inf) -> None:
        self.state = state
        self.deepest = deepest
        self.members: list[Member] = []
        self.root = Node(ROOT, None, None, 0)
        self.nodes = {ROOT: self.root}
        self._fruitless = Counter[CandidateId]()
        self._worst, self._best = math.inf, -math.inf
        self._count(self.root, 1)
        self.update()

    def update(self) -> None:
        """Add the programs that joined the tree, and count anew the candidates in flight and those that failed."""
        for member in self.state.members_of(TREE)[len(self.members) :]:  # it only grows, parents before their children
            parent = self.nodes[_node(member.origin)]
            node = self.nodes[member.candidate] = Node(member.candidate, member, parent, parent.depth + 1)
            parent.children.append(node)
            self.members.append(member)
            self._worst, self._best = min(self._worst, member.utility), max(self._best, member.utility)
            self._count(node, 1)
        # In flight and failed candidates count as visits and children: without them, every question that is asked
        # before the first reply would expand one and the same node, and a node whose children fail would be asked for
        # ever.
        fruitless = Counter(_node(opened.asked.group) for opened in self.state.open.values())
        for group, count in self.state.rejected_from.items():
            fruitless[_node(group)] += count
        for number in fruitless.keys() | self._fruitless.keys():
            if change := fruitless[number] - self._fruitless[number]:
                self.nodes[number].fruitless += change
                self._count(self.nodes[number], change)
        self._fruitless = fruitless

    def _count(self, node: Node | None, visits: int) -> None:
        """Add visits to a node and to those above it, and bring up to date what else depends on the nodes below."""
        best = -math.inf if node is None or node.program is None else node.program.utility
        while node is not None:
            node.visits += visits
            node.best = max(node.best, best)
            # not with its children at the greatest depth: they are not descended to
            ends = node.depth >= self.deepest or not node.children
            node.rounds = node.grown // len(node.turns) if ends else min(child.rounds for child in node.children)
            node = node.parent

    def quality(self, node: Node) -> float:
        """Return Q of a program: the best utility at it or below it (eq. 5), scaled to [0, 1] over the tree."""
        # if all programs score the same, none is preferred
        return (node.best - self._worst) / (self._best - self._worst) if self._best > self._worst else 1.0

    def preferred(self, node: Node, exploration: float) -> Node:
        """Return the child of a node, which must have one, with the greatest UCT (eq. 4); ties go to the oldest."""
        # + 1 as in the authors' code, so that the logarithm is never 0
        visited = math.log(node.visits + 1)
        # Only children with the fewest `rounds` take part: UCT alone would ask the best leaf for ever while its
        # children fail.
        fewest = min(child.rounds for child in node.children)
        return max(
            (child for child in node.children if child.rounds == fewest),  # oldest first, and `max` takes the first
            key=lambda child: self.quality(child) + exploration * math.sqrt(visited / child.visits),
        )


def _of_subtrees(subtrees: Sequence[Sequence[Member]], rng: Generator) -> list[Member]:
    """Draw a program of each of some subtrees, worst first; a copy of one drawn before is left out."""
    fewest, most = SUBTREES
    count = min(int(rng.integers(fewest, most + 1)), len(subtrees))
    chosen = [subtrees[place] for place in rng.choice(len(subtrees), size=count, replace=False).tolist()]
    drawn = [programs[int(rng.integers(len(programs)))] for programs in chosen]
    return worst_first({member.identity: member for member in drawn}.values())


def _node(origin: str | None) -> CandidateId:
    """Return the node that a program grew from; its number is the `origin`, or group, of the question."""
    # a program that a person injected has no origin: it grows from the root
    return ROOT if origin is None else int(origin)
