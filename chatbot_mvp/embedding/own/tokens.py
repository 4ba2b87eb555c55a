"""A tokenizer from a file ``tokenizer.json``, as models bring it along."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer

from chatbot_mvp.embedding.base import InputType
from chatbot_mvp.errors import ConfigurationError


class LibraryTokens:
    """Turns texts into token ids with the library ``tokenizers``. Safe to share between threads."""

    def __init__(self, tokenizer: Tokenizer, prefixes: Mapping[InputType, str], max_tokens: int) -> None:
        """
        Args:
            prefixes: what stands before a text of each type.
            max_tokens: length of a window, special tokens included.
        """
        # The encoder pads, to the longest text of a batch only.
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
        self._tokenizer = tokenizer
        self._prefixes = prefixes

    def windows(self, text: str, input_type: InputType) -> list[list[int]]:
        """Return the token ids of a text with its prefix; a longer text has several windows, without overlap."""
        first = self._tokenizer.encode(self._prefixes[input_type] + text)
        # An encoder needs at least one token; the tokenizer of some models has none for an empty text.
        return [part.ids or [0] for part in (first, *first.overflowing)]


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a ``tokenizer.json``.

    Raises:
        ConfigurationError (embedder_file_unreadable): it cannot be read, or has another format.
    """
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:
        raise ConfigurationError(
            "embedder_file_unreadable", path=str(path), format="tokenizer.json", reason=str(error)
        ) from error
