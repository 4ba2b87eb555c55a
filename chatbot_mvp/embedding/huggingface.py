"""Embeds texts with a model of Hugging Face that ``sentence-transformers`` runs inside this process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.embedding.transformer import clean_text
from chatbot_mvp.errors import ConfigurationError, EmbedderFileMissing, MissingPackage
from chatbot_mvp.settings.kinds import HUGGINGFACE_PREFIX

COMMAND = "pip install 'chatbot-mvp[transformers]'"
_BATCH_SIZE = 16
_PROMPTS: dict[InputType, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage")}
"""Names under which a model may keep the text that goes before a question or a passage."""
_WEIGHTS = (".safetensors", ".bin", ".model")
_DECIDES = (".json", ".txt", *_WEIGHTS)


class HuggingFaceEmbedder:
    """A model of ``sentence-transformers``, or any encoder of ``transformers``, whose token states are then averaged.

    Reads only the beginning of a text that is longer than the model's maximum number of tokens.
    """

    batch_size = None

    def __init__(self, name: str, cache_dir: Path) -> None:
        """
        Args:
            name: "huggingface:" and a folder or a name on the Hub, or a name that begins with "sentence-transformers/".
            cache_dir: folder of models that are downloaded.

        Raises:
            MissingPackage: ``sentence-transformers`` is not installed.
            EmbedderFileMissing: the folder does not exist.
            ConfigurationError (embedder_download_failed): the model cannot be downloaded or loaded.
        """
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            feature = f"EMBEDDING_MODEL_NAME={name}"
            raise MissingPackage(feature=feature, package="sentence-transformers", command=COMMAND) from error
        wanted = name.removeprefix(HUGGINGFACE_PREFIX)
        folder = Path(wanted).expanduser()
        if folder.is_absolute() and not folder.is_dir():
            raise EmbedderFileMissing(model=name, folder=str(folder), expected="config.json")
        try:
            place = str(folder) if folder.is_dir() else wanted
            self._model: Any = SentenceTransformer(place, cache_folder=str(cache_dir))
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ConfigurationError(
                "embedder_download_failed", model=name, folder=str(cache_dir), reason=reason
            ) from error
        self.model_id = _folder_id(folder) if folder.is_dir() else f"{HUGGINGFACE_PREFIX}{wanted}"
        self._lock = threading.Lock()
        self.dimensions = int(self._encoded(["?"], "query").shape[1])

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        vectors = self._encoded([clean_text(text) for text in texts], input_type)
        normalized: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return normalized

    def _encoded(self, texts: list[str], input_type: InputType) -> Vectors:
        known = self._model.prompts or {}
        prompt = next((known[name] for name in _PROMPTS[input_type] if known.get(name)), None)
        with self._lock:
            found = self._model.encode(texts, prompt=prompt, batch_size=_BATCH_SIZE, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


def _folder_id(folder: Path) -> str:
    """Return an id made from the content of a model's files. Reads all weights: about 1 s per GB."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _DECIDES)
    for path in files:
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{HUGGINGFACE_PREFIX}{digest.hexdigest()[:16]}"
