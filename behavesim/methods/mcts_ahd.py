"""MCTS-AHD: Monte Carlo tree search over a tree of programs (Zheng et al., ICML 2025).

The method and its tree policy come first, then the tree that it reads from the state. "The authors' code" is
github.com/zz1358m/MCTS-AHD-master, source/mcts_ahd.py, mcts.py and evolution_interface.py.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import ClassVar

from pydantic import Field

from behavesim.methods.eoh import FIRST_PROGRAMS
from behavesim.methods.method import Generator, Method, MethodSettings, add_if_feasible, question, worst_first
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

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | None:
        """Return the question for a first program, or for the expansion of the node that the tree policy leads to."""
        tree, settings = Tree.of(state, self.settings.depth), self.settings
        tries = tree.grown(ROOT) - tree.awaited.get(ROOT, 0)
        is_first = len(tree.children[ROOT]) < settings.initial and tries < FIRST_PROGRAMS * settings.initial
        if is_first or not tree.members:
            # one after another: each is to be unlike those before it, which its prompt shows
            if tree.awaited.get(ROOT):
                return None
            if not tree.members:
                return Asked(candidate, (), str(ROOT), self.prompts.showing_template("i1", candidate, state.template))
            node, operator = ROOT, "e1"
        else:
            cooled = settings.exploration * max(0.0, 1.0 - candidate / state.budget)  # λ = λ0 (T − t) / T
            node, operator = self._selected(tree, cooled)
        operator, draw = self._drawing(tree, node, operator, self.generator(candidate))
        shown = self.fresh(state, operator, draw)
        return question(candidate, shown, self.prompts.showing_programs(operator, shown), str(node))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the tree."""
        return add_if_feasible(candidate, TREE)

    def facts(self, state: RunState) -> Mapping[str, str]:
        """Return the number of programs in the tree, and its depth."""
        tree = Tree.of(state)
        return {"tree": f"{len(tree.members)} programs, {max(tree.depths.values())} deep"}

    def _selected(self, tree: Tree, exploration: float) -> tuple[CandidateId, str]:
        """Return the node to be expanded, and the operator (tree policy, figure 2); `exploration` is λ."""
        # Progressive widening: a node may have a further child beside its first expansion once it has been visited
        # often enough, so that the tree grows broader near the root while it grows deeper.
        node, grown = ROOT, tree.grown(ROOT)
        if grown < self._allowed(tree, ROOT):
            return ROOT, "e1"
        while tree.depths[node] < tree.deepest and tree.children[node]:
            node = tree.preferred(node, exploration)
            grown = tree.grown(node)
            if grown < len(tree.turns(node)):
                break
            if tree.children[node] and grown < self._allowed(tree, node):
                return node, "e2"
        turns = tree.turns(node)
        return node, turns[grown % len(turns)]

    def _allowed(self, tree: Tree, node: CandidateId) -> int:
        """Return how many children progressive widening allows a node: its visits ** `widening`, rounded down."""
        return math.floor(math.pow(tree.visits[node], self.settings.widening))

    def _drawing(
        self, tree: Tree, node: CandidateId, operator: str, rng: Generator
    ) -> tuple[str, Callable[[bool], list[Member]]]:
        """Return the operator that can be used at a node, and what draws the programs of its prompt, worst first."""
        # No prompt shows a program twice, nor a copy of it. m1 takes the place of an operator that has nothing to show:
        # e2 without another program, s1 with one program in the line of descent, m2 (`asks_once`) without constants.
        # What is linear in the tree is done here, once: `fresh` calls a draw up to 63 times.
        if operator == "e1":  # a program of each of some subtrees, as in the authors' `expand`
            subtrees = [tree.below(child) for child in tree.children[ROOT]]
            return operator, lambda is_uniform: _of_subtrees(subtrees, rng)
        own = tree.members[node]
        if operator == "e2" and (others := [m for m in tree.different if m.identity != own.identity]):
            best = nlargest(self.settings.elites + 1, tree.different, key=lambda member: member.merit)
            elites = [member for member in best if member.identity != own.identity]

            def crossed(is_uniform: bool) -> list[Member]:
                among = others if is_uniform else elites
                return worst_first((own, among[int(rng.integers(len(among)))]))

            return operator, crossed
        line = list({member.identity: member for member in tree.path(node)}.values())[-ANCESTRY:]
        if operator == "s1" and len(line) > 1:
            return operator, lambda is_uniform: worst_first(line)
        can_change = operator == "m2" and self.can_change_numbers(own)
        return "m2" if can_change else "m1", lambda is_uniform: [own]


@dataclass(frozen=True)
class Tree:
    """The tree of programs, read from the state once for each question: every property takes linear time.

    `members` are the programs by their numbers, oldest first.
    """

    members: dict[CandidateId, Member]
    # In flight and failed candidates count as visits and children: without them, every question that is asked before
    # the first reply would expand one and the same node, and a node whose children fail would be asked for ever.
    # Number of candidates in flight by the node they grow from.
    awaited: Mapping[CandidateId, int]
    # Number of candidates that were rejected, by the node that they should have grown from.
    failed: Mapping[CandidateId, int]
    # The depth below which selection does not descend; programs right below the root have depth 1.
    deepest: float = math.inf

    @classmethod
    def of(cls, state: RunState, deepest: float = math.inf) -> Tree:
        """Return the tree of a run."""
        awaited, failed = Counter[CandidateId](), Counter[CandidateId]()
        for each in state.open.values():
            awaited[_node(each.asked.group)] += 1
        for group, count in state.rejected_from.items():
            failed[_node(group)] += count
        members = sorted(state.members_of(TREE), key=lambda member: member.candidate)
        return cls({member.candidate: member for member in members}, awaited, failed, deepest)

    @cached_property
    def children(self) -> Mapping[CandidateId, list[CandidateId]]:
        """The programs that grew from each node, oldest first; [] for a leaf."""
        found: dict[CandidateId, list[CandidateId]] = defaultdict(list)
        for member in self.members.values():
            found[_node(member.origin)].append(member.candidate)
        return found

    @cached_property
    def depths(self) -> Mapping[CandidateId, int]:
        """The depth of each node: 0 for the root, 1 right below it."""
        depths = {ROOT: 0}
        for candidate, member in self.members.items():  # parents are older than their children
            depths[candidate] = depths[_node(member.origin)] + 1
        return depths

    @cached_property
    def visits(self) -> Mapping[CandidateId, int]:
        """N of each node: 1, the programs below it, and the candidates that failed or are in flight at it or below."""
        below: dict[CandidateId, int] = defaultdict(int)
        for candidate in reversed(self.members):  # children are younger than their parents
            below[candidate] += 1 + self._fruitless(candidate)
            below[_node(self.members[candidate].origin)] += below[candidate]
        below[ROOT] += 1 + self._fruitless(ROOT)
        return below

    @cached_property
    def rounds(self) -> Mapping[CandidateId, int]:
        """How often all operators were used at the node, of those where selection can end below, used least often."""
        rounds: dict[CandidateId, int] = {}
        for candidate in reversed(self.members):
            # not with its children: at the greatest depth they are not descended to
            ends = self.depths[candidate] >= self.deepest or not self.children.get(candidate)
            own = self.grown(candidate) // len(self.turns(candidate))
            rounds[candidate] = own if ends else min(rounds[child] for child in self.children[candidate])
        return rounds

    @cached_property
    def quality(self) -> Mapping[CandidateId, float]:
        """Q of each program: the best utility at it or below it (eq. 5), scaled to [0, 1] over the tree."""
        best = {candidate: member.utility for candidate, member in self.members.items()}
        for candidate in reversed(self.members):
            parent = _node(self.members[candidate].origin)
            if parent != ROOT:
                best[parent] = max(best[parent], best[candidate])
        utilities = [member.utility for member in self.members.values()]
        low, width = min(utilities), max(utilities) - min(utilities)
        # if all programs score the same, none is preferred
        return {candidate: (value - low) / width if width else 1.0 for candidate, value in best.items()}

    @cached_property
    def different(self) -> list[Member]:
        """The programs without copies, the oldest of each: the tree keeps every feasible program."""
        return list({member.identity: member for member in reversed(self.members.values())}.values())

    def grown(self, node: CandidateId) -> int:
        """Return the number of candidates that grow from a node: programs, failed ones, and those in flight."""
        return len(self.children[node]) + self._fruitless(node)

    def _fruitless(self, node: CandidateId) -> int:
        return self.awaited.get(node, 0) + self.failed.get(node, 0)

    def turns(self, node: CandidateId) -> Sequence[str]:
        """Return the operators that expand a node, in turn."""
        return EXPANSION if self.depths[node] > 1 else FIRST_EXPANSION

    def preferred(self, node: CandidateId, exploration: float) -> CandidateId:
        """Return the child of a node, which must have one, with the greatest UCT (eq. 4); ties go to the oldest."""
        # Only children with the fewest `rounds` take part: UCT alone would ask the best leaf for ever while its
        # children fail.

        def uct(child: CandidateId) -> float:
            # + 1 as in the authors' code, so that the logarithm is never 0
            explored = math.sqrt(math.log(self.visits[node] + 1) / self.visits[child])
            return self.quality[child] + exploration * explored

        return max(self.children[node], key=lambda child: (-self.rounds[child], uct(child), -child))

    def path(self, node: CandidateId) -> list[Member]:
        """Return the programs from just below the root down to a node, itself included; [] for the root."""
        way: list[Member] = []
        while node != ROOT:
            way.append(self.members[node])
            node = _node(self.members[node].origin)
        return way[::-1]

    def below(self, node: CandidateId) -> list[Member]:
        """Return the program at a node, first, and those below it at any depth."""
        below, found = [node], [self.members[node]]
        while below:
            children = self.children[below.pop()]
            below += children
            found += [self.members[child] for child in children]
        return found


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
