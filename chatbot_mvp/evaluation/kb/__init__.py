"""Measures the chat on questions of one's own knowledge base: question sets, runs over them, the evidence threshold."""
