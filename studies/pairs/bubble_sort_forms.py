"""Type 3, case 2: bubble sort by recursion over its passes, and with loops."""


def first(numbers, record):
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


def second(numbers, record):
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
