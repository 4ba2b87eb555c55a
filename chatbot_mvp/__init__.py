"""Upload a knowledge base, chat with it, and measure that very pipeline."""

import os

# Pydantic reads the file of every installed package to find its own plugins, and one that is malformed would end every
# command. The program has none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

__version__ = "1.0.0"
