"""Models of LangChain, and those wrapped for ragas, as judge and as embedder. Only their methods are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chatbot_mvp.errors import ProviderUnavailable
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.wings.ragas.judging import Row, load_prompts, score_row
from chatbot_mvp.wings.ragas.langchain import as_chat_model, as_embedder
from tests.fakes import FakeChatModel, FakeEmbedder

ASKED = (Message("system", "Judge."), Message("user", "A?"), Message("assistant", "1"), Message("user", "B?"))


class Said:
    """A message of LangChain."""

    def __init__(self, content: Any, usage: dict[str, int] | None = None) -> None:
        self.content = content
        self.usage_metadata = usage


class BaseChatModel:
    """Has the name of LangChain's class of the models that take messages."""


class Chat(BaseChatModel):
    model_name = "chat-1"

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.given: list[Any] = []

    def invoke(self, given: Any) -> Any:
        self.given.append(given)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


class Pipeline:
    model_id = "/models/judge-7b"

    def __init__(self) -> None:
        self.given: list[Any] = []

    def invoke(self, given: str) -> str:
        self.given.append(given)
        return '{"reason": "r", "verdict": 1}'


class LangchainLLMWrapper:
    """As ragas wraps a model: what it wraps is in ``langchain_llm``."""

    def __init__(self, model: Any) -> None:
        self.langchain_llm = model


class Embeddings:
    model_name = "/models/encoder"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[3.0, 4.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 5.0, 0.0]


class LangchainEmbeddingsWrapper:
    def __init__(self, model: Any) -> None:
        self.embeddings = model


def test_a_chat_model_gets_messages_with_langchains_roles() -> None:
    chat = Chat(Said("yes", {"input_tokens": 7, "output_tokens": 2}))
    reply = as_chat_model(chat).complete(ChatRequest(ASKED))
    assert chat.given == [[("system", "Judge."), ("human", "A?"), ("ai", "1"), ("human", "B?")]]
    assert (reply.text, reply.model) == ("yes", "langchain/chat-1")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 2)


def test_any_other_model_gets_one_text() -> None:
    pipeline = Pipeline()
    model = as_chat_model(pipeline)
    assert model.name == "langchain/judge-7b"
    model.complete(ChatRequest(ASKED))
    model.complete(ChatRequest((Message("user", "only this"),)))
    assert pipeline.given == ["Judge.\n\nInput: A?\n\nOutput: 1\n\nInput: B?\n\nOutput: ", "only this"]


def test_parts_of_a_reply_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, "b", {"type": "image"}]
    assert as_chat_model(Chat(Said(parts))).complete(ChatRequest(ASKED)).text == "ab"


def test_an_exception_of_the_model_is_a_failure_of_the_provider() -> None:
    with pytest.raises(ProviderUnavailable, match=r"langchain/chat-1.*RuntimeError: out of memory"):
        as_chat_model(Chat(RuntimeError("out of memory"))).complete(ChatRequest(ASKED))


def test_what_is_wrapped_for_ragas_is_unwrapped() -> None:
    pipeline = Pipeline()
    assert as_chat_model(LangchainLLMWrapper(pipeline)).complete(ChatRequest(ASKED)).text
    assert len(pipeline.given) == 1
    assert as_embedder(LangchainEmbeddingsWrapper(Embeddings())).dimensions == 3


def test_vectors_are_normalized_and_questions_are_embedded_as_such() -> None:
    model = as_embedder(Embeddings())
    assert model.model_id.startswith("langchain/encoder-")
    assert model.embed(["a", "b"], "query").tolist() == [[0.0, 1.0, 0.0]] * 2
    documents = model.embed(["", ""], "passage")
    assert documents == pytest.approx(np.array([[0.6, 0.8, 0.0]] * 2))
    assert model.embed([], "passage").shape == (0, 3)


def test_own_models_pass_as_they_are_and_anything_else_is_refused() -> None:
    model, embedder = FakeChatModel("yes"), FakeEmbedder()
    assert as_chat_model(model) is model
    assert as_embedder(embedder) is embedder
    with pytest.raises(TypeError, match="'invoke'"):
        as_chat_model(object())
    with pytest.raises(TypeError, match="'embed_documents'"):
        as_embedder(object())


def test_a_row_is_scored_by_a_model_of_langchain() -> None:
    row = Row("¿Abre?", retrieved_contexts=["Abre."], reference="Abre.")
    judge, prompts = as_chat_model(LangchainLLMWrapper(Pipeline())), load_prompts("es")
    scored = score_row("ragas_llm_context_precision_with_reference", row, judge, None, prompts)
    assert (scored.value, scored.requests) == (1.0, 1)


@pytest.mark.slow
def test_the_wrappers_of_ragas_itself_are_used_as_they_are() -> None:
    embeddings = pytest.importorskip("ragas.embeddings", reason="needs ragas")
    llms = pytest.importorskip("ragas.llms", reason="needs ragas")
    fake = pytest.importorskip("langchain_core.language_models.fake", reason="needs langchain-core")
    fake_vectors = pytest.importorskip("langchain_core.embeddings.fake", reason="needs langchain-core")
    model = llms.LangchainLLMWrapper(fake.FakeListLLM(responses=['{"reason": "r", "verdict": 0}']))
    row = Row("¿Abre?", retrieved_contexts=["Abre."], reference="Abre.")
    scored = score_row(
        "ragas_llm_context_precision_with_reference", row, as_chat_model(model), None, load_prompts("es")
    )
    assert scored.value == 0.0
    wrapped = embeddings.LangchainEmbeddingsWrapper(fake_vectors.DeterministicFakeEmbedding(size=8))
    assert as_embedder(wrapped).embed(["a"], "query").shape == (1, 8)
