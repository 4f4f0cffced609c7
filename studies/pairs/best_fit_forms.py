"""Type 3, case 6: best fit with a loop that keeps the tightest bin so far, and with a minimum over those that fit."""


def first(items, capacity, record):
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


def second(items, capacity, record):
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
