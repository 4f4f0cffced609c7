"""MCTS-AHD: Monte Carlo tree search over a tree of programs (Zheng et al., ICML 2025).

"The authors' code" is github.com/zz1358m/MCTS-AHD-master, source/mcts_ahd.py, mcts.py and evolution_interface.py.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from behavesim.methods.draw import Generator
from behavesim.methods.method import Method, MethodSettings, kept_if_feasible, question
from behavesim.programs.constants import has_constants
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

TREE = "tree"
"""The name of the group of all programs in the tree."""
ROOT: CandidateId = -1
"""The number of the node at the root, which is no program; the other nodes are candidates."""

EXPANSION: Sequence[str] = ("e2", "m1", "m1", "m2", "m2", "s1")
"""The operators by which a leaf gets its children, in turn (section 4.2 and the authors' weights).

e2 crosses it with a good program, m1 modifies it, m2 changes its parameters, s1 learns from its line of descent.
"""

FIRST_EXPANSION = [operator for operator in EXPANSION if operator != "s1"]
"""EXPANSION for a leaf right below the root: without s1, which needs two programs in the line of descent."""

SUBTREES = (2, 5)
"""The fewest and the most subtrees of the root of which e1 shows a program each (the authors' `ec_m`).

The number is drawn for each prompt; if the root has fewer subtrees than were drawn, all are shown.
"""

ANCESTRY = 3
"""Most programs of a line of descent that s1 shows: the last ones. The authors show up to 10; prompts stay short."""


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


@dataclass(frozen=True)
class Tree:
    """The tree of programs, read from the state. Candidates in flight count as visits, so that asks spread over it.

    `members` are the programs by their numbers.
    """

    members: Mapping[CandidateId, Member]
    awaited: Mapping[CandidateId, int]
    """Number of candidates in flight by the node they grow from."""

    @classmethod
    def of(cls, state: RunState) -> Tree:
        """Return the tree of a run."""
        awaited: dict[CandidateId, int] = defaultdict(int)
        for each in state.open.values():
            awaited[_node(each.asked.group)] += 1
        return cls({m.candidate: m for m in state.members_of(TREE)}, awaited)

    @cached_property
    def children(self) -> Mapping[CandidateId, list[CandidateId]]:
        """The programs that grew from each node, oldest first; [] for a leaf."""
        found: dict[CandidateId, list[CandidateId]] = defaultdict(list)
        for member in self.members.values():
            found[_node(member.origin)].append(member.candidate)
        return found

    @cached_property
    def visits(self) -> Mapping[CandidateId, int]:
        """N of each node: 1, the programs below it, and the candidates in flight that grow from it or from these."""
        below: dict[CandidateId, int] = defaultdict(int)
        for candidate in sorted(self.members, reverse=True):  # children are younger than their parents
            below[candidate] += 1 + self.awaited.get(candidate, 0)
            below[_node(self.members[candidate].origin)] += below[candidate]
        below[ROOT] += 1 + self.awaited.get(ROOT, 0)
        return below

    @cached_property
    def quality(self) -> Mapping[CandidateId, float]:
        """Q of each program: the best utility at it or below it (eq. 5), scaled to [0, 1] over the tree.

        All are 1 if all programs score the same. Raises ValueError for an empty tree.
        """
        best = {candidate: member.utility for candidate, member in self.members.items()}
        for candidate in sorted(self.members, reverse=True):
            parent = _node(self.members[candidate].origin)
            if parent != ROOT:
                best[parent] = max(best[parent], best[candidate])
        utilities = [member.utility for member in self.members.values()]
        low, width = min(utilities), max(utilities) - min(utilities)
        # if all programs score the same, none is preferred
        return {candidate: (value - low) / width if width else 1.0 for candidate, value in best.items()}

    def grown(self, node: CandidateId) -> int:
        """Return the number of a node's children, candidates in flight included."""
        return len(self.children[node]) + self.awaited.get(node, 0)

    def preferred(self, node: CandidateId, exploration: float) -> CandidateId:
        """Return the child of a node with the greatest UCT (eq. 4); ties go to the oldest. There must be a child.

        `exploration` is λ, 0 or more: greater values prefer children that were visited seldom.
        """

        def uct(child: CandidateId) -> float:
            # + 1 as in the authors' code, so that the logarithm is never 0
            explored = math.sqrt(math.log(self.visits[node] + 1) / self.visits[child])
            return self.quality[child] + exploration * explored

        return max(self.children[node], key=lambda child: (uct(child), -child))

    def path(self, node: CandidateId) -> list[Member]:
        """Return the programs from just below the root down to a node, itself included; [] for the root."""
        way: list[Member] = []
        while node != ROOT:
            way.append(self.members[node])
            node = _node(self.members[node].origin)
        return way[::-1]

    def below(self, node: CandidateId) -> list[Member]:
        """Return the program at a node, first, and those below it at any depth; raises KeyError for the root."""
        below, found = [node], [self.members[node]]
        while below:
            children = self.children[below.pop()]
            below += children
            found += [self.members[child] for child in children]
        return found


class MctsAhd(Method[MctsAhdSettings]):
    """Monte Carlo tree search over a tree of programs (Zheng et al., ICML 2025).

    It selects by UCT, expands by the operators of EoH and one that reads the line of descent, and has no roll-out.
    A leaf that selection reaches is expanded by `EXPANSION`. Where progressive widening allows a node one more child
    than it has, or all that it has are in flight, it gets one: the root by e1, unlike its subtrees, any other node by
    e2. Selection does not go deeper than `depth`: a program at that depth is expanded again each time. Several
    candidates are in flight: they count as visits too, so that they spread over the tree.
    """

    settings_type: ClassVar[type[MethodSettings]] = MctsAhdSettings

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | None:
        """Return the question for a first program, or for the expansion of the node that the tree policy leads to.

        First programs are asked for one after another, since each is to be unlike those before it: None while one is in
        flight. m1 takes the place of e2 if the tree has one program, and with `asks_once` of m2 if the node's program
        has no constants.
        """
        tree = Tree.of(state)
        if tree.grown(ROOT) < self.settings.initial or not tree.members:
            # the one in flight is to be shown to the next; where it fails, it is asked for again
            if tree.awaited.get(ROOT):
                return None
            if not tree.members:
                return Asked(candidate, (), str(ROOT), self.prompts.showing_template("i1", candidate, state.template))
            node, operator = ROOT, "e1"
        else:
            cooled = self.settings.exploration * max(0.0, 1.0 - candidate / state.budget)  # λ = λ0 (T − t) / T
            node, operator = self._selected(tree, cooled)
            if operator == "e2" and len(tree.members) == 1:
                operator = "m1"  # no other program to cross it with
        rng = self.generator(candidate)
        if operator == "m2" and self.asks_once and not has_constants(tree.members[node].source):
            operator = "m1"
        shown = self.fresh(state, operator, lambda is_uniform: self._shown(tree, node, operator, rng, is_uniform))
        return question(candidate, shown, self.prompts.showing_programs(operator, shown), str(node))

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the tree, and that an infeasible one is not added."""
        return kept_if_feasible(candidate, TREE)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the number of programs in the tree and its depth: the longest line of programs below the root."""
        tree = Tree.of(state)
        depth = max((len(tree.path(node)) for node in tree.members), default=0)
        return {"tree": f"{len(tree.members)} programs, {depth} deep"}

    def _selected(self, tree: Tree, exploration: float) -> tuple[CandidateId, str]:
        """Return the node to be expanded, and the operator (tree policy, figure 2); `exploration` as in `preferred`."""
        node, grown, depth = ROOT, tree.grown(ROOT), 0
        if grown < self._allowed(tree, ROOT):
            return ROOT, "e1"
        while depth < self.settings.depth:
            node, depth = tree.preferred(node, exploration), depth + 1
            grown = tree.grown(node)
            expansion = EXPANSION if depth > 1 else FIRST_EXPANSION
            if grown < len(expansion):
                return node, expansion[grown]
            if grown < self._allowed(tree, node) or not tree.children[node]:
                return node, "e2"
        # at the greatest depth: its children are not descended to, so it is expanded again in the same turns
        return node, expansion[grown % len(expansion)]

    def _allowed(self, tree: Tree, node: CandidateId) -> int:
        """Return how many children progressive widening allows a node: its visits ** `widening`, rounded down."""
        return math.floor(math.pow(tree.visits[node], self.settings.widening))

    def _shown(self, tree: Tree, node: CandidateId, operator: str, rng: Generator, is_uniform: bool) -> list[Member]:
        """Return the programs that the prompt of `operator` at a node shows, worst first.

        Where `is_uniform`, e2 crosses the node's program with any other one, and not only with one of the best.
        """
        by_score = sorted(tree.members.values(), key=lambda member: member.merit)
        if operator == "e1":  # a program of each of some subtrees, as in the authors' `expand`
            subtrees, (fewest, most) = tree.children[ROOT], SUBTREES
            count = min(int(rng.integers(fewest, most + 1)), len(subtrees))
            below = [tree.below(subtrees[k]) for k in rng.choice(len(subtrees), size=count, replace=False).tolist()]
            shown = [programs[int(rng.integers(len(programs)))] for programs in below]
        elif operator == "e2":
            among = by_score if is_uniform else by_score[-self.settings.elites - 1 :]
            others = [member for member in among if member.candidate != node]
            shown = [tree.members[node], others[int(rng.integers(len(others)))]]
        elif operator == "s1":
            shown = tree.path(node)[-ANCESTRY:]
        else:
            shown = [tree.members[node]]
        return sorted(shown, key=lambda member: member.merit)


def _node(origin: str | None) -> CandidateId:
    """Return the node that a program grew from: the number that `origin` is the text of; ROOT for None.

    Questions name the node as their group. A program that a person injected has none.
    """
    return ROOT if origin is None else int(origin)
