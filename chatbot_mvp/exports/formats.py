"""The table of export formats. ``--format``, the zip and the errors for unknown formats read this table."""

from __future__ import annotations

from functools import partial, update_wrapper

from chatbot_mvp.exports.answers import to_hotpotqa, to_ragas
from chatbot_mvp.exports.base import ExportFormat
from chatbot_mvp.exports.bundle import to_zip
from chatbot_mvp.exports.rankings import to_beir, to_json, to_trec, to_trec_scores
from chatbot_mvp.exports.report import to_markdown

_ROWS = (
    ExportFormat("trec", to_trec, "TREC run and qrels; the score is 1 / rank, so that evaluators keep the order"),
    ExportFormat(
        "trec_scores",
        to_trec_scores,
        "TREC run with the recorded scores of the retrieval",
        not_in_zip="its scores are in the records, which the zip leaves out",
    ),
    ExportFormat("json", to_json, "rankings and judgements as ranx and ir_measures read them"),
    ExportFormat(
        "beir",
        to_beir,
        "corpus, questions and judgements as a BEIR folder",
        not_in_zip="it holds the texts of the whole corpus; the zip names the data set by its hash",
    ),
    ExportFormat("markdown", to_markdown, "report with tables"),
    ExportFormat("hotpotqa", to_hotpotqa, "predictions for the official HotpotQA script", needs_answers=True),
    ExportFormat("ragas", to_ragas, "answered questions as Ragas reads them", needs_answers=True),
)


def zip_of(rows: tuple[ExportFormat, ...]) -> ExportFormat:
    """Return the format of the zip, which contains all these formats except those with ``not_in_zip``."""
    left_out = " and ".join(row.name.upper() for row in rows if row.not_in_zip)
    summary = f"all of these{f' but {left_out}' if left_out else ''}, with configuration, hashes and versions"
    parts = tuple(row for row in rows if not row.not_in_zip)
    export = update_wrapper(partial(to_zip, parts=parts), to_zip)
    return ExportFormat("zip", export, summary, not_in_zip="it is the zip itself")


FORMATS: dict[str, ExportFormat] = {row.name: row for row in (*_ROWS, zip_of(_ROWS))}
"""Value for ``benchmark export --format`` -> the format."""
