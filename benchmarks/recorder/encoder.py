"""The local model: vectors and tokens in float32, and that the product's 8 bits are close to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.recorder.facts import Fact, Place
from benchmarks.recorder.sources import short_hash
from benchmarks.script import SAMPLES
from chatbot_mvp.embedding.base import InputType
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.embedder import E5Embedder, E5Tokens, local_e5
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.engines import CTranslate2Encoder
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, load_settings

_NUMBERS = 48
"""Numbers of a vector that are recorded: every eighth."""
_CLOSE = 0.99


def facts(place: Place) -> Iterator[Fact]:
    settings = load_settings(data_dir=place.work / "data")
    exact = create_embedder(LOCAL_EMBEDDER, settings)
    assert isinstance(exact, E5Embedder)
    file = model_file()
    tokens = E5Tokens(E5File(file))
    bits = CTranslate2Encoder(converted_model(file, settings.models_dir), 2, compute_type="int8")
    product = E5Embedder(tokens, bits, 2, "@8")
    every = _texts()
    kinds: tuple[InputType, ...] = ("query", "passage")
    for kind in kinds:
        texts = every if kind == "passage" else every[1:]  # without the long one
        vectors, close = exact.embed(texts, kind), product.embed(texts, kind)
        states = exact.text_tokens(texts, kind)
        for row, text in enumerate(texts):
            cosine = float(vectors[row] @ close[row])
            rarity = states[row].rarity
            value = {
                "vector": [round(float(number), 6) for number in vectors[row][:: len(vectors[row]) // _NUMBERS]],
                "windows": [short_hash(str(ids)) for ids in tokens.windows(text.replace("\x00", " "), kind)],
                "tokens": [len(rarity), float(np.sum(rarity)), float(np.abs(states[row].states).mean())],
                "8 bits are close": cosine >= _CLOSE,
            }
            yield Fact(f"encoder/{kind}/{row:02d}", value, "vectors")
    yield Fact("encoder/counts", exact.token_counts(every))
    yield Fact("encoder/model", [exact.model_id, exact.dimensions, type(local_e5(settings.models_dir, 1)).__name__])


def _texts() -> list[str]:
    text = next((SAMPLES / "kb").glob("*.md")).read_text("utf-8")
    parts = [part for part in text.split("\n\n") if len(part) > 40]
    odd = ["", "¿Cuántos días?", "How many days off do I have?", "a\x00b \u200d 日本語 🙂", "x" * 300]
    return [" ".join(parts[:8]), *parts[3:6], *odd]
