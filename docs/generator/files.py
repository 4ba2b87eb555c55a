"""Files that the project reads and writes: their fields and columns."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.datasets.model import Query
from chatbot_mvp.evaluation.benchmark import generation, judgement, presets, searching
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.runs.figures import result_of_rows
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVE
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.rows import QueryRow
from docs.generator.markdown import catalogue, code, fields_of, first_paragraph


def exports() -> str:
    rows = []
    for name, form in FORMATS.items():
        rows.append(f"- {code(name)}: {form.summary}. {first_paragraph(form.export).removeprefix('Write ')}")
    return "\n".join(rows)


def manifest_fields() -> str:
    return fields_of(RunManifest)


def record_fields() -> str:
    return fields_of(QueryRecord)


def record_phases() -> str:
    return "\n".join(
        f"- {code(phase)} ({code(_file(module.__name__))}): {first_paragraph(module)}"
        for phase, module in ((RETRIEVE, searching), (GENERATE, generation), (JUDGE, judgement))
    )


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def query_columns() -> str:
    return fields_of(Query)


def kb_question_fields() -> str:
    return fields_of(KbQuestion).replace("`question_id`", "`id`")


def csv_columns() -> str:
    """The columns of both CSV files, read from files of an invented run of one query and one metric."""
    metric = "METRIC"
    row = QueryRow(
        query_id="q",
        question="",
        answer="",
        answer_type="",
        question_type="",
        level="",
        metrics={metric: 1.0},
        retrieved=(),
        gold=(),
        cause="ok",
    )
    manifest = RunManifest("run", "", "", "", "", {}, "", "", 1, 1, "", generator="model", judge="model", kind=KB)
    result = replace(
        result_of_rows(manifest, [row], 0, {}),
        metrics={metric: 1.0},
        scored={metric: (1, 1)},
        intervals={metric: (0.0, 1.0)},
        auroc=dict.fromkeys(UNANSWERABLE, 1.0),
        abstentions=0,
        rerank_failures=0,
        reranker_rescue_count=0,
    )
    parts = []
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place), "run")
        folder.path.mkdir()
        for kind, write in (("summary", write_summary_csv), ("detail", write_detail_csv)):
            write(folder, result)
            with (folder.path / f"run_{kind}.csv").open(newline="", encoding="utf-8") as file:
                columns = next(csv.reader(file))
            parts.append(f"`<run_id>_{kind}.csv`: {', '.join(code(column) for column in columns)}.")
    return "\n\n".join(parts)


def run_presets() -> str:
    """The presets of the form for runs; the settings of a system are in its table."""
    texts = catalogue("en")
    rows = []
    for name, changes in presets.BUILT_IN.items():
        shown = ", ".join(code(f"{setting.upper()}={value}") for setting, value in changes.items())
        settings = f" ({shown})" if name not in SYSTEMS else ""
        rows.append(f"- **{texts[f'admin.preset.title.{name}']}**: {texts[f'admin.preset.about.{name}']}{settings}")
    return "\n".join(rows)
