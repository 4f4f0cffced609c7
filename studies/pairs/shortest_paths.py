"""Type 4, cases 15 to 18: four algorithms for the distances from node 0; a state is their list after an iteration."""

import heapq
from collections import deque

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
