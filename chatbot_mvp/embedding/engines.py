"""Runs transformer encoders with CTranslate2 and with onnxruntime."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.ending import native
from chatbot_mvp.storage.filled_memory import unfilled

_TRIED_LENGTHS = (150, 61, 29, 13, 3)
"""Tokens of the texts with which an engine is tried: the kernels for short and for long texts are not the same."""


class CTranslate2Encoder:
    """An encoder in CTranslate2's format, on the processor.

    Batches run in threads of their own, each on one core: that is faster than sharing a batch between cores, and a
    core that is busy with something else delays only its own batch.

    On some processors the attention of a text is summed in an order that depends on the longest text of its batch, and
    weights of 8 bits turn the last bit of a sum into differences of 0.008. There, texts share a batch only if they have
    equally many tokens. A few texts are tried when the model is loaded, which takes about 50 ms.
    """

    pooled = False

    def __init__(self, folder: Path, threads: int, compute_type: str = "int8") -> None:
        """
        Args:
            folder: a converted model.
            threads: batches that run at the same time. One more is possible, so that a question need not wait.
            compute_type: type of the weights in memory; "default" is the type in which they are saved.

        Raises:
            ImportError: CTranslate2 is not installed, or its library cannot be loaded.
            RuntimeError, ValueError: the model cannot be loaded.
        """
        import ctranslate2

        with native(), unfilled():
            self._encoder = ctranslate2.Encoder(
                str(folder), device="cpu", compute_type=compute_type, intra_threads=1, inter_threads=threads + 1
            )
        self.dimensions: int = self.outputs([[0]]).shape[2]
        self.equal_lengths = not self._is_batchable()

    def outputs(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Return the state of every token, as in ``Encoder``."""
        with native():
            return np.asarray(self._encoder.forward_batch(list(map(list, batch))).last_hidden_state)

    def digest(self) -> str:
        """Return 8 hex digits made from the states of a few texts, each alone: equal for engines of equal numbers."""
        found = hashlib.sha256()
        for ids in self._tried():
            found.update(self.outputs([ids])[0, : len(ids)].tobytes())
        return found.hexdigest()[:8]

    def _is_batchable(self) -> bool:
        """Return whether texts have the same states in a batch as alone, to the bit: the last bits of a few texts
        become large differences of others."""
        tried = self._tried()
        together = self.outputs(tried)
        return all(
            np.array_equal(states[: len(ids)], self.outputs([ids])[0])
            for ids, states in zip(tried, together, strict=True)
        )

    def _tried(self) -> list[list[int]]:
        """Return the texts to try, without those that are too long for the model."""
        found = [[_LONG[at % len(_LONG)] for at in range(length)] for length in _TRIED_LENGTHS]
        while len(found) > 1:
            try:
                self.outputs(found[:1])
                break
            except (RuntimeError, ValueError):
                found = found[1:]
        return found


_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
_LAST_STATE = "last_hidden_state"
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_SHORT, _LONG = [1], list(range(1, 9))
"""Token ids that every vocabulary has."""
_SAME_STATE = 1e-3
"""Largest difference between two computations of one state that is due to the order of additions."""


class OnnxEncoder:
    """A BERT-like encoder in ONNX format, run by onnxruntime on the processor, each call on one core."""

    equal_lengths = False  # if texts cannot be read together, they are read one by one

    def __init__(self, path: Path) -> None:
        """
        Raises:
            ValueError: the file cannot be loaded, needs other inputs, or does not accept texts of any length.
        """
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as states

        # The library's exceptions have no base class of their own.
        self._failures = tuple(
            found for found in vars(states).values() if isinstance(found, type) and issubclass(found, Exception)
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what fails is raised, so it need not be logged too
        try:
            with native():
                self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except self._failures as error:
            raise ValueError(_reason(error)) from error
        self._types = {found.name: _INTEGERS.get(found.type) for found in self._session.get_inputs()}
        wrong = [name for name, kind in self._types.items() if kind is None or name not in (_IDS, _MASK, _TYPES)]
        if wrong or _IDS not in self._types:
            legal = f"{_IDS} (required), {_MASK}, {_TYPES}, all of integers"
            shown = ", ".join(f"{found.name} ({found.type})" for found in self._session.get_inputs())
            raise ValueError(f"its inputs are {shown}; legal: {legal}")
        self._one_by_one = True
        self._output, self.pooled = self._choose_output()
        alone = self._run([_SHORT])
        self.dimensions: int = alone.shape[-1]
        self._one_by_one = not self._is_batchable(alone)

    def outputs(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Return the state of every token, or the vector of every text, as in ``Encoder``."""
        if not self._one_by_one:
            return self._run(batch)
        if self.pooled:
            return np.concatenate([self._run([ids]) for ids in batch])
        states = np.zeros((len(batch), max(map(len, batch)), self.dimensions), dtype=np.float32)
        for row, ids in enumerate(batch):
            states[row, : len(ids)] = self._run([ids])[0]
        return states

    def _choose_output(self) -> tuple[str, bool]:
        """Return the name of the output to read, and whether it is pooled. A graph need not state the shapes."""
        names = [found.name for found in self._session.get_outputs()]
        ranks = {name: np.ndim(found) for name, found in zip(names, self._fetch(names, [_LONG]), strict=True)}
        for rank, pooled in ((3, False), (2, True)):
            found = [name for name in sorted(names, key=lambda name: name != _LAST_STATE) if ranks[name] == rank]
            if found:
                return found[0], pooled
        shown = ", ".join(f"{name} ({rank}-D)" for name, rank in ranks.items())
        raise ValueError(f"its outputs are {shown}; expected {_LAST_STATE} (3-D) or one vector per text (2-D)")

    def _is_batchable(self, alone: Vectors) -> bool:
        """Return whether a text has the same states in a batch as alone.

        It has not if the graph has a fixed batch size or no mask, or if it rounds the activations of a whole batch
        to one scale.
        """
        try:
            together = self._run([_SHORT, _LONG])
        except ValueError:
            return False
        mine = together[:1] if self.pooled else together[:1, :1]
        return bool(np.allclose(mine, alone, rtol=_SAME_STATE, atol=_SAME_STATE))

    def _run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        return np.asarray(self._fetch([self._output], batch)[0], dtype=np.float32)

    def _fetch(self, outputs: Sequence[str], batch: Sequence[Sequence[int]]) -> list[Vectors]:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        values = {_IDS: ids, _MASK: mask, _TYPES: np.zeros_like(ids)}
        try:
            with native():
                found: list[Vectors] = self._session.run(
                    list(outputs), {name: values[name].astype(kind) for name, kind in self._types.items()}
                )
        except self._failures as error:
            raise ValueError(_reason(error)) from error
        return found


def _reason(error: Exception) -> str:
    """Return the message of onnxruntime without its codes and its names of places in the source."""
    text = str(error).strip().splitlines()[0]
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : ", "", text.rpartition("Status Message: ")[2] or text).rstrip(".")
