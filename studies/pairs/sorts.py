"""Type 4, cases 1 to 14: six ways to sort. A state is the array after each pass, merge, partition or extraction."""


def bubble(numbers, record):
    """Return the numbers in ascending order: swap neighbours, so that each pass moves the largest to the end."""
    values = list(numbers)
    for end in range(len(values) - 1, 0, -1):
        for k in range(end):
            if values[k] > values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
        record(values)
    return values


def insertion(numbers, record):
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


def selection(numbers, record):
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


def merge(numbers, record):
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


def quick(numbers, record):
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


def heap(numbers, record):
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
