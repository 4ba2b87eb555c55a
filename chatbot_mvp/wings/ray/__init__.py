"""A wing: benchmark runs on the workers of a Ray cluster."""
