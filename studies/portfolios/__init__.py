"""Study "portfolio": are sets of programs that behave differently better than other sets?

docs/explanation/portfolios.md has the answer.
"""
