"""The options of a user's own encoder: the file ``embedding.toml`` beside the model."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatbot_mvp.embedding.transformer import Pooling
from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.storage.json_object import parse_json

OPTIONS_FILE = "embedding.toml"
LEAST_TOKENS = 8
_DEFAULT_MAX_TOKENS = 512
_STATED_IN = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)
"""Files that models bring along, and the key under which each states how many tokens the model reads."""
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet"}
"""Architectures whose first position is 2, so that they read two tokens fewer than they have positions."""
_LEGAL = {
    "pooling": '"mean", "cls"',
    "query_prefix": "text",
    "passage_prefix": "text",
    "max_tokens": f"a whole number from {LEAST_TOKENS}",
}


class Options(BaseModel):
    """How an encoder is used. All keys are optional."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    pooling: Pooling | None = None
    """How token states become one vector; None: their mean."""
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int | None = Field(default=None, ge=LEAST_TOKENS)
    """Tokens that the model reads at once, special tokens included."""


def read_options(path: Path) -> Options:
    """Read ``embedding.toml``; without the file all options have their defaults.

    Raises:
        ConfigurationError (embedder_file_unreadable): the file is not TOML.
        ConfigurationError (embedder_option_invalid): a key or a value is not legal.
    """
    try:
        return Options.model_validate(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return Options()
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        legal = _LEGAL.get(key) or ", ".join(_LEGAL)
        found = key if key not in _LEGAL else f"{key} = {first['input']!r}"
        raise ConfigurationError("embedder_option_invalid", path=str(path), found=found, legal=legal) from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            "embedder_file_unreadable", path=str(path), format="TOML", reason=str(error)
        ) from error


def stated_max_tokens(folder: Path, truncation: dict[str, Any] | None) -> int:
    """Return how many tokens the model reads at once, as the files beside it state; 512 if none does.

    Args:
        folder: the folder of the tokenizer.
        truncation: the part ``truncation`` of the tokenizer's file.
    """
    for name, key in _STATED_IN:
        try:
            config = parse_json((folder / name).read_bytes())
        except (OSError, ValueError):
            continue
        found = config.get(key) if isinstance(config, dict) else None
        # Tokenizers without a limit state 10^30.
        if isinstance(found, int) and LEAST_TOKENS <= found < 1_000_000:
            offset = 2 if key.startswith("max_position") and config.get("model_type") in _OFFSET_POSITIONS else 0
            return found - offset
    return max(LEAST_TOKENS, int(truncation["max_length"])) if truncation else _DEFAULT_MAX_TOKENS
