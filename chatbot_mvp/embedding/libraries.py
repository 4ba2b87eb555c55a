"""Embeds texts with a model that a library runs inside this process; the library downloads it if needed."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors, unit_vectors
from chatbot_mvp.embedding.transformer import clean_text, usable_cores
from chatbot_mvp.ending import native
from chatbot_mvp.errors import ConfigurationError, EmbedderFileMissing, MissingPackage, UnknownChoice
from chatbot_mvp.settings.model import FASTEMBED_PREFIX, HUGGINGFACE_PREFIX
from chatbot_mvp.storage.files import sha256_of

_BATCH_SIZE = 16
"""Texts per call of the model. Each is padded to the longest of its batch, so large batches waste time."""
_PROMPTS: dict[InputType, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage")}
"""Names under which a model may keep the text that goes before a question or a passage."""
_DECIDES = (".json", ".txt", ".safetensors", ".bin", ".model")
"""Suffixes of the files that decide the vectors of a model."""


class _LibraryEmbedder(ABC):
    """Reads only the beginning of a text that is longer than the model's maximum number of tokens."""

    batch_size = None
    dimensions: int

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with native():
            return unit_vectors(self._encoded([clean_text(text) for text in texts], input_type))

    @abstractmethod
    def _encoded(self, texts: list[str], input_type: InputType) -> Vectors: ...


class FastEmbedEmbedder(_LibraryEmbedder):
    """A model of ``fastembed``.

    Most models get no prefix, because the package adds none; those that need one belong into a folder with an
    ``embedding.toml``.
    """

    def __init__(self, name: str, cache_dir: Path, threads: int) -> None:
        """
        Args:
            name: "fastembed/" and the package's name of the model. The first use downloads it.
            cache_dir: folder of the downloaded models.
            threads: cores per call; 0: all that this process may use.

        Raises:
            MissingPackage: ``fastembed`` is not installed.
            UnknownChoice: the package has no such model.
            ConfigurationError (embedder_download_failed): the model cannot be downloaded or loaded.
        """
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            command = "pip install 'chatbot-mvp[fastembed]'"
            feature = f"EMBEDDING_MODEL_NAME={name}"
            raise MissingPackage(feature=feature, package="fastembed", command=command) from error
        wanted = name.removeprefix(FASTEMBED_PREFIX)
        known = {str(found["model"]).lower(): str(found["model"]) for found in TextEmbedding.list_supported_models()}
        if wanted.lower() not in known:
            raise UnknownChoice(kind="fastembed model", found=wanted, legal=", ".join(sorted(known.values())))
        model = known[wanted.lower()]
        try:
            self._model = TextEmbedding(model, cache_dir=str(cache_dir), threads=threads or usable_cores())
        except Exception as error:
            raise ConfigurationError(
                "embedder_download_failed", model=name, folder=str(cache_dir), reason=str(error).rstrip(".")
            ) from error
        self.model_id = f"{FASTEMBED_PREFIX}{model}"
        self.dimensions = self._encoded(["?"], "query").shape[1]

    def _encoded(self, texts: list[str], input_type: InputType) -> Vectors:
        read = self._model.query_embed if input_type == "query" else self._model.passage_embed
        return np.array(list(read(texts, batch_size=_BATCH_SIZE)), dtype=np.float32)


class HuggingFaceEmbedder(_LibraryEmbedder):
    """A model of ``sentence-transformers``, or any encoder of ``transformers``, with the mean of its states."""

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
            command = "pip install 'chatbot-mvp[transformers]'"
            feature = f"EMBEDDING_MODEL_NAME={name}"
            raise MissingPackage(feature=feature, package="sentence-transformers", command=command) from error
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
        self.model_id = f"{HUGGINGFACE_PREFIX}{_content_id(folder) if folder.is_dir() else wanted}"
        self._lock = threading.Lock()
        self.dimensions = self._encoded(["?"], "query").shape[1]

    def _encoded(self, texts: list[str], input_type: InputType) -> Vectors:
        known = self._model.prompts or {}
        prompt = next((known[name] for name in _PROMPTS[input_type] if known.get(name)), None)
        with self._lock:
            found = self._model.encode(texts, prompt=prompt, batch_size=_BATCH_SIZE, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


def _content_id(folder: Path) -> str:
    """Return 16 hex digits made from the content of a model's files. Reads all weights: about 1 s per GB."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _DECIDES):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(sha256_of(path))
    return digest.hexdigest()[:16]
