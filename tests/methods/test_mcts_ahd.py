"""MCTS-AHD: how the tree is read, where it grows, and what its prompts show."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.methods.mcts_ahd import EXPANSION, ROOT, TREE, MctsAhd, MctsAhdSettings, Tree
from behavesim.state.events import Added, Asked, NotAdded
from behavesim.state.members import Member
from behavesim.state.state import RunState
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, candidate, member, state_of

#   root ─┬─ 0 (3) ─┬─ 2 (1) ── 4 (2)
#         └─ 1 (5)  └─ 3 (4)             a program's number, and its score in brackets: the less the better
FAMILY = [
    member(0, 3.0, origin="-1"),
    member(1, 5.0, origin="-1"),
    member(2, 1.0, origin="0"),
    member(3, 4.0, origin="0"),
    member(4, 2.0, origin="2"),
]


def grown(members: list[Member], awaited: tuple[int, ...] = (), **others: int) -> RunState:
    """A run with these programs in its tree, and children of some nodes under way."""
    opened = [candidate(100 + number, group=str(node)) for number, node in enumerate(awaited)]
    return state_of(members, {TREE: [each.candidate for each in members]}, opened=opened, **others)


def ask(state: RunState, number: int = 0, **settings: float) -> Asked:
    asked = MctsAhd(MctsAhdSettings(**settings), BRIEF).ask(state, UNREAD, number)
    assert asked is not None
    return asked


def read(tree: Tree) -> dict[int, tuple[object, ...]]:
    """All that the search asks of the nodes of a tree."""
    return {
        number: (node.depth, node.visits, node.best, node.rounds, node.grown, [child.number for child in node.children])
        for number, node in tree.nodes.items()
    }


class TestTree:
    def test_a_visit_is_every_program_at_a_node_or_below_it_and_every_one_under_way(self) -> None:
        tree = Tree(grown(FAMILY))
        assert [tree.nodes[node].visits for node in (ROOT, 0, 1, 2, 3, 4)] == [6, 4, 1, 2, 1, 1]
        tree = Tree(grown(FAMILY, awaited=(2, ROOT, ROOT)))
        assert [tree.nodes[node].visits for node in (ROOT, 0, 1, 2, 3, 4)] == [9, 5, 1, 3, 1, 1]
        assert [tree.nodes[node].grown for node in (ROOT, 0, 1, 2)] == [4, 2, 0, 2]

    @pytest.mark.parametrize(
        ("family", "quality"),
        [
            (FAMILY, [1.0, 0.0, 1.0, 0.25, 0.75]),
            ([member(0, 3.0), member(1, 3.0)], [1.0, 1.0]),
            ([*FAMILY, member(5, 0.0, origin="4")], [1.0, 0.0, 1.0, 0.2, 1.0, 1.0]),
        ],
    )
    def test_the_quality_of_a_node_is_the_best_below_it_from_0_to_1(
        self, family: list[Member], quality: list[float]
    ) -> None:
        tree = Tree(grown(family))
        assert [tree.quality(tree.nodes[each.candidate]) for each in family] == quality

    def test_the_child_of_the_greatest_uct_is_preferred(self) -> None:
        tree = Tree(grown(FAMILY))
        # 1 + λ √(ln 7 / 4) against 0 + λ √(ln 7 / 1)
        turning = 2 / math.sqrt(math.log(7))
        assert tree.preferred(tree.root, 0.0).number == tree.preferred(tree.root, turning - 0.001).number == 0
        assert tree.preferred(tree.root, turning + 0.001).number == 1

    def test_of_children_as_good_the_oldest_is_preferred(self) -> None:
        tree = Tree(grown([member(3, 1.0), member(5, 1.0)]))
        assert tree.preferred(tree.root, 0.1).number == 3

    def test_the_line_of_a_node_leads_from_below_the_root_to_it(self) -> None:
        tree = Tree(grown(FAMILY))
        assert [each.candidate for each in tree.nodes[4].line()] == [0, 2, 4]
        assert tree.root.line() == []

    @given(st.data())
    def test_a_tree_that_grew_with_its_run_is_the_one_that_is_read_at_once(self, data: st.DataObject) -> None:
        state = grown([])
        kept = Tree(state, deepest=3)
        for number in range(data.draw(st.integers(1, 30))):
            node = str(data.draw(st.sampled_from([ROOT, *state.groups[TREE].members])))
            match data.draw(st.sampled_from(["joins", "fails", "is asked for", "comes back"])):
                case "joins":
                    score = data.draw(st.integers(0, 4))
                    state.members[number] = member(number, float(score), origin=node)
                    state.groups[TREE].members.append(number)
                case "fails":
                    state.rejected_from[node] += 1
                case "is asked for":
                    state.open[number] = candidate(number, group=node)
                case "comes back" if state.open:
                    del state.open[data.draw(st.sampled_from(list(state.open)))]
            if data.draw(st.booleans()):
                kept.update()
        kept.update()
        assert read(kept) == read(Tree(state, deepest=3))
        programs = [node for node in kept.nodes.values() if node.program]
        assert all(node.best == max(each.utility for each in node.programs_below()) for node in programs)


def test_the_first_program_is_asked_for_alone_and_each_further_one_unlike_those_before() -> None:
    first = ask(grown([]), 7)
    assert (first.candidate, first.parents, first.group) == (7, (), "-1")
    assert (first.prompt.operator, first.prompt.asks_thought) == ("i1", True)
    for there in range(1, 4):
        asked = ask(grown([member(k, 9.0 - k) for k in range(there)]), 7)
        assert (asked.prompt.operator, asked.group) == ("e1", "-1")
        assert set(asked.parents) <= set(range(there))
    assert ask(grown([member(k, 9.0 - k) for k in range(4)]), 7).prompt.operator != "e1"


def test_the_first_programs_are_asked_for_one_after_another() -> None:
    method = MctsAhd(MctsAhdSettings(), BRIEF)
    assert method.ask(grown([], (ROOT,)), UNREAD, 1) is None
    assert method.ask(grown([member(0), member(1)], (ROOT,)), UNREAD, 3) is None


@pytest.mark.parametrize(("turn", "operator"), list(enumerate(EXPANSION)))
def test_a_leaf_is_expanded_by_each_operator_in_turn(turn: int, operator: str) -> None:
    line = [member(0, 3.0), member(1, 1.0, origin="0"), *(member(k, 9.0, origin="0") for k in range(2, 6))]
    asked = ask(grown(line, (1,) * turn), initial=1, widening=0.01, exploration=0)
    assert (asked.group, asked.prompt.operator, asked.prompt.asks_thought) == ("1", operator, True)


def test_a_leaf_below_the_root_has_no_line_of_descent_to_learn_from() -> None:
    asked = [ask(grown([member(0), member(1, 9.0)], (0,) * turn), initial=1, widening=0.01) for turn in range(5)]
    assert [each.prompt.operator for each in asked] == ["e2", "m1", "m1", "m2", "m2"]
    assert {each.group for each in asked} == {"0"}


@pytest.mark.parametrize("fruitless", ["awaited", "failed"])
def test_a_leaf_whose_operators_were_all_used_waits_for_the_other_leaves(fruitless: str) -> None:
    leaves = [member(0), member(1, 9.0), member(2, 5.0)]
    turns = []
    for tries in range(20):
        nodes = tuple(node for node, _ in turns)
        state = grown(leaves, nodes if fruitless == "awaited" else ())
        state.rejected_from = Counter(map(str, nodes if fruitless == "failed" else ()))
        asked = ask(state, tries, initial=1, widening=0.01, exploration=0)
        turns.append((int(asked.group or ROOT), asked.prompt.operator))
    assert [node for node, _ in turns] == [0] * 5 + [2] * 5 + [1] * 5 + [0] * 5  # the best first
    assert [operator for _, operator in turns] == ["e2", "m1", "m1", "m2", "m2"] * 4


def test_the_search_does_not_descend_below_its_depth() -> None:
    line = [member(k, 9.0 - k, origin=str(k - 1)) for k in range(5)]
    others = [member(100 + 10 * node + k, 20.0, origin=str(node)) for node in range(4) for k in range(5)]
    # the best at the greatest depth has its six children, so another leaf comes first, but none below that depth
    for depth, node in ((2, "100"), (3, "110"), (4, "120"), (9, "4")):
        asked = ask(grown([*line, *others]), initial=1, widening=0.01, exploration=0, depth=depth)
        assert asked.group == node
    # its six children, and then six more once the others at the greatest depth have as many
    everywhere = tuple(node for node in (1, *range(100, 105)) for _ in range(6))
    states = [grown([*line, *others], everywhere[6:] + (1,) * more) for more in range(6)]
    deepest = [ask(state, initial=1, widening=0.01, exploration=0, depth=2) for state in states]
    assert [each.group for each in deepest] == ["1"] * 6
    assert [each.prompt.operator for each in deepest] == list(EXPANSION)


def test_the_root_gets_a_child_unlike_all_subtrees_where_widening_allows_one_more() -> None:
    # the root has been visited 1 + 2 + 13 times, and may have √16 = 4 children
    family = [member(0, 1.0), member(1, 2.0), *(member(k, 3.0, origin="0") for k in range(2, 15))]
    assert ask(grown(family), initial=1).prompt.operator == "e1"
    assert ask(grown(family), initial=1).group == "-1"
    assert ask(grown(family, (ROOT,)), initial=1).prompt.operator == "e1"
    assert ask(grown(family, (ROOT, ROOT)), initial=1).prompt.operator != "e1"
    assert ask(grown(family[:-1]), initial=1, widening=0.25).group != "-1"  # 15 ** 0.25 < 2


def test_an_expanded_node_gets_a_further_child_by_crossover_where_widening_allows_one() -> None:
    children = [member(k, 3.0, origin="0") for k in range(1, 7)]
    asked = ask(grown([member(0, 1.0), *children]), initial=1, widening=1.0, exploration=0)
    assert (asked.group, asked.prompt.operator) == ("-1", "e1")  # 8 visits allow 8
    awaited = (ROOT,) * 7  # 15 visits; 8 children are allowed to the square root of 225
    asked = ask(grown([member(0, 1.0), *children], awaited), initial=1, widening=0.75, exploration=0)
    assert (asked.group, asked.prompt.operator) == ("1", "e2")  # 7 ** 0.75 < 6, so on to its best child


def test_exploration_falls_to_nothing_with_the_budget() -> None:
    # two subtrees, the better of them visited more often: worth a look elsewhere at first, and not at the end
    family = [member(0, 1.0), member(1, 5.0), *(member(k, 5.0, origin="0") for k in range(2, 8))]
    settings = {"initial": 1, "widening": 0.01, "exploration": 2.0}
    assert [ask(grown(family), number, **settings).group for number in (0, 20)] == ["1", "1"]
    assert ask(grown(family), 100, **settings).group != "1"
    assert ask(grown(family), 250, **settings).group != "1"  # a raised budget
    assert ask(grown(family, budget=1000), 100, **settings).group == "1"


class TestShown:
    def test_modification_shows_the_node_alone(self) -> None:
        assert ask(grown([member(0)], (0,)), initial=1, widening=0.01).parents == (0,)

    def test_crossover_shows_the_node_and_another_of_the_best_from_worse_to_better(self) -> None:
        # below the root 1 is best; its first child is by crossover with one of the two best others
        family = [member(0, 3.0), member(1, 1.0), member(2, 2.0), member(3, 9.0)]
        seen = {ask(grown(family, (2, 3, 0)), number, widening=0.01, elites=2).parents for number in range(40)}
        assert seen == {(2, 1), (0, 1)}

    def test_no_prompt_shows_a_copy_of_what_it_shows(self) -> None:
        # the three best are one program in other words; only 2 and 3 differ from it
        texts = {0: "a", 1: "a", 2: "b", 3: "c", 4: "a"}
        family = [member(k, float(k % 4), program_hash=texts[k], origin="-1") for k in texts]
        crossed = {
            ask(grown(family, (1, 2, 3, 4)), k, widening=0.01, elites=1, exploration=0).parents for k in range(40)
        }
        assert crossed == {(2, 0)}  # the best program that is no copy, not the second best
        explored = {ask(grown(family), k, initial=9).parents for k in range(60)}
        assert all(len({texts[parent] for parent in parents}) == len(parents) for parents in explored)
        line = [member(0, 2.0, program_hash="a"), member(1, 1.0, program_hash="a", origin="0")]
        others = [member(k, 9.0, program_hash=str(k), origin="0") for k in range(2, 7)]
        asked = ask(grown([*line, *others], (1,) * 5), initial=1, widening=0.01, exploration=0)
        assert (asked.group, asked.prompt.operator, asked.parents) == ("1", "m1", (1,))  # in the turn of s1

    def test_the_only_program_is_modified_since_there_is_none_to_cross_it_with(self) -> None:
        asked = ask(grown([member(0)]), initial=1, widening=0.01)
        assert (asked.prompt.operator, asked.parents) == ("m1", (0,))

    def test_exploration_shows_a_program_of_each_of_two_to_five_subtrees(self) -> None:
        seen = {ask(grown(FAMILY), number, initial=2, widening=1.0).parents for number in range(40)}
        assert seen == {(1, 0), (1, 2), (1, 3), (1, 4)}
        many = [member(k, float(k)) for k in range(7)]
        drawn = [ask(grown(many), number, initial=2, widening=1.0).parents for number in range(60)]
        assert {len(parents) for parents in drawn} == {2, 3, 4, 5}
        assert {parent for parents in drawn for parent in parents} == set(range(7))
        assert all(list(parents) == sorted(parents, reverse=True) for parents in drawn)

    def test_the_way_from_the_root_is_shown_by_its_last_three_programs(self) -> None:
        line = [member(k, 9.0 - k, origin=str(k - 1)) for k in range(5)]
        others = [member(10 * node + k, 20.0, origin=str(node)) for node in range(1, 4) for k in range(5)]
        first = [member(5 + k, 20.0, origin="0") for k in range(5)]
        asked = ask(grown([*line, *first, *others], (4,) * 5), initial=1, widening=0.01, exploration=0)
        assert (asked.group, asked.prompt.operator, asked.parents) == ("4", "s1", (2, 3, 4))


def test_every_feasible_program_joins_the_tree() -> None:
    method = MctsAhd(MctsAhdSettings(), BRIEF)
    assert method.register(grown([]), UNREAD, candidate(3, score=1.0)) == Added(3, TREE)
    assert method.register(grown([]), UNREAD, candidate(3)) == NotAdded(3)


def test_a_person_is_told_how_large_and_how_deep_the_tree_is() -> None:
    method = MctsAhd(MctsAhdSettings(), BRIEF)
    assert method.facts(grown(FAMILY)) == {"tree": "5 programs, 3 deep"}
    assert method.facts(grown([])) == {"tree": "0 programs, 0 deep"}


def test_in_a_whole_run_nodes_are_there_before_they_grow_and_grow_by_the_operators_in_turn() -> None:
    events = events_of(method="mcts-ahd", ask_once=False)
    grew: dict[str, list[str]] = defaultdict(list)
    kept: Tree | None = None
    for state, event in steps(events):
        kept = kept or Tree(state)
        kept.update()
        assert read(kept) == read(Tree(state))
        if isinstance(event, Asked) and event.prompt.operator != "i1":
            assert event.group is not None
            assert event.group == str(ROOT) or int(event.group) in state.groups[TREE].members
            grew[event.group].append(event.prompt.operator)
    tree = Tree(final(events))
    for node, operators in grew.items():
        if node == str(ROOT):
            assert set(operators) == {"e1"}
        else:  # m1 stands in for e2 and s1 where all programs that they could show are copies
            turns = zip(operators, tree.nodes[int(node)].turns, strict=False)
            assert all(operator in (turn, "m1") for operator, turn in turns)
    assert set(Counter(operator for operators in grew.values() for operator in operators)) == {"e1", *EXPANSION}
