"""Ragas evaluation of any data set of answers: rows in, scores out, as a run that survives anything."""
