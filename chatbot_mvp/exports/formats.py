"""The registry of export formats."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.exports.answers import to_hotpotqa, to_ragas
from chatbot_mvp.exports.bundle import to_zip
from chatbot_mvp.exports.exported import Export
from chatbot_mvp.exports.rankings import to_beir, to_json, to_trec
from chatbot_mvp.exports.report import to_markdown


@dataclass(frozen=True)
class ExportFormat:
    """One export format."""

    export: Export
    summary: str


FORMATS: dict[str, ExportFormat] = {
    "trec": ExportFormat(to_trec, "TREC run and qrels"),
    "json": ExportFormat(to_json, "rankings and judgements as ranx and ir_measures read them"),
    "beir": ExportFormat(to_beir, "corpus, questions and judgements as a BEIR folder"),
    "markdown": ExportFormat(to_markdown, "report with tables"),
    "hotpotqa": ExportFormat(to_hotpotqa, "predictions for the official HotpotQA script"),
    "ragas": ExportFormat(to_ragas, "answered questions as Ragas reads them"),
    "zip": ExportFormat(to_zip, "all of these but BEIR, with configuration, hashes and versions"),
}
"""Name for ``benchmark export --format`` -> format."""
