"""The table of export formats. ``--format``, the zip and the errors for unknown formats read this table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper

from chatbot_mvp.exports.base import Exported, ExportFormat, FinishedRun
from chatbot_mvp.exports.bundle import to_zip
from chatbot_mvp.exports.rankings import to_beir, to_hotpotqa, to_json, to_trec, to_trec_scores
from chatbot_mvp.exports.report import to_markdown
from chatbot_mvp.plugins.registry import Registry

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
)


def zip_of(parts: Callable[[], Iterable[ExportFormat]]) -> ExportFormat:
    """Return the format of the zip.

    Args:
        parts: returns the formats that the zip contains, except those with ``not_in_zip``.
    """
    left_out = " and ".join(row.name.upper() for row in _ROWS if row.not_in_zip)

    def export(run: FinishedRun) -> Exported:
        return to_zip(run, [row for row in parts() if not row.not_in_zip])

    summary = f"all of these but {left_out}, with configuration, hashes and versions"
    return ExportFormat("zip", update_wrapper(export, to_zip), summary, not_in_zip="it is the zip itself")


FORMATS: Mapping[str, ExportFormat] = Registry("export", ExportFormat, (*_ROWS, zip_of(lambda: FORMATS.values())))
"""Value for ``benchmark export --format`` -> the format."""
