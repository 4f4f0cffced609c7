"""Grammar for `cap_set`: counts of values, and of patterns of neighbouring values."""

GRAMMAR = """
ones: scalar = el.count(1)
twos: scalar = el.count(2)
zeros: scalar = el.count(0)
mirrored: scalar = sum([el[i] == el[-1 - i] for i in range(n // 2)])
changes: scalar = sum([el[i] != el[i - 1] for i in range(n)])
half: values = el[:n // 2]
pairs: values = [(el[i] + el[i + 1]) % 3 for i in range(0, n - 1, 2)]

total = scalar | total + number * scalar | total - number * scalar | total + number * scalar | total - number * scalar
total = (total if scalar > total else total) | total * scalar | number * total | total - abs(scalar - number)
scalar = sum([test for i in range(n)]) | sum([test for i in range(n)]) | sum([item for i in range(n)])
scalar = sum([item for i in range(n)]) | values.count(value) | scalar % modulus | scalar * scalar | el[place]
scalar = sum([test for i in range(first, n, 2)]) | (scalar % modulus == value) | abs(scalar - scalar)
values = el | half | pairs | el[::2] | el[1::2] | [(el[i] - el[i - step]) % 3 for i in range(n)]
test = (el[i] != el[i - step]) | (el[i] < el[i - step]) | (el[i] == value) | ((el[i] + el[i - step]) % 3 == value)
test = (test and test) | (test or test) | (el[i] == el[i - step] == value) | (i % modulus == value and test)
item = (0, number, number)[el[i]] | (0, number, number)[(el[i] - el[i - step]) % 3] | el[i] * el[i - step] | i * el[i]
item = el[i] * 3 ** i % modulus | (el[i] + el[i - step]) % 3 | (el[i] * el[i - step] * el[i - 1]) % 3
value = 0 | 1 | 2
modulus = 2 | 3 | 4 | 5
step = 1 | 2 | 3 | 4
place = 0 | 1 | 2 | 3 | 4
first = 0 | 1

score: total
return float(score)
"""
