"""Type 3, case 1: a tree breadth first by recursion over its levels, and with a queue."""

from collections import deque


def first(tree, record):
    """Visit a tree's nodes breadth first, by recursion over its levels; return their values in that order."""
    found = []

    def descend(level):
        if not level:
            return
        below = []
        for node in level:
            found.append(node.value)
            record(found)
            below += [child for child in (node.left, node.right) if child is not None]
        descend(below)

    descend([tree])
    return found


def second(tree, record):
    """Visit a tree's nodes breadth first, with a queue; return their values in that order."""
    order = []
    waiting = deque()
    waiting.append(tree)
    while len(waiting) > 0:
        current = waiting.popleft()
        order.append(current.value)
        record(order)
        if current.left is not None:
            waiting.append(current.left)
        if current.right is not None:
            waiting.append(current.right)
    return order
