"""Ragas' metrics on this project's ChatModel and Embedder, in the language of the rows, never NaN."""

from chatbot_mvp.wings.ragas.judging.adaptation import adapt_prompts, own_prompts
from chatbot_mvp.wings.ragas.judging.languages import language_code
from chatbot_mvp.wings.ragas.judging.model import JudgeOptions, Reason, Row, Scored, Status, language_of
from chatbot_mvp.wings.ragas.judging.prompts import Prompts, load_prompts, own_languages, prompt_languages
from chatbot_mvp.wings.ragas.judging.registry import (
    JUDGED,
    RAGAS_METRICS,
    UNJUDGED,
    RagasMetric,
    column_of,
    missing_columns,
    prompts_of,
    score_row,
)

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
    "adapt_prompts",
    "column_of",
    "language_code",
    "language_of",
    "load_prompts",
    "missing_columns",
    "own_languages",
    "own_prompts",
    "prompt_languages",
    "prompts_of",
    "score_row",
]
