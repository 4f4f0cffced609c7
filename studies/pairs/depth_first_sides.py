"""Type 1, case 3: a tree depth first, the left child before the right one and after it."""


def first(tree, record):
    """Visit a tree's nodes depth first, left child before right; return the set of their values."""
    visited = []

    def visit(node):
        if node is None:
            return
        visited.append(node.value)
        record(visited)
        visit(node.left)
        visit(node.right)

    visit(tree)
    return set(visited)


def second(tree, record):
    """Visit a tree's nodes depth first, right child before left; return the set of their values."""
    visited = []

    def visit(node):
        if node is None:
            return
        visited.append(node.value)
        record(visited)
        visit(node.right)
        visit(node.left)

    visit(tree)
    return set(visited)
