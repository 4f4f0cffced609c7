"""Runs evaluators that people already have: OpenEvolve's, ShinkaEvolve's, LLM4AD's and EoH's, or any command."""
