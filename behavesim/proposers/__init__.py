"""Proposers: they answer prompts with programs, by a model, a command, a person, a journal or without a model."""
