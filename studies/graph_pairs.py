"""Programs of the thirty pairs on matrices, trees, routes, graphs and bins. States are parts of the result.

Each takes its instance and `record`, which it calls with each state of its trajectory. Metrics of a program's text see
it without these calls, without its docstring, which must be one line, and under its problem's usual name. The programs
are written as people write them, without types.
"""

import heapq
from collections import deque

# Type 1, case 1: a matrix product with its two outer loops in either order.


def product_by_rows(a, b, record):
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


def product_by_columns(a, b, record):
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


# Type 1, case 2: a tree breadth first, the left child before the right one and after it.


def breadth_left(tree, record):
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


def breadth_right(tree, record):
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


# Type 1, case 3: a tree depth first, the left child before the right one and after it.


def depth_left(tree, record):
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


def depth_right(tree, record):
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


# Type 3, case 1: a tree breadth first by recursion over its levels, and with a queue.


def breadth_recursive(tree, record):
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


def breadth_queue(tree, record):
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


# Type 2, case 1: a route that goes on to the nearest city, and one that goes on to the farthest.


def nearest_city(distances, record):
    """Return a route through all cities from city 0 that always goes to the nearest unvisited city."""
    route = [0]
    record(route)
    unvisited = set(range(1, len(distances)))
    while unvisited:
        here = route[-1]
        city = min(unvisited, key=lambda other: distances[here][other])
        unvisited.remove(city)
        route.append(city)
        record(route)
    return route


def farthest_city(distances, record):
    """Return a route through all cities from city 0 that always goes to the farthest unvisited city."""
    route = [0]
    record(route)
    unvisited = set(range(1, len(distances)))
    while unvisited:
        here = route[-1]
        city = max(unvisited, key=lambda other: distances[here][other])
        unvisited.remove(city)
        route.append(city)
        record(route)
    return route


# Type 4, cases 15 to 18: four algorithms for the distances from node 0; a state is their list after an iteration.


FAR = 10**9
"""The distance of a node that has not been reached; longer than any path of the instances."""


def dijkstra(graph, record):
    """Return the distance of each node from node 0 (Dijkstra): settle the nearest open node."""
    distance = [FAR] * len(graph)
    distance[0] = 0
    settled = set()
    queue = [(0, 0)]
    while queue:
        _, node = heapq.heappop(queue)
        if node in settled:
            continue
        settled.add(node)
        for neighbour, weight in graph[node]:
            if distance[node] + weight < distance[neighbour]:
                distance[neighbour] = distance[node] + weight
                heapq.heappush(queue, (distance[neighbour], neighbour))
        record(distance)
    return distance


def bellman_ford(graph, record):
    """Return the distance of each node from node 0 (Bellman-Ford): relax every edge until nothing changes."""
    distance = [FAR] * len(graph)
    distance[0] = 0
    for _ in range(len(graph) - 1):
        is_shorter = False
        for node, edges in enumerate(graph):
            for neighbour, weight in edges:
                if distance[node] + weight < distance[neighbour]:
                    distance[neighbour] = distance[node] + weight
                    is_shorter = True
        record(distance)
        if not is_shorter:
            break
    return distance


def queued(graph, record):
    """Return the distance of each node from node 0 (SPFA): relax the edges of a queue of nodes that became nearer."""
    distance = [FAR] * len(graph)
    distance[0] = 0
    queue = deque([0])
    waiting = {0}
    while queue:
        node = queue.popleft()
        waiting.discard(node)
        for neighbour, weight in graph[node]:
            if distance[node] + weight < distance[neighbour]:
                distance[neighbour] = distance[node] + weight
                if neighbour not in waiting:
                    waiting.add(neighbour)
                    queue.append(neighbour)
        record(distance)
    return distance


def floyd_warshall(graph, record):
    """Return the distance of each node from node 0 (Floyd-Warshall): allow one more node on paths of all pairs."""
    n = len(graph)
    between = [[0 if i == j else FAR for j in range(n)] for i in range(n)]
    for i in range(n):
        for j, weight in graph[i]:
            between[i][j] = min(between[i][j], weight)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if between[i][k] + between[k][j] < between[i][j]:
                    between[i][j] = between[i][k] + between[k][j]
        record(between[0])
    return between[0]


# Programs that pack items into bins. A state is the bin index of each item so far.


# Type 2, case 2: best fit that avoids leaving a small gap in a bin; the two programs have different gap limits.


def slivers_of_8(items, capacity, record):
    """Pack items by best fit that avoids leaving a gap below 8 in a bin; return the bin index of each item."""
    sliver, penalty = 8, 40
    room, chosen = [], []
    for item in items:
        best, place = None, None
        for index, free in enumerate(room):
            left = free - item
            if left < 0:
                continue
            cost = left + (penalty if 0 < left < sliver else 0)
            if best is None or cost < best:
                best, place = cost, index
        if place is None or best > capacity - item:
            place = len(room)
            room.append(capacity)
        room[place] -= item
        chosen.append(place)
        record(chosen)
    return chosen


def slivers_of_16(items, capacity, record):
    """Pack items by best fit that avoids leaving a gap below 16 in a bin; return the bin index of each item."""
    sliver, penalty = 16, 40
    room, chosen = [], []
    for item in items:
        best, place = None, None
        for index, free in enumerate(room):
            left = free - item
            if left < 0:
                continue
            cost = left + (penalty if 0 < left < sliver else 0)
            if best is None or cost < best:
                best, place = cost, index
        if place is None or best > capacity - item:
            place = len(room)
            room.append(capacity)
        room[place] -= item
        chosen.append(place)
        record(chosen)
    return chosen


# Type 2, case 3: first fit by size classes; the two programs have different class limits.


def classes_from_50(items, capacity, record):
    """Pack each item by first fit in bins of its class (limits 30, 50), small ones in any; return bin indices."""
    large, small = 50, 30
    room, kind, chosen = [], [], []
    for item in items:
        size = 2 if item >= large else 0 if item < small else 1
        place = None
        for index, free in enumerate(room):
            if free >= item and (kind[index] == size or size == 0):
                place = index
                break
        if place is None:
            place = len(room)
            room.append(capacity)
            kind.append(size)
        room[place] -= item
        chosen.append(place)
        record(chosen)
    return chosen


def classes_from_40(items, capacity, record):
    """Pack each item by first fit in bins of its class (limits 20, 40), small ones in any; return bin indices."""
    large, small = 40, 20
    room, kind, chosen = [], [], []
    for item in items:
        size = 2 if item >= large else 0 if item < small else 1
        place = None
        for index, free in enumerate(room):
            if free >= item and (kind[index] == size or size == 0):
                place = index
                break
        if place is None:
            place = len(room)
            room.append(capacity)
            kind.append(size)
        room[place] -= item
        chosen.append(place)
        record(chosen)
    return chosen


# Type 3, case 5: first fit with a loop over the bins, and with `next` over a generator of the bins with room.


def first_fit_loop(items, capacity, record):
    """Pack items by first fit, with a loop over the bins; return the bin index of each item."""
    room = []
    chosen = []
    for item in items:
        for index in range(len(room)):
            if room[index] >= item:
                room[index] -= item
                chosen.append(index)
                break
        else:
            room.append(capacity - item)
            chosen.append(len(room) - 1)
        record(chosen)
    return chosen


def first_fit_search(items, capacity, record):
    """Pack items by first fit, with a generator of the bins that have room; return the bin index of each item."""
    loads = []
    assignment = []
    for size in items:
        fitting = (bin_ for bin_, load in enumerate(loads) if load + size <= capacity)
        target = next(fitting, len(loads))
        if target == len(loads):
            loads.append(0)
        loads[target] += size
        assignment.append(target)
        record(assignment)
    return assignment


# Type 3, case 6: best fit with a loop that keeps the tightest bin so far, and with a minimum over those that fit.


def best_fit_loop(items, capacity, record):
    """Pack items by best fit, with a loop that keeps the tightest bin so far; return the bin index of each item."""
    room = []
    chosen = []
    for item in items:
        best = -1
        for index in range(len(room)):
            if room[index] >= item and (best < 0 or room[index] < room[best]):
                best = index
        if best < 0:
            room.append(capacity)
            best = len(room) - 1
        room[best] -= item
        chosen.append(best)
        record(chosen)
    return chosen


def best_fit_minimum(items, capacity, record):
    """Pack items by best fit, with a minimum over the bins that have room; return the bin index of each item."""
    loads = []
    assignment = []
    for size in items:
        fitting = [bin_ for bin_, load in enumerate(loads) if load + size <= capacity]
        if fitting:
            target = min(fitting, key=lambda bin_: capacity - loads[bin_])
            loads[target] += size
        else:
            target = len(loads)
            loads.append(size)
        assignment.append(target)
        record(assignment)
    return assignment
