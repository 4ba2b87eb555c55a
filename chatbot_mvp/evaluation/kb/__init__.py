"""Measure the chat on questions about a knowledge base: question sets, their runs and the evidence threshold."""
