"""docs/research/rag_p.md points at settings, files and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from chatbot_mvp.settings.model import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "research" / "rag_p.md"

RAG_P = """
EMBEDDING_MODEL_NAME EMBEDDING_BASE_URL EMBEDDING_MODEL_TYPE EMBEDDING_BATCH_SIZE LLM_BASE_URL LLM_MODEL_NAME
NIM_MAX_CONCURRENT_REQUESTS NIM_REQUEST_TIMEOUT NIM_MAX_RETRIES RETRIEVAL_STRATEGY RETRIEVAL_K RETRIEVAL_PRE_FUSION_K
RETRIEVAL_RRF_K RETRIEVAL_BM25_WEIGHT RETRIEVAL_VECTOR_WEIGHT RERANKER_ENABLED RERANKER_BASE_URL RERANKER_MODEL_NAME
RERANKER_TOP_N MTEB_DATASET_NAME EVAL_MAX_QUERIES EVAL_MAX_CORPUS GENERATION_ENABLED GENERATION_MAX_CONTEXT_CHARS
CORPUS_SHUFFLE_SEED DEV_MODE DEV_QUERIES DEV_CORPUS_SIZE MINIO_ENDPOINT MINIO_ACCESS_KEY MINIO_SECRET_KEY
MINIO_BUCKET_NAME S3_DATASETS_PREFIX LOG_FORMAT RETRIEVAL_BM25_LANGUAGE RETRIEVAL_CONTEXT_MAX_TOKENS
RETRIEVAL_CONTEXT_BATCH_SIZE
"""


def test_every_variable_of_rag_p_is_a_setting() -> None:
    page = PAGE.read_text("utf-8")
    for name in RAG_P.split():
        assert name.lower() in Settings.model_fields
        assert f"`{name}`" in page


def test_what_the_page_says_of_rag_p_points_at_files_and_tests_that_are_there() -> None:
    page = PAGE.read_text("utf-8")
    paths = set(re.findall(r"`(chatbot_mvp/[\w/]+\.py)`", page))
    tests = set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", page))
    assert len(paths) > 20
    assert len(tests) > 40
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert [
        f"{path}::{name}" for path, name in tests if f"def {name}(" not in (ROOT / "tests" / path).read_text("utf-8")
    ] == []
    for number in (*range(1, 10), *(f"m-{minor}" for minor in range(1, 18))):
        assert f"DT{number}" in page or f"DT-{number}" in page
