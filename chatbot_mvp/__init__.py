"""Upload a knowledge base, chat with it, and measure that very pipeline."""

__version__ = "1.0.0"
