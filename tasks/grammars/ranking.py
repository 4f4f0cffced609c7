"""The end of grammars for programs that rank the choices at hand: it makes a priority for each choice.

It combines vectors with one number for each choice. A grammar puts its own definitions before it, and at least one rule
for `vector`.
"""

RANKING = """
vector = vector + number * vector | vector - number * vector | vector * vector | vector / (np.abs(vector) + 0.01)
vector = np.minimum(vector, vector) | np.maximum(vector, vector) | np.where(vector > scalar, vector, vector)
vector = scalar * vector | vector ** 2 | np.sqrt(np.abs(vector)) | np.exp(-np.abs(vector))
vector = np.argsort(np.argsort(vector)) / len(vector) | (vector if scalar > scalar else vector)
scalar = number | vector.mean() | vector.min() | vector.max() | scalar * scalar | scalar - scalar

score: vector
return score
"""
