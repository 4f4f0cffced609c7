"""Type 2, case 3: first fit by size classes; the two programs have different class limits."""


def first(items, capacity, record):
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


def second(items, capacity, record):
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
