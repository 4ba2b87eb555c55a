"""Embeds texts with a model of the package ``fastembed``, which downloads its models from the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.embedding.transformer import clean_text, usable_cores
from chatbot_mvp.errors import ConfigurationError, MissingPackage, UnknownChoice
from chatbot_mvp.settings.model import FASTEMBED_PREFIX

_BATCH_SIZE = 16
"""Texts per call of the model. The package pads each to the longest of its batch, so large batches waste time."""


class FastEmbedEmbedder:
    """A model of ``fastembed``.

    Reads only the beginning of a text that is longer than the model's maximum number of tokens. Most models get no
    prefix, because the package adds none; those that need one belong into a folder with an ``embedding.toml``.
    """

    batch_size = None

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
            raise MissingPackage(
                feature=f"EMBEDDING_MODEL_NAME={name}",
                package="fastembed",
                command="pip install 'chatbot-mvp[fastembed]'",
            ) from error
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
        self.dimensions: int = next(iter(self._model.query_embed(["?"]))).shape[0]

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        read = self._model.query_embed if input_type == "query" else self._model.passage_embed
        vectors = np.array(list(read(list(map(clean_text, texts)), batch_size=_BATCH_SIZE)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        normalized: Vectors = vectors / np.maximum(norms, 1e-9)
        return normalized
