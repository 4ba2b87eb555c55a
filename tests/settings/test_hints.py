"""Names that were nearly meant get a hint, and names of other programs none."""

from __future__ import annotations

import pytest

from chatbot_mvp.settings.hints import near_misses
from chatbot_mvp.settings.model import Settings

KNOWN = [name.upper() for name in Settings.model_fields]

MEANT = {
    "NIM_TIMEOUT": "NIM_REQUEST_TIMEOUT",
    "NIM_MAX_CONCURRENT": "NIM_MAX_CONCURRENT_REQUESTS",
    "NIM_RETRIES": "NIM_MAX_RETRIES",
    "RETRIVAL_K": "RETRIEVAL_K",
    "RETRIEVAL_STRATEGIES": "RETRIEVAL_STRATEGY",
    "RERANK_TOP_N": "RERANKER_TOP_N",
    "EVAL_MAX_QUERYS": "EVAL_MAX_QUERIES",
    "EMBEDDING_MODEL": "EMBEDDING_MODEL_NAME",
    "KB_TOPK": "KB_TOP_K",
    "MTEB_DATASET": "MTEB_DATASET_NAME",
    "CORPUS_SEED": "CORPUS_SHUFFLE_SEED",
    "OPENAI_API_KEYS": "OPENAI_API_KEY",
}
"""Anywhere."""

MEANT_IN_OUR_FILE = {
    "MINIO_BUCKET": "MINIO_BUCKET_NAME",
    "MINIO_SECURE": "MINIO_ENDPOINT",
    "S3_PREFIX": "S3_DATASETS_PREFIX",
    "LLM_MODEL": "LLM_MODEL_NAME",
    "DATADIR": "DATA_DIR",
    "PROVIDERS": "PROVIDER",
}
"""Only where the name stands in a file of ours."""

FOREIGN = (
    *("PATH", "HOME", "LANG", "LOG_LEVEL", "DEBUG", "PORT", "XDG_DATA_DIRS", "DATA_DIRS", "PROVIDERS", "DEV_HOME"),
    *("OPENAI_ORG_ID", "OPENAI_API_BASE", "OPENAI_API_KEY_2", "OPENAI_PROXY", "OLLAMA_HOST", "OLLAMA_MODELS"),
    *("GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_HOME", "LLM_MODEL", "CHROMA_SERVER_PORT"),
    *("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "MINIO_VOLUMES", "MINIO_ACCESS_KEY_FILE", "MINIO_REGION_NAME"),
    *("NIM_CACHE_PATH", "NIM_MODEL_NAME", "NIM_SERVER_PORT", "NIM_MAX_MODEL_LEN", "NIM_LOG_LEVEL", "S3_BUCKET"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "HF_HOME", "EVALUATION", "RETRIEVER_HOST"),
)
"""Variables of others."""


@pytest.mark.parametrize(("found", "meant"), MEANT.items())
@pytest.mark.parametrize("own_file", [True, False])
def test_a_name_of_ours_that_is_not_quite_right_gets_a_hint(found: str, meant: str, own_file: bool) -> None:
    assert [miss.meant for miss in near_misses([found], KNOWN, "there", own_file)] == [meant]


@pytest.mark.parametrize(("found", "meant"), MEANT_IN_OUR_FILE.items())
def test_a_name_that_others_use_gets_a_hint_in_our_own_file_only(found: str, meant: str) -> None:
    assert [miss.meant for miss in near_misses([found], KNOWN, ".env", True)] == [meant]
    assert near_misses([found], KNOWN, "environment", False) == []


@pytest.mark.parametrize("found", FOREIGN)
def test_a_variable_of_another_program_gets_none(found: str) -> None:
    assert near_misses([found], KNOWN, "environment", False) == []


@pytest.mark.parametrize("own_file", [True, False])
def test_a_setting_is_no_near_miss_in_either_case_of_letters(own_file: bool) -> None:
    assert near_misses([*KNOWN, *(name.lower() for name in KNOWN)], KNOWN, ".env", own_file) == []
