"""The small world that searches are rehearsed in, for tests."""

from behavesim.rehearsal.world import Judge, MemoryJournal, Proposer, Stop, Toy, finished, fitting, pause, price, search

__all__ = ["Judge", "MemoryJournal", "Proposer", "Stop", "Toy", "finished", "fitting", "pause", "price", "search"]
