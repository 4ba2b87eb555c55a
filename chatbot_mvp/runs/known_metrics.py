"""Every metric that a run can have: those of benchmarks, and those of evaluations of answers."""

from __future__ import annotations

from chatbot_mvp.judges.ragas import RAGAS_METRICS
from chatbot_mvp.metrics.registry import METRICS as BENCHMARK_METRICS
from chatbot_mvp.metrics.spec import MetricSpec, shown_in

METRICS: dict[str, MetricSpec] = {
    **BENCHMARK_METRICS,
    **{name: metric.spec for name, metric in RAGAS_METRICS.items()},
}
"""Name -> what it is."""

COMPARED = shown_in("compared", METRICS)
"""What two runs are compared by unless asked otherwise."""
