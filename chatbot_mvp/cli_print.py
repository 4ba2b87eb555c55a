"""Plans and results as a terminal shows them, or as the one JSON object of ``--json``."""

from __future__ import annotations

import os
from typing import Any

from chatbot_mvp.app import RunPlan
from chatbot_mvp.cli_common import print_json

_CONTRACT = (
    "run_id",
    "dataset",
    "strategy",
    "fingerprint",
    "queries",
    "metrics",
    "scored",
    "seconds",
    "peak_rss_mb",
)
_MORE = ("usage", "failures", "abstentions", "generator", "judge")
"""Given too of a run with answers."""


def print_plan(plan: RunPlan, hints: list[str], as_json: bool) -> None:
    if as_json:
        print_json({**plan.as_json(), "hints": hints})
        return
    unknown = "not known before the download"
    if plan.checked:
        state = f"checked, sha256 {(plan.dataset_sha256 or '')[:12]}"
    else:
        state = f"{plan.download_bytes / 1e6:.1f} MB to download, checked then"
    lines = {
        "data set": f"{plan.dataset} ({plan.place}: {plan.dataset_ref}); {state}",
        "queries": f"{_count(plan.queries, unknown)} of {_count(plan.dataset_queries, unknown)}",
        "documents": f"{_count(plan.documents, unknown)} of {_count(plan.dataset_documents, unknown)}",
        "qrels": _count(plan.qrels, unknown),
        "sample": ", ".join(f"{name}={value}" for name, value in plan.sampling.items()) or "the whole data set",
        "strategy": f"{plan.strategy} (fingerprint {plan.fingerprint})",
        "provider": plan.provider,
        "embeddings": plan.embedding_model or "none",
        "reranker": plan.reranker or "none",
        "phases": " → ".join(plan.phases),
        "cached": _cached(plan),
        "results": f"{plan.results_dir}{os.sep}<run_id>",
    }
    for name, value in lines.items():
        print(f"{name:<11} {value}")
    for text in [*plan.warnings, *hints]:
        print(f"{'warning':<11} {text}")
    print("Nothing was run.")


def _count(value: int | None, unknown: str) -> str:
    return unknown if value is None else f"{value:,}"


def _cached(plan: RunPlan) -> str:
    parts = ["data set" if plan.checked else "no data set"]
    if plan.index_cached is not None:
        parts.append("index" if plan.index_cached else "no index")
    if plan.vectors is not None:
        parts.append(f"{plan.vectors.cached:,} of {plan.vectors.total:,} vectors")
    return ", ".join(parts)


def print_result(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        names = [*_CONTRACT, *(_MORE if result.get("generator") else ())]
        print_json({name: result[name] for name in names})
        return
    print(f"{result['run_id']}  ({result['dataset']}, {result['strategy']}, {result['queries']} queries)")
    for name, value in result["metrics"].items():
        scored, total = result["scored"][name]
        # Runs that were recorded by an earlier version have no intervals.
        interval = result.get("intervals", {}).get(name)
        spread = f"  [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else ""
        print(f"  {name:<20} {'not scored' if value is None else f'{value:.4f}'}{spread}  ({scored}/{total})")
    for name in ("reranker_rescue_count", "rerank_failures"):
        if result.get(name):
            print(f"  {name:<20} {result[name]}")
