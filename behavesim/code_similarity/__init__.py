"""How alike two programs are by other metrics than BehaveSim: those of the paper's Table 1, behind one protocol."""
