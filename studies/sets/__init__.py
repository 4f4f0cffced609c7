"""Study "sets": is a search that aims at a set of programs better than choosing one from another search?

docs/explanation/set-study.md has the protocol.
"""
