"""Type 1, case 1: a matrix product with its two outer loops in either order."""


def first(a, b, record):
    """Return the product of two square matrices, filled row by row."""
    n = len(a)
    c = [[0] * n for _ in range(n)]
    record(c)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
                record(c)
    return c


def second(a, b, record):
    """Return the product of two square matrices, filled column by column."""
    n = len(a)
    c = [[0] * n for _ in range(n)]
    record(c)
    for j in range(n):
        for i in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
                record(c)
    return c
