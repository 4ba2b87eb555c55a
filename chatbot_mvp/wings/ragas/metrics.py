"""The metrics as lists, comparisons and catalogues know them. ``judging.registry`` says how each is scored."""

from __future__ import annotations

from chatbot_mvp.metrics.spec import MetricSpec, Shown


def _spec(name: str) -> MetricSpec:
    return MetricSpec(name, "row", shown=Shown(0, ("compared",)))


LLM_CONTEXT_PRECISION_WITHOUT_REFERENCE = _spec("ragas_llm_context_precision_without_reference")
LLM_CONTEXT_PRECISION_WITH_REFERENCE = _spec("ragas_llm_context_precision_with_reference")
CONTEXT_RECALL = _spec("ragas_context_recall")
FAITHFULNESS = _spec("ragas_faithfulness")
ANSWER_RELEVANCY = _spec("ragas_answer_relevancy")
NV_CONTEXT_RELEVANCE = _spec("ragas_nv_context_relevance")
ID_BASED_CONTEXT_PRECISION = _spec("ragas_id_based_context_precision")
ID_BASED_CONTEXT_RECALL = _spec("ragas_id_based_context_recall")
LEXICAL_CONTEXT_RECALL = _spec("lexical_context_recall")
LEXICAL_FAITHFULNESS = _spec("lexical_faithfulness")
EMBEDDING_ANSWER_SIMILARITY = _spec("embedding_answer_similarity")
EMBEDDING_ANSWER_RELEVANCY = _spec("embedding_answer_relevancy")
