"""Grammar for `bin_packing`: the room that an item leaves in each bin, and how full the bins are."""

GRAMMAR = """
room: vector = bins - item
filled: vector = 100 - bins
ratio: vector = item / bins
unused: vector = 1.0 * (bins == 100)

vector = -room | -room | vector + number * vector | vector - number * vector | vector + vector | vector - vector
vector = vector * vector | vector / (np.abs(vector) + 1) | np.minimum(vector, vector) | np.maximum(vector, vector)
vector = np.where(room < size, vector, vector) | np.where(vector > vector, vector, vector) | scalar * vector
vector = (vector if item > size else vector) | np.abs(room - size) | -np.abs(room - size) | np.sqrt(np.abs(vector))
vector = np.exp(-np.abs(vector) / size) | np.tanh(vector / size) | np.log1p(np.abs(vector)) | vector ** 2
vector = np.where(room == 0, size, vector) | vector - size * unused | (bins - size) % item
scalar = number | item | size | bins.min() | bins.mean() | scalar / size | scalar + scalar | scalar - scalar
size = 1 | 2 | 3 | 5 | 7 | 10 | 13 | 16 | 20 | 25 | 30 | 35 | 40 | 50 | 60

score: vector
return score
"""
