"""A wing: find the best configuration for a knowledge base or a data set, with proof."""
