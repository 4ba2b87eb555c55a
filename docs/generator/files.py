"""Files that the project reads and writes: their fields and columns as tables."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chatbot_mvp.datasets.model import Dataset, Query
from chatbot_mvp.evaluation.benchmark import generation, judgement, presets, retrieving
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.ragas.config import JudgeConfig, RagasConfig
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import KB, parse_result
from docs.generator.markdown import catalogue, code, documented_fields, fields_of, one_line, table


def exports() -> str:
    rows = [
        (code(name), form.summary, one_line((form.export.__doc__ or "").split("\n\n")[0]).removeprefix("Write "))
        for name, form in FORMATS.items()
    ]
    return table(("format", "what it is", "files"), rows)


def manifest_fields() -> str:
    return fields_of(RunManifest)


def record_fields() -> str:
    return fields_of(QueryRecord)


def record_phases() -> str:
    rows = [
        (code(module.PHASE), one_line((module.__doc__ or "").split("\n\n")[0]), code(_file(module.__name__)))
        for module in (retrieving, generation, judgement)
    ]
    return table(("phase", "what it does", "file"), rows)


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def query_columns() -> str:
    return fields_of(Query)


def kb_question_fields() -> str:
    return fields_of(KbQuestion).replace("`question_id`", "`id`")


def csv_columns() -> str:
    """The columns of both CSV files, read from files of an invented run of one query and one metric."""
    metric = "METRIC"
    row = {"metrics": {metric: 1.0}, "cause": "ok", "query_id": "q", "question": ""}
    values: dict[str, Any] = dict.fromkeys(("run_id", "dataset", "strategy", "fingerprint"), "")
    values |= {"queries": 1, "generator": "model", "judge": "model", "metrics": {metric: 1.0}, "per_query": [row]}
    values |= {"scored": {metric: [1, 1]}, "intervals": {metric: [0.0, 1.0]}}
    values |= dict.fromkeys(("abstentions", "rerank_failures", "reranker_rescue_count", "damaged_records"), 0)
    values |= {"kind": KB, "auroc": dict.fromkeys(UNANSWERABLE, 1.0)}
    result = parse_result(json.dumps(values).encode(), "run")
    parts = []
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place), "run")
        folder.path.mkdir()
        for kind, write in (("summary", write_summary_csv), ("detail", write_detail_csv)):
            write(folder, result, Dataset("", (), (), {}, ""))
            with (folder.path / f"run_{kind}.csv").open(newline="", encoding="utf-8") as file:
                columns = next(csv.reader(file))
            parts.append(f"`<run_id>_{kind}.csv`: {', '.join(code(column) for column in columns)}.")
    return "\n\n".join(parts)


def ragas_keys() -> str:
    found: dict[str, tuple[type[BaseModel], str]] = {
        f"judge.{name}": (JudgeConfig, name) for name in JudgeConfig.model_fields
    }
    found |= {name: (RagasConfig, name) for name in RagasConfig.model_fields if name != "judge"}
    texts: dict[type[BaseModel], dict[str, str]] = {c: documented_fields(c) for c in (JudgeConfig, RagasConfig)}
    rows = []
    for key, (cls, name) in found.items():
        default = cls.model_fields[name].default
        rows.append((code(key), code(json.dumps(default)), texts[cls][name]))
    return table(("key", "default", "meaning"), rows)


def run_presets() -> str:
    texts = catalogue("en")
    rows = []
    for name, changes in presets.BUILT_IN.items():
        shown = ", ".join(code(f"{setting.upper()}={value}") for setting, value in changes.items())
        rows.append((texts[f"admin.preset.title.{name}"], texts[f"admin.preset.about.{name}"], shown))
    return table(("preset", "what it runs", "settings"), rows)
