"""Type 2, case 2: best fit that avoids leaving a small gap in a bin; the two programs have different gap limits."""


def first(items, capacity, record):
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


def second(items, capacity, record):
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
