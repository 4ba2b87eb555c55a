"""Embedding models that a user brings along: ONNX and CTranslate2 folders."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.embedder import local_e5
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.own.embedder import own_embedder
from chatbot_mvp.embedding.own.files import ct2_vocabulary_size, find_files
from chatbot_mvp.embedding.registry import create_embedder, is_configured
from chatbot_mvp.embedding.transformer import PooledEmbedder, TransformerEmbedder
from chatbot_mvp.errors import ChatbotError, EmbedderFileMissing
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.conftest import Command
from tests.embedding.own_models import (
    DIMENSIONS,
    POSITIONS,
    WORDS,
    Kind,
    graph,
    minilm_folder,
    onnx_folder,
    positions,
    table,
    tokenizer,
)
from tests.raising import raises

QUESTION = "How many days of holiday does each employee have?"
PARAPHRASE = "The staff may take 23 days off every year."
OTHER_TOPIC = "The old stone bridge crosses the river at the mill."
TWICE = 'pooling = "mean"\nmax_tokens = 32\n'
LONG = "la casa roja " * 50


def transformer(name: str) -> TransformerEmbedder:
    model = own_embedder(name, threads=2)
    assert isinstance(model, TransformerEmbedder)
    return model


@pytest.fixture(scope="module")
def minilm_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return minilm_folder(tmp_path_factory.mktemp("models") / "minilm")


@pytest.fixture(scope="module")
def minilm(minilm_path: Path) -> TransformerEmbedder:
    return transformer(f"onnx:{minilm_path}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return onnx_folder(tmp_path / "model")


# --- a real pretrained encoder


def test_a_pretrained_encoder_puts_a_paraphrase_nearer_than_another_topic(minilm: TransformerEmbedder) -> None:
    question = minilm.embed([QUESTION], "query")[0]
    answer, other = minilm.embed([PARAPHRASE, OTHER_TOPIC], "passage")
    assert minilm.dimensions == 384
    assert question @ answer > 0.4 > 0.2 > question @ other


def test_vectors_of_a_pretrained_encoder_do_not_depend_on_the_other_texts(minilm: TransformerEmbedder) -> None:
    texts = [QUESTION, PARAPHRASE, OTHER_TOPIC, "", "bridge " * 700, "a\x00b", "\ud800"]
    together = minilm.embed(texts, "passage")
    apart = np.concatenate([minilm.embed([text], "passage") for text in texts])
    np.testing.assert_allclose(together, apart, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_the_first_token_as_the_vector_is_another_model(minilm_path: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(minilm_path, tmp_path / "cls")
    (copy / "embedding.toml").write_text('pooling = "cls"\n')
    model = transformer(f"onnx:{copy}")
    first = model.token_states([QUESTION], "query")[0][0]
    np.testing.assert_allclose(first / np.linalg.norm(first), model.embed([QUESTION], "query")[0], atol=1e-6)


# --- CTranslate2


@pytest.fixture(scope="module")
def e5_folder(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The converted local model as a user's folder: with a ``tokenizer.json`` and its prefixes."""
    folder = tmp_path_factory.mktemp("models") / "e5"
    shutil.copytree(converted_model(model_file(), models_dir), folder)
    file = E5File(model_file())
    library = Tokenizer(models.Unigram(list(zip(file.pieces, file.scores, strict=True)), file.special.unknown))
    library.normalizer = normalizers.Sequence([normalizers.Replace(Regex(" +"), " ")])  # type: ignore[assignment]
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)  # type: ignore[assignment]
    special = [("<s>", file.special.begin), ("</s>", file.special.end)]
    library.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=special)  # type: ignore[assignment]
    library.save(str(folder / "tokenizer.json"))
    (folder / "embedding.toml").write_text('query_prefix = "query: "\npassage_prefix = "passage: "\n')
    return folder


@pytest.mark.slow
def test_the_local_model_as_a_ctranslate2_folder_gives_its_own_vectors(e5_folder: Path, models_dir: Path) -> None:
    local, own = local_e5(models_dir, 2), transformer(f"ct2:{e5_folder}")
    texts = ["¿Cuántos días de vacaciones tiene cada trabajador?", PARAPHRASE, "El puente de piedra. " * 200, "casa"]
    for kind in ("query", "passage"):
        np.testing.assert_allclose(own.embed(texts, kind), local.embed(texts, kind), atol=1e-6)  # type: ignore[arg-type]
    assert own.model_id != local.model_id
    states = own.token_states(texts[:1], "passage")[0].mean(axis=0)
    np.testing.assert_allclose(states / np.linalg.norm(states), own.embed(texts[:1], "passage")[0], atol=1e-6)


@pytest.mark.slow
def test_a_tokenizer_with_more_tokens_than_a_ctranslate2_model_is_refused(e5_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(e5_folder, tmp_path / "model")
    (copy / "vocabulary.json").write_text('["a", "b"]')
    with raises("embedder_tokens_mismatch", match=re.escape(str(copy / "tokenizer.json"))):
        own_embedder(f"ct2:{copy}", threads=1)


@pytest.mark.parametrize(("file", "text"), [("vocabulary.json", '["a", "b"]'), ("vocabulary.txt", "a\nb\n")])
def test_both_formats_of_a_ctranslate2_vocabulary_are_counted(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    assert ct2_vocabulary_size(tmp_path) == 2


def test_a_folder_that_is_no_ctranslate2_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"garbage" * 50)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "vocabulary.txt").write_text("\n".join(WORDS))
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    with raises("embedder_file_unreadable", match=f"{re.escape(str(tmp_path))}.*CTranslate2"):
        own_embedder(f"ct2:{tmp_path}", threads=1)


# --- ONNX graphs


def expected(ids: list[int]) -> np.ndarray:
    return table()[ids] + positions()[: len(ids)]


def test_states_are_those_of_the_graph_and_pooled_by_their_mean(folder: Path) -> None:
    model = transformer(f"onnx:{folder}")
    [states] = model.token_states(["La CASA roja"], "passage")
    np.testing.assert_allclose(states, expected([1, 4, 5, 6, 2]), atol=1e-6)
    mean = states.mean(axis=0)
    np.testing.assert_allclose(model.embed(["la casa roja"], "query")[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_prefixes_stand_before_the_texts_of_their_type(tmp_path: Path) -> None:
    options = 'query_prefix = "query: "\npassage_prefix = "passage: "\nmax_tokens = 32\n'
    model = transformer(f"onnx:{onnx_folder(tmp_path, options=options)}")
    assert len(model.token_states(["casa"], "query")[0]) == 4
    query, passage = model.embed(["casa"], "query"), model.embed(["casa"], "passage")
    plain = transformer(f"onnx:{onnx_folder(tmp_path / 'plain')}")
    np.testing.assert_array_equal(query, plain.embed(["query: casa"], "query"))
    np.testing.assert_array_equal(passage, plain.embed(["passage: casa"], "query"))


def test_a_long_text_is_read_whole_in_windows_with_special_tokens(folder: Path) -> None:
    model = transformer(f"onnx:{folder}")
    windows = [[4, 5, 6] * 10] * 5  # 150 words, 30 beside the special tokens of each window
    pooled = np.mean([expected([1, *ids, 2]).mean(axis=0) for ids in windows], axis=0)
    np.testing.assert_allclose(model.embed([LONG], "passage")[0], pooled / np.linalg.norm(pooled), atol=1e-6)


def test_a_model_with_one_vector_per_text_is_used_as_it_is(tmp_path: Path, folder: Path) -> None:
    pooled = own_embedder(f"onnx:{onnx_folder(tmp_path / 'pooled', 'pooled')}", threads=2)
    assert isinstance(pooled, PooledEmbedder)
    texts = ["la casa", "el río azul", LONG, ""]
    np.testing.assert_allclose(
        pooled.embed(texts, "passage"), transformer(f"onnx:{folder}").embed(texts, "passage"), atol=1e-6
    )
    with raises("embedder_option_invalid", match="one vector per text"):
        own_embedder(f"onnx:{onnx_folder(tmp_path / 'twice', 'pooled', TWICE)}", threads=1)


@pytest.mark.parametrize("kind", ["batch dependent", "fixed batch", "no mask"])
def test_a_graph_that_cannot_read_texts_together_reads_them_one_by_one(tmp_path: Path, kind: Kind) -> None:
    model = transformer(f"onnx:{onnx_folder(tmp_path, kind)}")
    texts = ["la casa roja", "el río", "azul"]
    apart = np.concatenate([model.embed([text], "passage") for text in texts])
    np.testing.assert_allclose(model.embed(texts, "passage"), apart, atol=1e-6)


@pytest.mark.parametrize(("kind", "message"), [("vector of a token", "outputs are largest"), ("float input", "inputs")])
def test_a_graph_that_is_no_text_encoder_is_refused(tmp_path: Path, kind: Kind, message: str) -> None:
    with raises("embedder_file_unreadable", match=message) as raised:
        own_embedder(f"onnx:{onnx_folder(tmp_path, kind)}", threads=1)
    assert str(tmp_path / "model.onnx") in str(raised.value)


def test_the_token_limit_is_that_of_the_files_beside_the_model(tmp_path: Path) -> None:
    onnx_folder(tmp_path, options="")
    model = transformer(f"onnx:{tmp_path}")
    assert len(model.token_states([LONG], "passage")[0]) == 24  # of the tokenizer
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta", "max_position_embeddings": 18}')
    assert len(transformer(f"onnx:{tmp_path}").token_states([LONG], "passage")[0]) == 16


# --- where the files are


def test_a_graph_may_be_in_a_folder_of_graphs_or_be_named_itself(tmp_path: Path, folder: Path) -> None:
    hub = tmp_path / "hub"
    shutil.copytree(folder, hub)
    (hub / "onnx").mkdir()
    (hub / "model.onnx").rename(hub / "onnx" / "model.onnx")
    shutil.copy(folder / "model.onnx", folder / "model_quantized.onnx")
    names = [f"onnx:{path}" for path in (folder, hub, hub / "onnx" / "model.onnx", folder / "model_quantized.onnx")]
    assert {transformer(name).model_id for name in names} == {transformer(f"onnx:{folder}").model_id}


def test_a_relative_path_begins_at_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert transformer(f"onnx:{folder.name}").dimensions == DIMENSIONS


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("onnx:{0}/nonesuch", "model.onnx / onnx/model.onnx"),
        ("onnx:{0}/other.onnx", "other.onnx"),
        ("onnx:{0}/bare", "tokenizer.json"),
        ("ct2:{0}/bare", "model.bin"),
        ("ct2:{0}/nonesuch", "model.bin"),
    ],
)
def test_a_missing_file_is_named_with_its_folder(folder: Path, settings: Settings, name: str, missing: str) -> None:
    (folder / "bare").mkdir()
    shutil.copy(folder / "model.onnx", folder / "bare")
    name = name.format(folder)
    with pytest.raises(EmbedderFileMissing, match=re.escape(missing)) as raised:
        create_embedder(name, settings)
    assert name in str(raised.value)
    assert not is_configured(name, settings)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "embedding.toml"])
def test_a_file_of_another_format_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\xffthis is nothing")
    with raises("embedder_file_unreadable", match=re.escape(str(folder / file))):
        own_embedder(f"onnx:{folder}", threads=1)


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    tokenizer([*WORDS, "uno", "más"]).save(str(folder / "tokenizer.json"))
    with raises("embedder_tokens_mismatch", match=f"{len(WORDS) + 1}") as raised:
        own_embedder(f"onnx:{folder}", threads=1)
    assert str(folder / "tokenizer.json") in str(raised.value)


# --- embedding.toml


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ('pooling = "max"', ["pooling = 'max'", '"mean", "cls"']),
        ("max_tokens = 3", ["max_tokens = 3", "from 8"]),
        ('max_tokens = "512"', ["max_tokens = '512'", "whole number"]),
        ("max_tokens = true", ["max_tokens = True", "whole number"]),
        ("query_prefix = 1", ["query_prefix = 1", "text"]),
        ('poolng = "cls"', ["poolng", "pooling, query_prefix, passage_prefix, max_tokens"]),
        (f"max_tokens = {POSITIONS + 1}", [f"max_tokens = {POSITIONS + 1}", f"8 to {POSITIONS},"]),
    ],
)
def test_a_wrong_option_is_named_with_file_key_and_legal_values(tmp_path: Path, options: str, named: list[str]) -> None:
    onnx_folder(tmp_path, options=options)
    with raises("embedder_option_invalid") as raised:
        own_embedder(f"onnx:{tmp_path}", threads=1)
    for part in [str(tmp_path / "embedding.toml"), *named]:
        assert part in str(raised.value)


# --- identity


def test_another_model_at_the_same_path_shares_no_vectors(folder: Path, tmp_path: Path) -> None:
    cache, name = VectorCache(tmp_path / "vectors.sqlite"), f"onnx:{folder}"
    before = transformer(name)
    old = cache.embed(before, ["la casa"], "passage")
    changed = graph()
    changed.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(-table(), "table"))
    onnx.save(changed, str(folder / "model.onnx"))
    after = transformer(name)
    assert after.model_id != before.model_id
    np.testing.assert_array_equal(cache.embed(after, ["la casa"], "passage"), after.embed(["la casa"], "passage"))
    assert not np.allclose(cache.embed(after, ["la casa"], "passage"), old, atol=0.1)


def test_the_id_changes_with_tokenizer_and_options_only(folder: Path, tmp_path: Path) -> None:
    ids = [
        transformer(f"onnx:{folder}").model_id,
        transformer(f"onnx:{shutil.copytree(folder, tmp_path / 'b')}").model_id,
    ]
    assert ids[0] == ids[1]
    (folder / "embedding.toml").write_text("# a comment\nmax_tokens = 32\n")
    assert transformer(f"onnx:{folder}").model_id == ids[0]
    (folder / "embedding.toml").write_text('pooling = "cls"\nmax_tokens = 32\n')
    ids.append(transformer(f"onnx:{folder}").model_id)
    tokenizer([*WORDS[:-2], "otra", "más"]).save(str(folder / "tokenizer.json"))
    ids.append(transformer(f"onnx:{folder}").model_id)
    assert len(set(ids)) == 3


def test_weights_kept_in_a_second_file_count(folder: Path) -> None:
    before = find_files(f"onnx:{folder}").weights
    (folder / "model.onnx_data").write_bytes(b"weights")
    assert find_files(f"onnx:{folder}").weights == (*before, folder / "model.onnx_data")


# --- in the program


def test_a_users_model_ignores_the_address_of_remote_models(folder: Path, settings: Settings) -> None:
    name = f"onnx:{folder}"
    own = settings.with_changes(embedding_model_name=name, embedding_base_url="http://127.0.0.1:1/v1")
    assert create_embedder(name, own).dimensions == DIMENSIONS
    assert own.embedding_kind == ""
    assert is_configured(name, own, "http://127.0.0.1:2/v1")


def test_all_ways_to_name_a_model_are_listed(settings: Settings) -> None:
    with pytest.raises(ChatbotError) as raised:
        create_embedder("nonesuch/model", settings)
    for prefix in ("onnx:…", "ct2:…", "fastembed/…"):
        assert prefix in str(raised.value)


def test_doctor_tries_the_model(folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL_NAME", f"onnx:{folder}")
    assert f"ok  embedder: onnx:{folder}" in command("doctor")[1]
    (folder / "embedding.toml").write_text('pooling = "max"\n')
    assert 'pooling = \'max\' is not valid; legal: "mean", "cls"' in command("doctor")[1]


@pytest.mark.slow
def test_a_run_ranks_with_the_model(minilm_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL_NAME", f"onnx:{minilm_path}")
    dataset = str(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    code, out, err = command(
        "benchmark", "run", "--dataset", dataset, "--strategy", "SIMPLE_VECTOR", "--no-generation", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["metrics"]["hit@5"] > 0.6


def test_a_missing_model_ends_a_run_with_the_path(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL_NAME", "ct2:/nonesuch/model")
    dataset = str(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    code, _, err = command("benchmark", "run", "--dataset", dataset, "--strategy", "SIMPLE_VECTOR", "--no-generation")
    assert code == 2
    assert "'/nonesuch/model' has no file model.bin" in err
