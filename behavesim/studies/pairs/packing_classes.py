"""Type 2, case 3: first fit by size classes; the two programs have different class limits."""


def first(items, capacity, record):
    """Pack items by first fit into bins of their size class (limits 30 and 50); return the bin index of each item."""
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


def second(items, capacity, record):
    """Pack items by first fit into bins of their size class (limits 20 and 40); return the bin index of each item."""
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
