"""Back up a data folder in one archive while it is in use, and restore it as a whole or not at all."""
