"""Ragas' metrics on this project's ChatModel and Embedder, in the language of the rows, never NaN."""

from chatbot_mvp.judges.ragas.model import JudgeOptions, Reason, Row, Scored, Status, language_of
from chatbot_mvp.judges.ragas.prompts import Prompts, load_prompts, prompt_languages, prompts_key
from chatbot_mvp.judges.ragas.registry import JUDGED, RAGAS_METRICS, UNJUDGED, RagasMetric, missing_columns, score_row

__all__ = [
    "JUDGED",
    "RAGAS_METRICS",
    "UNJUDGED",
    "JudgeOptions",
    "Prompts",
    "RagasMetric",
    "Reason",
    "Row",
    "Scored",
    "Status",
    "language_of",
    "load_prompts",
    "missing_columns",
    "prompt_languages",
    "prompts_key",
    "score_row",
]
