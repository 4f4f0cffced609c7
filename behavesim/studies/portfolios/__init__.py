"""Study "portfolio": do programs that behave differently make better sets than others (docs/portfolios.md)?"""
