"""The reference pages have every metric and every key of a configuration."""

from __future__ import annotations

import pytest

from chatbot_mvp.wings.ragas.config import JudgeConfig, RagasConfig
from chatbot_mvp.wings.ragas.judging import RAGAS_METRICS, RagasMetric
from tests.docs.test_reference import page, row


@pytest.mark.parametrize("metric", RAGAS_METRICS.values(), ids=lambda metric: metric.name)
def test_every_metric_of_answers_is_documented_with_its_columns(metric: RagasMetric) -> None:
    found = row(page("metrics.md"), metric.name)
    assert f"| {metric.title or '–'} |" in found
    needs = found.rstrip(" |").rpartition("| ")[2]
    parts, _, columns = needs.rpartition("; ")
    assert columns.split(", ") == list(metric.columns)
    assert ("judge" in parts, "vectors" in parts) == (metric.needs_judge, metric.needs_embedder)


def test_every_key_of_a_ragas_configuration_is_documented() -> None:
    names = {*RagasConfig.model_fields, *(f"judge.{name}" for name in JudgeConfig.model_fields)} - {"judge"}
    assert [name for name in names if f"- `{name}` (`" not in page("files-and-formats.md")] == []
