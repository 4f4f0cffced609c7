"""Type 3, case 3: insertion sort by recursion over the items, and with loops."""


def first(numbers, record):
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


def second(numbers, record):
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
