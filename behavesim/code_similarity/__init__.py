"""Similarity metrics behind one protocol: those of Table 1 of the paper, such as BLEU and syntax tree edit distance."""
