"""Programs of the thirty pairs that sort. A state is the array after a pass, merge, partition or extraction.

Each takes its instance and `record`, which it calls with each state of its trajectory. Metrics of a program's text see
it without these calls, without its docstring, which must be one line, and under its problem's usual name. The programs
are written as people write them, without types.
"""

from heapq import merge

# Type 4, cases 1 to 14: six ways to sort. A state is the array after each pass, merge, partition or extraction.


def bubble_sort(numbers, record):
    """Return the numbers in ascending order: swap neighbours, so that each pass moves the largest to the end."""
    values = list(numbers)
    for end in range(len(values) - 1, 0, -1):
        for k in range(end):
            if values[k] > values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
        record(values)
    return values


def insertion_sort(numbers, record):
    """Return the numbers in ascending order: insert each into the sorted ones before it."""
    values = list(numbers)
    for index in range(1, len(values)):
        key, gap = values[index], index
        while gap > 0 and values[gap - 1] > key:
            values[gap] = values[gap - 1]
            gap -= 1
        values[gap] = key
        record(values)
    return values


def selection_sort(numbers, record):
    """Return the numbers in ascending order: take the smallest of those left, again and again."""
    values = list(numbers)
    for start in range(len(values) - 1):
        least = start
        for k in range(start + 1, len(values)):
            if values[k] < values[least]:
                least = k
        values[start], values[least] = values[least], values[start]
        record(values)
    return values


def merge_sort(numbers, record):
    """Return the numbers in ascending order: sort both halves, then merge them."""
    values = list(numbers)

    def sort(low, high):
        if high - low < 2:
            return
        middle = (low + high) // 2
        sort(low, middle)
        sort(middle, high)
        left, right = values[low:middle], values[middle:high]
        for k in range(low, high):
            if not right or (left and left[0] <= right[0]):
                values[k] = left.pop(0)
            else:
                values[k] = right.pop(0)
        record(values)

    sort(0, len(values))
    return values


def quick_sort(numbers, record):
    """Return the numbers in ascending order: divide a range around its last number, then sort both sides."""
    values = list(numbers)

    def sort(low, high):
        if low >= high:
            return
        pivot, border = values[high], low
        for k in range(low, high):
            if values[k] < pivot:
                values[border], values[k] = values[k], values[border]
                border += 1
        values[border], values[high] = values[high], values[border]
        record(values)
        sort(low, border - 1)
        sort(border + 1, high)

    sort(0, len(values) - 1)
    return values


def heap_sort(numbers, record):
    """Return the numbers in ascending order: build a heap, then take its largest until it is empty."""
    values = list(numbers)

    def sift(root, end):
        while (child := 2 * root + 1) < end:
            if child + 1 < end and values[child + 1] > values[child]:
                child += 1
            if values[root] >= values[child]:
                return
            values[root], values[child] = values[child], values[root]
            root = child

    for root in range(len(values) // 2 - 1, -1, -1):
        sift(root, len(values))
    record(values)
    for end in range(len(values) - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        sift(0, end)
        record(values)
    return values


# Type 3, case 2: bubble sort by recursion over its passes, and with loops.


def bubble_recursive(numbers, record):
    """Return the numbers in ascending order: bubble sort, by recursion over its passes."""

    def sink(values, end):
        if end == 0:
            return values
        for k in range(end):
            if values[k] > values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
        record(values)
        return sink(values, end - 1)

    return sink(list(numbers), len(numbers) - 1)


def bubble_iterative(numbers, record):
    """Return the numbers in ascending order: bubble sort, with loops."""
    array = numbers[:]
    last = len(array) - 1
    while last > 0:
        position = 0
        while position < last:
            here, there = array[position], array[position + 1]
            if here > there:
                array[position] = there
                array[position + 1] = here
            position += 1
        record(array)
        last -= 1
    return array


# Type 3, case 3: insertion sort by recursion over the items, and with loops.


def insertion_recursive(numbers, record):
    """Return the numbers in ascending order: insertion sort, by recursion over the items."""
    values = list(numbers)

    def settle(place):
        if place > 0 and values[place - 1] > values[place]:
            values[place - 1], values[place] = values[place], values[place - 1]
            settle(place - 1)

    def insert(count):
        if count == len(values):
            return
        settle(count)
        record(values)
        insert(count + 1)

    insert(1)
    return values


def insertion_iterative(numbers, record):
    """Return the numbers in ascending order: insertion sort, with loops."""
    array = numbers[:]
    for index in range(1, len(array)):
        key = array[index]
        gap = index
        while gap > 0 and array[gap - 1] > key:
            array[gap] = array[gap - 1]
            gap -= 1
        array[gap] = key
        record(array)
    return array


# Type 3, case 4: merge sort by recursion, and with a stack of the ranges still to sort or merge.


def merge_recursive(numbers, record):
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


def merge_stack(numbers, record):
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
