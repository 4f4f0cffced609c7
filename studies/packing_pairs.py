"""Programs of the thirty pairs that pack items into bins. A state is the bin index of each item so far.

Each takes its instance and `record`, which it calls with each state of its trajectory. Metrics of a program's text see
it without these calls, without its docstring, which must be one line, and under its problem's usual name. The programs
are written as people write them, without types.
"""


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
