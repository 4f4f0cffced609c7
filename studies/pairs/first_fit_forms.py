"""Type 3, case 5: first fit with a loop over the bins, and with `next` over a generator of the bins with room."""


def first(items, capacity, record):
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


def second(items, capacity, record):
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
