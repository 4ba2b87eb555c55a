"""A folder of Hugging Face as language model and as embedder: a tiny one with random weights, made by the test itself.

Needs the extra ``transformers``; without it, only the error of the absent package is tested.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot_mvp.embedding.registry import create_embedder, is_configured
from chatbot_mvp.errors import (
    EmbedderFileMissing,
    InvalidSetting,
    MissingPackage,
    ProviderPromptTooLong,
    ProviderReplyUnusable,
)
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Message
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from tests.raising import raises

WORDS = "<unk> <s> </s> <pad> el museo abre los martes ¿ ? . : { } reason verdict 0 1 System Input Output user".split()
TEMPLATE = "{% for m in messages %}<s>{{ m.role }} : {{ m.content }}</s>{% endfor %}<s>"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE
ASKED = (Message("system", "el museo"), Message("user", "abre los martes ?"))


def _tokenizer(folder: Path, template: str) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    if template:
        made.chat_template = template
    made.save_pretrained(folder)
    return made


def language_model(folder: Path, template: str = "", positions: int = 64) -> str:
    """Save a model of one layer."""
    torch = pytest.importorskip("torch", reason="needs the extra 'transformers'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    torch.manual_seed(0)
    _tokenizer(folder, template)
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=positions, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return str(folder)


def encoder(folder: Path) -> str:
    """Save an encoder of one layer, as ``transformers`` alone would."""
    torch = pytest.importorskip("torch", reason="needs the extra 'transformers'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'transformers'")
    torch.manual_seed(0)
    _tokenizer(folder, "")
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


def of(settings: Settings, model: str, **changes: Any) -> Settings:
    return settings.with_changes(
        provider="huggingface", huggingface_model_name=model, llm_cache_enabled=False, nim_max_retries=0, **changes
    )


def test_without_the_package_the_command_that_installs_it_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "transformers", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    for make in (
        lambda: create_chat_model(of(settings, "/models/absent")),
        lambda: create_embedder("huggingface:maker/model", settings),
        lambda: create_embedder("sentence-transformers/all-MiniLM-L6-v2", settings),
    ):
        with pytest.raises(MissingPackage) as raised:
            make()
        assert str(raised.value).endswith("pip install 'chatbot-mvp[transformers]'")


def test_the_name_of_a_model_is_that_of_its_folder(settings: Settings) -> None:
    assert of(settings, "/models/judge-7b").language_model == "huggingface/judge-7b"
    assert of(settings, "maker/judge-7b").language_model == "huggingface/maker/judge-7b"


def test_a_sentence_transformer_is_local_unless_there_is_a_server(settings: Settings) -> None:
    name = "sentence-transformers/all-MiniLM-L6-v2"
    served = settings.with_changes(embedding_base_url="http://127.0.0.1:1/v1")
    assert create_embedder(name, served).model_id == f"{name}@asymmetric"
    assert is_configured(name, served, "http://127.0.0.1:1/v1")


@pytest.mark.parametrize("template", ["", TEMPLATE, NO_SYSTEM])
def test_a_folder_answers_with_and_without_a_chat_template(settings: Settings, tmp_path: Path, template: str) -> None:
    model = create_chat_model(of(settings, language_model(tmp_path / "m", template)))
    request = ChatRequest(ASKED, ChatOptions(max_tokens=5))
    reply = model.complete(request)
    assert reply.model == "huggingface/m"
    assert reply.text
    assert set(reply.text.split()) <= set(WORDS)
    assert (reply.usage.completion_tokens or 0) <= 5
    assert (reply.usage.prompt_tokens or 0) >= 6
    assert model.complete(request).text == reply.text, "at temperature 0 nothing is drawn"
    stream = model.stream(request)
    assert "".join(stream) == stream.completion.text == reply.text


def test_a_reply_at_its_limit_is_told_as_cut(settings: Settings, tmp_path: Path) -> None:
    model = create_chat_model(of(settings, language_model(tmp_path / "cut")))
    reply = model.complete(ChatRequest(ASKED, ChatOptions(max_tokens=1)))
    assert (reply.finish_reason, reply.usage.completion_tokens) == ("length", 1)


def test_with_a_temperature_the_seed_decides(settings: Settings, tmp_path: Path) -> None:
    model = create_chat_model(of(settings, language_model(tmp_path / "hot")))

    def said(seed: int) -> str:
        try:
            return model.complete(ChatRequest(ASKED, ChatOptions(temperature=2.0, max_tokens=12, seed=seed))).text
        except ProviderReplyUnusable:  # the first token drawn was the end
            return ""

    assert said(1) == said(1)
    assert len({said(seed) for seed in range(6)}) > 1


def test_a_prompt_longer_than_the_model_is_told(settings: Settings, tmp_path: Path) -> None:
    model = create_chat_model(of(settings, language_model(tmp_path / "short", positions=16)))
    with pytest.raises(ProviderPromptTooLong, match="40 tokens, and the model reads 16"):
        model.complete(ChatRequest((Message("user", "museo " * 40),), ChatOptions(max_tokens=5)))


@pytest.mark.parametrize(
    ("options", "told"),
    [("{", "no JSON"), ("[1]", "no JSON object"), ('{"task": "no-such-task"}', "no-such-task")],
)
def test_options_that_are_none_are_told(settings: Settings, tmp_path: Path, options: str, told: str) -> None:
    folder = language_model(tmp_path / "m")
    with pytest.raises(InvalidSetting, match=told):
        create_chat_model(of(settings, folder, huggingface_options=options))


def test_arguments_of_the_pipeline_reach_the_model(settings: Settings, tmp_path: Path) -> None:
    folder = language_model(tmp_path / "m")

    def said(options: str) -> str:
        model = create_chat_model(of(settings, folder, huggingface_options=options))
        return model.complete(ChatRequest(ASKED, ChatOptions(max_tokens=12))).text

    assert said('{"dtype": "float32"}') == said("") != said('{"dtype": "float32", "repetition_penalty": 50.0}')


def test_a_folder_that_is_not_there_or_is_no_model_is_told(settings: Settings, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'transformers'")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'transformers'")
    with pytest.raises(InvalidSetting, match="there is no such folder"):
        create_chat_model(of(settings, str(tmp_path / "absent")))
    with pytest.raises(InvalidSetting, match="HUGGINGFACE_MODEL_NAME"):
        create_chat_model(of(settings, str(tmp_path)))
    with pytest.raises(EmbedderFileMissing, match=r"config\.json"):
        create_embedder(f"huggingface:{tmp_path / 'absent'}", settings)
    with raises("embedder_download_failed"):
        create_embedder(f"huggingface:{tmp_path}", settings)


def test_doctor_finds_a_model_that_is_loaded(settings: Settings, tmp_path: Path) -> None:
    providers = Providers(LiveSettings(of(settings, language_model(tmp_path / "m"))))
    assert providers.check("huggingface").reachable


def test_a_folder_embeds_with_unit_vectors_and_an_id_of_its_content(settings: Settings, tmp_path: Path) -> None:
    folder = encoder(tmp_path / "e")
    model = create_embedder(f"huggingface:{folder}", settings)
    texts = ["el museo abre", "los martes", "el museo abre"]
    vectors = model.embed(texts, "query")
    assert vectors.shape == (3, model.dimensions) == (3, 16)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert vectors[0] == pytest.approx(vectors[2], abs=1e-6)
    assert float(vectors[0] @ vectors[1]) < 0.999
    assert model.embed([], "passage").shape == (0, 16)
    again = tmp_path / "moved"
    (tmp_path / "e").rename(again)
    assert create_embedder(f"huggingface:{again}", settings).model_id == model.model_id
    (again / "config.json").write_text((again / "config.json").read_text("utf-8") + "\n", "utf-8")
    assert create_embedder(f"huggingface:{again}", settings).model_id != model.model_id
