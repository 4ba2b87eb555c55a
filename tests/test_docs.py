"""The documentation holds what the registries hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.evaluation.ragas.config import JudgeConfig, RagasConfig
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.judges.ragas import RAGAS_METRICS, RagasMetric
from chatbot_mvp.llm.registry import PROVIDERS, Provider
from chatbot_mvp.metrics.registry import METRICS, MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.causes import Cause
from chatbot_mvp.settings.model import Settings

ROOT = Path(__file__).resolve().parents[1]


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
    notes = (ROOT / "DEV_NOTES.md").read_text("utf-8")
    for name in RAG_P.split():
        assert name.lower() in Settings.model_fields
        assert f"`{name}`" in notes


def test_what_the_notes_say_of_rag_p_points_at_files_and_tests_that_are_there() -> None:
    section = (ROOT / "DEV_NOTES.md").read_text("utf-8").partition("## RAG_P v3.2, point by point")[2]
    section = section.partition("\n## ")[0]
    paths = set(re.findall(r"`(chatbot_mvp/[\w/]+\.py)`", section))
    tests = set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", section))
    assert len(paths) > 20
    assert len(tests) > 40
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert [
        f"{path}::{name}" for path, name in tests if f"def {name}(" not in (ROOT / "tests" / path).read_text("utf-8")
    ] == []
    for number in (*range(1, 10), *(f"m-{minor}" for minor in range(1, 18))):
        assert f"DT{number}" in section or f"DT-{number}" in section


def test_settings_are_documented_as_they_are() -> None:
    check = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "write_settings.py", "--check"], capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("readme", ["README.md", "README.es.md"])
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_every_provider_is_documented_with_what_it_needs(provider: Provider, readme: str) -> None:
    text = (ROOT / readme).read_text("utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{provider.name}` |")]
    for name in (*provider.keys, *provider.needs):
        assert name.upper() in row


@pytest.mark.parametrize(
    "command",
    [
        *("benchmark run", "benchmark resume", "benchmark list", "benchmark compare", "benchmark export"),
        *("benchmark retry", "benchmark show", "benchmark import"),
        *("datasets fetch", "datasets list", "datasets push"),
        *("ragas run", "ragas agreement"),
        *("kb ask", "kb questions", "kb evaluate", "serve", "doctor", "hash-password"),
    ],
)
def test_every_command_is_documented(command: str) -> None:
    assert f"chatbot-mvp {command}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_every_metric_is_documented_with_its_direction(metric: MetricSpec) -> None:
    name = metric.family if metric.k is None else f"{metric.family}@K"
    [row] = [line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    assert ("lower is better" in row) != metric.higher_is_better


@pytest.mark.parametrize("metric", RAGAS_METRICS.values(), ids=lambda metric: metric.name)
def test_every_metric_of_answers_is_documented_with_its_columns(metric: RagasMetric) -> None:
    [row] = [
        line
        for line in (ROOT / "README.md").read_text("utf-8").splitlines()
        if line.startswith(f"| `{metric.name}` | {metric.title or '–'} |")
    ]
    needs = row.rstrip(" |").rpartition("| ")[2]
    people, _, columns = needs.rpartition("; ")
    assert columns.split(", ") == list(metric.columns)
    assert ("judge" in people, "vectors" in people) == (metric.needs_judge, metric.needs_embedder)


def test_every_key_of_a_ragas_configuration_is_documented() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    names = {*RagasConfig.model_fields, *(f"judge.{name}" for name in JudgeConfig.model_fields)} - {"judge"}
    assert [name for name in names if f"| `{name}` |" not in text] == []


def test_every_cause_and_export_format_is_documented() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert [cause for cause in Cause if f"`{cause.value}`" not in text] == []
    assert f"--format {'|'.join(FORMATS)}" in text


def test_nothing_written_at_run_time_is_tracked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(
        path.startswith(("data/samples/", "data/env.example", "data/ragas_config.example.yaml"))
        for path in tracked.stdout.split()
    )
