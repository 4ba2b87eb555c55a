"""Runs transformer encoders with CTranslate2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Vectors


class CTranslate2Encoder:
    """An encoder in CTranslate2's format, on the processor.

    Batches run in threads of their own, each on one core: that is faster than sharing a batch between cores, and a
    core that is busy with something else delays only its own batch.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        """
        Args:
            folder: a converted model.
            threads: batches that run at the same time. One more is possible, so that a question need not wait.

        Raises:
            ImportError: CTranslate2 is not installed, or its library cannot be loaded.
            RuntimeError: the model cannot be loaded.
        """
        import ctranslate2

        self._encoder = ctranslate2.Encoder(
            str(folder), device="cpu", compute_type="int8", intra_threads=1, inter_threads=threads + 1
        )
        self.dimensions: int = self.token_states([[0]]).shape[2]

    def token_states(self, batch: Sequence[Sequence[int]]) -> Vectors:
        return np.asarray(self._encoder.forward_batch(list(map(list, batch))).last_hidden_state)
