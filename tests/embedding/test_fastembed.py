"""Embedding models of the optional package ``fastembed``."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.embedding.libraries import FastEmbedEmbedder
from chatbot_mvp.embedding.own.embedder import own_embedder
from chatbot_mvp.embedding.registry import create_embedder, is_configured
from chatbot_mvp.errors import MissingPackage, UnknownChoice
from chatbot_mvp.settings.model import Settings
from tests.embedding.own_models import minilm_folder

NAME = "fastembed/BAAI/bge-small-en-v1.5"


def test_without_the_package_the_command_that_installs_it_is_given(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingPackage) as raised:
        create_embedder(NAME, settings)
    assert "pip install 'chatbot-mvp[fastembed]'" in str(raised.value)
    assert not is_configured(NAME, settings)


def test_a_model_that_the_package_does_not_have_is_answered_with_its_models(settings: Settings) -> None:
    pytest.importorskip("fastembed")
    with pytest.raises(UnknownChoice, match=re.escape("BAAI/bge-small-en-v1.5")):
        create_embedder("fastembed/nonesuch", settings)


def test_a_model_gives_the_vectors_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fastembed = pytest.importorskip("fastembed")
    from fastembed.common.model_description import ModelSource, PoolingType

    folder = minilm_folder(tmp_path / "minilm")
    (folder / "config.json").write_text('{"pad_token_id": 0}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 128, "pad_token": "[PAD]"}')
    (folder / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
    fastembed.TextEmbedding.add_custom_model(
        "own/minilm",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="own/minilm"),
        dim=384,
        model_file="model.onnx",
    )
    # A local folder in place of the download.
    local = functools.partial(fastembed.TextEmbedding, specific_model_path=str(folder))
    local.list_supported_models = fastembed.TextEmbedding.list_supported_models  # type: ignore[attr-defined]
    monkeypatch.setattr(fastembed, "TextEmbedding", local)
    model = FastEmbedEmbedder("fastembed/own/minilm", tmp_path, threads=1)
    own = own_embedder(f"onnx:{folder}", threads=1)
    texts = ["Staff get 23 days off every year.", "The old stone bridge crosses the river.", "\ud800"]
    np.testing.assert_allclose(model.embed(texts, "passage"), own.embed(texts, "passage"), atol=1e-4)
    np.testing.assert_allclose(model.embed(texts[:1], "query"), own.embed(texts[:1], "query"), atol=1e-4)
    assert model.embed([], "query").shape == (0, 384)
