"""A wing: test today's code and configuration against a baseline file, at the command line and in pytest."""
