"""Finds the files of a user's own encoder, and makes its id from their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatbot_mvp.embedding.own.options import OPTIONS_FILE, Options
from chatbot_mvp.errors import EmbedderFileMissing
from chatbot_mvp.settings.model import CT2_PREFIX, ONNX_PREFIX
from chatbot_mvp.storage.json_object import parse_json

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"
_CT2_WEIGHTS = "model.bin"
_CT2_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
_EXTERNAL = ("_data", ".data")
"""Endings of the file in which a large ONNX model keeps its weights, after the name of the model file."""


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
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
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
