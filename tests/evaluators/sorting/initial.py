def sort(values):
    values, comparisons = list(values), 0
    for end in range(len(values) - 1, 0, -1):
        for place in range(end):
            comparisons += 1
            if values[place] > values[place + 1]:
                values[place], values[place + 1] = values[place + 1], values[place]
    return values, comparisons
