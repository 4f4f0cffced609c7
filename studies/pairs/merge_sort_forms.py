"""Type 3, case 4: merge sort by recursion, and with a stack of the ranges still to sort or merge."""

from heapq import merge


def first(numbers, record):
    """Return the numbers in ascending order: merge sort, by recursion over the halves."""
    values = list(numbers)

    def sort(low, high):
        if high - low < 2:
            return
        middle = (low + high) // 2
        sort(low, middle)
        sort(middle, high)
        left, right = values[low:middle], values[middle:high]
        i = j = 0
        for k in range(low, high):
            if j == len(right) or (i < len(left) and left[i] <= right[j]):
                values[k] = left[i]
                i += 1
            else:
                values[k] = right[j]
                j += 1
        record(values)

    sort(0, len(values))
    return values


def second(numbers, record):
    """Return the numbers in ascending order: merge sort, with a stack of the ranges still to sort or merge."""
    array = numbers[:]
    stack = [(0, len(array), False)]
    while stack:
        start, stop, is_split = stack.pop()
        half = (start + stop) // 2
        if is_split:
            array[start:stop] = merge(array[start:half], array[half:stop])
            record(array)
        elif stop - start > 1:
            stack += [(start, stop, True), (half, stop, False), (start, half, False)]
    return array
