"""All metrics that a run can have: the metrics of benchmarks and of evaluations of answers."""

from __future__ import annotations

from chatbot_mvp.judges.ragas import RAGAS_METRICS
from chatbot_mvp.metrics.registry import METRICS as BENCHMARK_METRICS
from chatbot_mvp.metrics.spec import MetricSpec, shown_in

METRICS: dict[str, MetricSpec] = {
    **BENCHMARK_METRICS,
    **{name: metric.spec for name, metric in RAGAS_METRICS.items()},
}
"""Name -> specification of the metric."""

COMPARED = shown_in("compared", METRICS)
"""Names of the metrics by which runs are compared by default."""
