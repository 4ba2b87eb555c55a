"""A wing: back up the data folder to one archive, and restore it."""
