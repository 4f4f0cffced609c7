"""Type 2, case 1: a route that goes on to the nearest city, and one that goes on to the farthest."""


def first(distances, record):
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


def second(distances, record):
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
