"""Finds the files of a user's own encoder, reads its options, and makes its id from the content of all.

The options are in the file ``embedding.toml`` beside the model.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatbot_mvp.embedding.transformer import Pooling
from chatbot_mvp.errors import ConfigurationError, EmbedderFileMissing
from chatbot_mvp.settings.model import CT2_PREFIX, ONNX_PREFIX
from chatbot_mvp.storage.files import sha256_of
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
_GRAPHS = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"
_CT2_WEIGHTS = "model.bin"
_CT2_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
_EXTERNAL = ("_data", ".data")
"""Endings of the file in which a large ONNX model keeps its weights, after the name of the model file."""


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


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of an encoder. All but ``options`` exist."""

    engine: Literal["onnx", "ct2"]
    model: Path
    """ONNX: the model file. CTranslate2: the folder."""
    weights: tuple[Path, ...]
    """The files that decide the token states."""
    tokenizer: Path
    options: Path

    def model_id(self, options: Options, max_tokens: int) -> str:
        """Return an id made from the content of the files and from the options in effect.

        Reads all weights: about 1 s per GB.
        """
        digest = hashlib.sha256()
        for path in (*self.weights, self.tokenizer):
            digest.update(sha256_of(path))
        effective = {**options.model_dump(), "max_tokens": max_tokens}
        digest.update(json.dumps(effective, sort_keys=True).encode())
        return f"{self.engine}:{digest.hexdigest()[:16]}"


def find_files(name: str) -> ModelFiles:
    """Find the files of the model ``name``, as in "onnx:/path/to/folder". Opens no file.

    Args:
        name: "onnx:" and a folder or an .onnx file, or "ct2:" and a folder. "~" is the user's home.

    Raises:
        EmbedderFileMissing: the folder or one of its files does not exist.
    """
    if name.startswith(ONNX_PREFIX):
        return _onnx(name, Path(name.removeprefix(ONNX_PREFIX)).expanduser())
    return _ct2(name, Path(name.removeprefix(CT2_PREFIX)).expanduser())


def _onnx(name: str, place: Path) -> ModelFiles:
    is_file = place.is_file() or place.suffix == ".onnx"
    model = _first(name, place.parent, [place.name]) if is_file else _first(name, place, _GRAPHS)
    folder = model.parent
    # Repositories of models often keep the variants of the graph in a folder of their own.
    if folder.name == "onnx" and not (folder / _TOKENIZER).is_file():
        folder = folder.parent
    external = [model.with_name(model.name + ending) for ending in _EXTERNAL]
    weights = (model, *(path for path in external if path.is_file()))
    return ModelFiles("onnx", model, weights, _first(name, folder, [_TOKENIZER]), folder / OPTIONS_FILE)


def _ct2(name: str, folder: Path) -> ModelFiles:
    weights = (_first(name, folder, [_CT2_WEIGHTS]), _first(name, folder, ["config.json"]))
    _first(name, folder, _CT2_VOCABULARIES)
    return ModelFiles("ct2", folder, weights, _first(name, folder, [_TOKENIZER]), folder / OPTIONS_FILE)


def _first(name: str, folder: Path, names: Sequence[str]) -> Path:
    for wanted in names:
        if (folder / wanted).is_file():
            return folder / wanted
    raise EmbedderFileMissing(model=name, folder=str(folder), expected=" / ".join(names))


def ct2_vocabulary_size(folder: Path) -> int:
    """Return the number of tokens that a CTranslate2 model knows.

    Raises:
        OSError, ValueError: the file cannot be read.
    """
    as_json, as_text = (folder / name for name in _CT2_VOCABULARIES)
    if as_json.is_file():
        return len(parse_json(as_json.read_bytes()))
    return len(as_text.read_text("utf-8").removesuffix("\n").split("\n"))
