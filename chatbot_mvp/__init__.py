"""Upload a knowledge base, chat with it, and measure that very pipeline."""

__version__ = "0.1.0"
