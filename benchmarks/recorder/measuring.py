"""Measuring: runs with their figures, a comparison, a gate, a promise, a tune, and the statistics behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.recorder.facts import JSON, Fact, Place
from benchmarks.recorder.sources import bases, kb_of, open_app, short_hash
from benchmarks.script import SAMPLES
from chatbot_mvp.app import App
from chatbot_mvp.metrics.statistics import noninferiority, significance
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.runs.result import RunResult, figures_json
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.wings.gate.baseline import Source
from chatbot_mvp.wings.gate.service import Gate
from chatbot_mvp.wings.promise.service import Promises
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneOptions

VALLE = SAMPLES / "valle_multihop"
_OF_TIME = frozenset(
    """run_id started_at finished_at created_at made_at updated_at seconds seconds_p50 seconds_p95 seconds_each
    question_seconds code_version fingerprint generator_fingerprint baseline commit on_front versions basis kb_id
    seconds_per_question_p50 seconds_per_question_p95 result_id tune_id settings configuration version
    peak_rss_mb semantic_similarity""".split()
)
"""Keys whose values are other ones at every run or on every processor, or at every change of the settings' list."""
_SPACE = 'RETRIEVAL_STRATEGY = ["LEXICAL", "BRIDGE", "KB_CHAT"]\nretrieval_pre_fusion_k = [20, 150]\n'


def facts(place: Place) -> Iterator[Fact]:
    yield from _statistics()
    app = open_app(place.work / "data", provider="nim", retrieval_strategy="LEXICAL", judge_metrics="")
    yield Fact("measuring/fingerprints", [short_hash(fingerprint(app.settings, language)) for language in ("", "en")])
    wanted: dict[str, dict[str, Any]] = {
        "LEXICAL": {"generation_enabled": True},
        "BRIDGE": {"retrieval_strategy": "BRIDGE"},
        "kb_chat": {"preset": "kb_chat", "generation_enabled": True},
    }
    if not place.sample:
        wanted |= {name: {"retrieval_strategy": name} for name in ("BRIDGE_HYBRID", "HYBRID", "SIMPLE_VECTOR")}
    ids = {}
    for name, changes in wanted.items():
        run = {"generation_enabled": False, "eval_max_queries": 0, "mteb_dataset_name": str(VALLE), **changes}
        result = app.runs.run_now(**run)
        ids[name] = result.run_id
        yield from _of_run(f"measuring/run/{name}", result)
    for name in [*ids][1:]:
        compared = app.archive.compare([ids["LEXICAL"], ids[name]]).to_json()
        yield Fact(f"measuring/compare/{name}", _named(compared, ids), "exact")
    yield from _gate(app, place, ids)
    yield from _of_kb(app, place)
    yield from _tune(place)


def timeless(value: JSON) -> JSON:
    """Return a value without what differs from run to run."""
    if isinstance(value, Mapping):
        return {str(name): timeless(one) for name, one in value.items() if name not in _OF_TIME}
    if isinstance(value, list | tuple):
        return [timeless(one) for one in value if not (isinstance(one, Mapping) and one.get("metric") in _OF_TIME)]
    return value


def _named(value: JSON, ids: Mapping[str, str]) -> JSON:
    text = json.dumps(timeless(value), default=str)
    for name, found in ids.items():
        text = text.replace(found, name)
    return json.loads(text)


def _of_run(name: str, result: RunResult, like: str = "vectors") -> Iterator[Fact]:
    figures = timeless(figures_json(result))
    for key in ("usage", "dataset", *(() if "LEXICAL" in name else ("splits", "readings"))):
        figures.pop(key, None)  # seconds, the id of a knowledge base, and what is long and much the same
    yield Fact(f"{name}/figures", figures, "exact")
    for row in result.per_query:
        yield Fact(f"{name}/{row.query_id}", _of_row(row), like)


def _of_row(row: QueryRow) -> JSON:
    found = {name: value for name, value in row.metrics.items() if value is not None}
    said = {"response": row.response, "abstained": row.abstained, "evidence": row.evidence, "failed": row.failed}
    return {**found, **said, "retrieved": list(row.retrieved[:5]), "context": list(row.generation_doc_ids or ())}


def _gate(app: App, place: Place, ids: Mapping[str, str]) -> Iterator[Fact]:
    gate, path = app.get(Gate), place.work / "baseline.json"
    source = Source(dataset=str(VALLE))
    gate.save(path, gate.of_runs([ids["BRIDGE"]]), source, ("recall@5", "mrr"))
    for name in ("LEXICAL", "BRIDGE", "kb_chat"):
        for tolerance in (0.0, 0.2):
            report = gate.check(path, gate.of_runs([ids[name]]), tolerance=tolerance)
            value = {**asdict(report), "verdict": report.verdict, "code": report.exit_code}
            yield Fact(f"measuring/gate/{name} {tolerance}", _named(value, ids), "exact")


def _of_kb(app: App, place: Place) -> Iterator[Fact]:
    """Questions on the handbook: figures, and what they promise."""
    handbook = next(bases(place))
    kb_id = kb_of(app, handbook)
    wanted: dict[str, dict[str, Any]] = {"LEXICAL": {}, "KB_CHAT": {"preset": "kb_chat"}, "HYBRID": _HYBRID}
    for name, changes in wanted.items():
        if place.sample and name == "HYBRID":
            continue
        figures = app.kb_evaluation.evaluate(kb_id, SAMPLES / "kb" / "preguntas.jsonl", **changes)
        yield Fact(f"measuring/kb/{name}/figures", timeless(figures), "exact")
        like = "late" if name == "HYBRID" else "vectors"
        yield from _of_run(f"measuring/kb/{name}/run", app.archive.run(figures["run_id"]), like)
        for level in (0.1, 0.5):
            made = app.get(Promises).make(kb_id, figures["run_id"], level)
            value = {**asdict(made.promise), "applies": made.applies, "changed": made.changed}
            yield Fact(f"measuring/kb/{name}/promise {level}", timeless(value), like)


_HYBRID = {"retrieval_strategy": "HYBRID"}


def _tune(place: Place) -> Iterator[Fact]:
    app = open_app(place.work / "tuned", retrieval_strategy="KB_CHAT")
    space = place.work / "space.toml"
    space.write_text(_SPACE, "utf-8")
    tuner = app.get(Tuner)
    plan = tuner.plan(str(VALLE), options=TuneOptions(space=space, most=4))
    result = tuner.resume_now(tuner.create(plan))
    yield Fact("measuring/tune/plan", _named(asdict(plan) | {"reference": VALLE.name}, {}), "exact")
    yield Fact("measuring/tune/result", _named(asdict(result), {}), "exact")


def _statistics() -> Iterator[Fact]:
    """Statistics of fixed numbers: differences of few values, of many, of none."""
    yield Fact("measuring/statistics/holm", significance.holm([0.01, None, 0.04, 0.03, 0.5, 1.0]), "exact")
    for count in (3, 12, 60, 298):
        at = np.arange(count)
        wave = np.round(np.sin(at * 1.7) + 0.15, 1)
        series = {"steps": np.sign(wave) * (at % 3 > 0), "wave": wave, "equal": np.zeros(count)}
        for name, gains in series.items():
            column = gains[:, None]
            value = {
                "interval": noninferiority.paired_interval(gains),
                "p": [significance.randomisation_p(column, ties=ties) for ties in (0.5, 1.0)],
                "one_sided": noninferiority.one_sided_ps(gains),
                "bounds": [noninferiority.bounds(gains, noise) for noise in (0.0, 0.1)],
                "tests": [asdict(one) for one in noninferiority.gain_tests([gains, -gains], [0.0, 0.05], 0.1)],
                "level": [noninferiority.level_verdict(np.clip(gains, 0, 1), least) for least in (0.1, 0.6)],
            }
            yield Fact(f"measuring/statistics/{name} {count}", _numbers(value), "exact")
        power = [noninferiority.power(count, 0.4, drop, 0.05) for drop in (0.0, 0.1, 0.3)]
        more = [noninferiority.detectable(count, 0.3, 0.02), noninferiority.deviation_of(0.3, 0.1)]
        needed = [noninferiority.questions_needed(0.4, drop) for drop in (0.01, 0.1)]
        yield Fact(f"measuring/statistics/power {count}", _numbers([*power, *more, *needed]), "exact")


def _numbers(value: Any) -> JSON:
    return json.loads(json.dumps(value, default=lambda one: one.tolist()))
