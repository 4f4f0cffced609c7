"""Type 1, case 2: a tree breadth first, the left child before the right one and after it."""

from collections import deque


def first(tree, record):
    """Left before right."""
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
    """Right before left."""
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
