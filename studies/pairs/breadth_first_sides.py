"""Type 1, case 2: a tree breadth first, the left child before the right one and after it."""

from collections import deque


def first(tree, record):
    """Visit a tree's nodes breadth first, left child before right; return the set of their values."""
    visited = []
    queue = deque([tree])
    while queue:
        node = queue.popleft()
        visited.append(node.value)
        record(visited)
        if node.left:
            queue.append(node.left)
        if node.right:
            queue.append(node.right)
    return set(visited)


def second(tree, record):
    """Visit a tree's nodes breadth first, right child before left; return the set of their values."""
    visited = []
    queue = deque([tree])
    while queue:
        node = queue.popleft()
        visited.append(node.value)
        record(visited)
        if node.right:
            queue.append(node.right)
        if node.left:
            queue.append(node.left)
    return set(visited)
