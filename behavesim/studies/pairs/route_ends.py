"""Type 2, case 1: a route that goes on to the nearest city, and one that goes on to the farthest."""


def first(distances, record):
    """The nearest."""
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


def second(distances, record):
    """The farthest."""
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
