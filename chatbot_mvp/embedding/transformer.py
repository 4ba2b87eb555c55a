"""Embeds texts with a transformer encoder in this process: batches, threads, pooling."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple, Protocol

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors, unit_vectors

Pooling = Literal["mean", "cls"]
"""How token states become one vector: their mean, or the state of the first token."""

_BATCH_TOKENS = 512
"""Tokens per call of the encoder. The activations of larger batches leave the processor's cache: at 16,384 tokens the
local model is three times as slow (docs/research/embedding.md)."""


_SPECIAL_TOKENS = 2  # in each window; they do not count as its text


class Tokens(Protocol):
    """A tokenizer."""

    def windows(self, text: str, input_type: InputType) -> list[list[int]]:
        """Return the token ids of a text, special tokens included: one list for each part that is read at once."""


class Encoder(Protocol):
    """A transformer encoder. Calls from several threads run at the same time."""

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token state, or of a vector."""

    @property
    def pooled(self) -> bool:
        """Whether it pools the states of a text itself."""

    @property
    def equal_lengths(self) -> bool:
        """Whether texts may share a batch only if they have equally many tokens."""

    def outputs(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Return the state of every token, shape (texts, tokens of the longest text, dimensions).

        States behind the end of a shorter text have no meaning. If ``pooled``, return the vector of every text, shape
        (texts, dimensions).
        """


class _Window(NamedTuple):
    row: int
    """Row of the text."""
    number: int
    """Position in the text, from 0."""
    ids: list[int]


_Batch = list[_Window]


class TransformerEmbedder:
    """An ``Embedder`` over a tokenizer and an encoder, whose token states it pools unless the encoder does.

    Texts of similar length share a batch, and batches run in parallel. A single question runs at once, in the
    caller's thread, so that the chat does not wait while a corpus is being embedded.
    """

    batch_size = None

    def __init__(
        self,
        model_id: str,
        tokens: Tokens,
        encoder: Encoder,
        threads: int,
        pooling: Pooling = "mean",
        engine: str = "",
    ) -> None:
        """
        Args:
            threads: batches that run at the same time.
            engine: as in ``EngineEmbedder``.
        """
        self.model_id = model_id
        self.engine = engine
        self.dimensions = encoder.dimensions
        self._tokens = tokens
        self._encoder = encoder
        self._pooling = pooling
        self._pool = ThreadPoolExecutor(threads, "embed")

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Embed texts, as in ``Embedder``.

        The vector of a text with several windows is the mean of theirs, weighted by their tokens.
        """
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for batch, pooled in self._each(self._batches(texts, input_type), self._pooled, at_once=input_type == "query"):
            for window, vector in zip(batch, pooled, strict=True):
                vectors[window.row] += max(1, len(window.ids) - _SPECIAL_TOKENS) * vector
        return unit_vectors(vectors)

    def _pooled(self, batch: _Batch) -> Sequence[Vectors]:
        if self._encoder.pooled:
            return list(self._encoder.outputs([window.ids for window in batch]))
        return [tokens[0] if self._pooling == "cls" else tokens.mean(axis=0) for tokens in self._states(batch)]

    def _states(self, batch: _Batch) -> Sequence[Vectors]:
        states = self._encoder.outputs([window.ids for window in batch])
        return [np.array(tokens[: len(window.ids)]) for window, tokens in zip(batch, states, strict=True)]

    def _window_states(self, texts: Sequence[str], input_type: InputType) -> list[list[tuple[list[int], Vectors]]]:
        """Return for each text its windows, in order, as (token ids, states of shape (tokens, dimensions))."""
        found: list[dict[int, tuple[list[int], Vectors]]] = [{} for _ in texts]
        batches = self._batches(texts, input_type)
        for batch, states in self._each(batches, self._states, at_once=input_type == "query"):
            for window, of_window in zip(batch, states, strict=True):
                found[window.row][window.number] = (window.ids, of_window)
        return [[windows[number] for number in sorted(windows)] for windows in found]

    def _batches(self, texts: Sequence[str], input_type: InputType) -> list[_Batch]:
        windows = [
            _Window(row, number, ids)
            for row, text in enumerate(texts)
            for number, ids in enumerate(self._tokens.windows(clean_text(text), input_type))
        ]
        windows.sort(key=lambda window: (len(window.ids), window.row))
        batches: list[_Batch] = []
        for window in windows:
            apart = not batches or (self._encoder.equal_lengths and len(batches[-1][0].ids) != len(window.ids))
            if apart or (len(batches[-1]) + 1) * len(window.ids) > _BATCH_TOKENS:
                batches.append([])
            batches[-1].append(window)
        return batches

    def _each(
        self, batches: Sequence[_Batch], work: Callable[[_Batch], Sequence[Vectors]], at_once: bool
    ) -> Iterator[tuple[_Batch, Sequence[Vectors]]]:
        """Yield (batch, result of ``work``). Batches run in parallel; with ``at_once`` a single one needs no thread."""
        if at_once and len(batches) == 1:
            yield batches[0], work(batches[0])
            return
        pending = [self._pool.submit(work, batch) for batch in batches]
        try:
            for batch, future in zip(batches, pending, strict=True):
                yield batch, future.result()
        finally:
            # After an error or Ctrl-C, nobody waits for the batches that have not begun.
            for future in pending:
                future.cancel()


def clean_text(text: str) -> str:
    """Replace what tokenizers cannot read: NUL and lone surrogates."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
