"""Folders of Hugging Face, and LangChain's objects around them, as judge and as embedder of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ragas.config import config_from
from chatbot_mvp.wings.ragas.rows import rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from tests.docs.pages import blocks
from tests.llm.test_huggingface import encoder, language_model
from tests.wings.ragas.conftest import app_of, given


def test_an_evaluation_runs_with_folders_as_judge_and_as_embedder(settings: Settings, tmp_path: Path) -> None:
    """A model with random weights gives no usable reply: each row says so, and the similarity needs none."""
    judge, vectors = language_model(tmp_path / "judge"), encoder(tmp_path / "encoder")
    config = config_from(
        {
            "judge": {"provider": f"huggingface:{judge}", "attempts": 1, "max_tokens": 16},
            "embedder": f"huggingface:{vectors}",
            "metrics": ["context_recall", "embedding_answer_similarity"],
        }
    )
    result = build_app(settings).get(RagasService).run_now("d", rows_from(given(count=2), "rows"), config)
    assert result.judge == "huggingface/judge"
    assert result.scored == {"ragas_context_recall": (0, 2), "embedding_answer_similarity": (2, 2)}


def test_langchains_pipeline_and_embeddings_judge_as_they_are(settings: Settings, tmp_path: Path) -> None:
    langchain = pytest.importorskip("langchain_huggingface", reason="needs langchain-huggingface")
    llm = langchain.HuggingFacePipeline.from_model_id(
        model_id=language_model(tmp_path / "judge", positions=1_024),
        task="text-generation",
        pipeline_kwargs={"max_new_tokens": 8, "return_full_text": False, "repetition_penalty": 1.03},
    )
    embeddings = langchain.HuggingFaceEmbeddings(model_name=encoder(tmp_path / "encoder"))
    config = config_from(
        {
            "judge": {"attempts": 1},
            "metrics": ["nv_context_relevance", "embedding_answer_similarity"],
            "prompts": str(tmp_path / "prompts"),
        }
    )
    (tmp_path / "prompts").mkdir()
    for number in (1, 2):
        (tmp_path / "prompts" / f"template_relevance{number}.txt").write_text("{query} {context} 1", "utf-8")
    service = app_of(settings).get(RagasService)
    result = service.run_now("d", rows_from(given(count=2), "rows"), config, judge=llm, embedder=embeddings)
    assert result.judge == "langchain/judge"
    assert result.usage.calls >= 4
    assert result.scored["embedding_answer_similarity"] == (2, 2)
    expected = embeddings.embed_query(given(count=1)[0]["response"])
    reference = embeddings.embed_query(given(count=1)[0]["reference"])
    cosine = np.dot(expected, reference) / np.linalg.norm(expected) / np.linalg.norm(reference)
    assert result.per_query[0].metrics["embedding_answer_similarity"] == pytest.approx(float(cosine), abs=1e-5)


@pytest.mark.slow
def test_the_example_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_huggingface", reason="needs langchain-huggingface")
    language_model(tmp_path / "models" / "llm", positions=4_096)
    encoder(tmp_path / "models" / "encoder")
    columns = ("response", "reference", "retrieved_contexts")
    row = {"user_input": "¿abre el museo?", **{name: given(count=1)[0][name] for name in columns}}
    (tmp_path / "data.jsonl").write_text(json.dumps(row), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    [block] = [block for block in blocks("docs/guide/ragas.md") if block.language == "python"]
    names: dict[str, Any] = {}
    exec(block.text, names)
    result = names["result"]
    assert result.judge == "langchain/models/llm"
    assert len(result.metrics) == 6
    assert result.usage.calls >= 6
