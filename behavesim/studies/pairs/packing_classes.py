"""Type 2, case 3: first fit by classes of size, which begin elsewhere in each."""


def first(items, capacity, record):
    """Large from 50, small below 30."""
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
    """Large from 40, small below 20."""
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
