"""Estimate a run from the lengths of its texts and prompts, without a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.datasets import Query
from chatbot_mvp.evaluation.benchmark import generation, judgement
from chatbot_mvp.evaluation.benchmark.chunk_texts import ENRICH, QUESTIONS, chunk_texts_at_once, missing_chunk_texts
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.estimate import (
    CHARS_PER_TOKEN,
    Amount,
    Estimate,
    PhaseEstimate,
    cost_of,
    seconds_per_call,
    total_of,
)
from chatbot_mvp.llm.base import Message
from chatbot_mvp.llm.registry import find_provider, requests_at_once
from chatbot_mvp.retrieval.prompting import PROMPTS
from chatbot_mvp.retrieval.stages.context import ContextChars, context_budget
from chatbot_mvp.retrieval.stages.llm_expansion import SHORT_QUESTION, LlmExpansion
from chatbot_mvp.retrieval.stages.rerankers import LLM_CALLS_AT_ONCE
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVAL
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

_LABEL_TOKENS = 2  # "yes", "no"
_UNKNOWN_ANSWER_TOKENS = 8
_VERDICT_TOKENS = 60  # a sentence and a score in JSON
_CONTEXT_TOKENS = 50  # one or two sentences
_QUESTION_TOKENS = 15
_SCORE_TOKENS = 2
_MEASURED = 200
"""Number of prompts whose length is measured. The other prompts of a larger run are assumed to be similar."""


def estimate_from_lengths(corpus: RunCorpus, settings: Settings) -> Estimate | None:
    """Estimate a run over a sampled corpus from lengths alone; None if the run asks no language model."""
    chunks, language, queries = corpus.chunks(), corpus.language(settings), corpus.dataset.queries
    needs = [
        *_chunk_texts(chunks, language, settings),
        *_retrieval(chunks, language, queries, settings),
        *_answers(chunks, language, queries, settings),
    ]
    if not needs:
        return None
    phases = tuple(_phase(need, settings) for need in needs)
    return Estimate("lengths", len(queries), phases, total_of(phases), None, CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class _Need:
    """The requests of a phase, estimated from lengths."""

    phase: str
    settings: Settings
    """Settings that name the provider and model to ask."""
    calls: int
    prompt_tokens: float
    completion_tokens: float
    at_once: int


def _phase(need: _Need, settings: Settings) -> PhaseEstimate:
    each = seconds_per_call(settings.results_dir, need.settings.language_model, need.phase, need.at_once)
    cost, price = cost_of(need.settings, need.prompt_tokens, need.completion_tokens)
    return PhaseEstimate(
        phase=need.phase,
        model=need.settings.language_model,
        calls=Amount(need.calls),
        free_calls=0,
        prompt_tokens=Amount(round(need.prompt_tokens)),
        completion_tokens=Amount(round(need.completion_tokens)),
        seconds=None if each is None else Amount(need.calls * each).rounded(1),
        seconds_basis="" if each is None else "earlier_runs",
        cost_usd=None if cost is None else Amount(round(cost, 6)),
        price=price,
    )


def _chunk_texts(chunks: Sequence[Chunk], language: str, settings: Settings) -> list[_Need]:
    reply_tokens = {ENRICH: _CONTEXT_TOKENS, QUESTIONS: _QUESTION_TOKENS * settings.retrieval_context_questions}
    at_once = chunk_texts_at_once(settings)
    needs = []
    for phase, prompts in missing_chunk_texts(chunks, language, settings).items():
        tokens = sum(map(len, prompts)) / CHARS_PER_TOKEN
        needs.append(_Need(phase, settings, len(prompts), tokens, reply_tokens[phase] * len(prompts), at_once))
    return needs


def _retrieval(chunks: Sequence[Chunk], language: str, queries: Sequence[Query], settings: Settings) -> list[_Need]:
    texts = PROMPTS.texts(language)
    calls, prompt, reply = 0, 0.0, 0.0
    if settings.reranker_kind == "llm":
        depth = min(settings.reranked, len(chunks))
        calls = depth * len(queries)
        length = len(texts["relevance"]) + _mean([len(chunk.index_text) for chunk in chunks])
        prompt = calls * (length + _mean([len(query.text) for query in queries])) / CHARS_PER_TOKEN
        reply = calls * _SCORE_TOKENS
    if settings.query_expansion_llm:
        short = [query for query in queries if len(query.text.split()) < SHORT_QUESTION]
        calls += len(short)
        prompt += sum(len(texts["expand_query"]) + len(query.text) for query in short) / CHARS_PER_TOKEN
        reply += LlmExpansion.reply_tokens * len(short)
    for stage in get_strategy(settings.retrieval_strategy).asking_stages:
        calls += len(queries)
        prompt += sum(stage.prompt_chars + len(query.text) for query in queries) / CHARS_PER_TOKEN
        reply += stage.reply_tokens * len(queries)
    at_once = min(LLM_CALLS_AT_ONCE, requests_at_once(settings))
    return [_Need(RETRIEVAL, settings, calls, prompt, reply, at_once)] if calls else []


def _answers(chunks: Sequence[Chunk], language: str, queries: Sequence[Query], settings: Settings) -> list[_Need]:
    if not settings.generation_enabled or not queries:
        return []
    every = max(1, len(queries) // _MEASURED)
    asked, judged = [], []
    for number, query in enumerate(queries[::every]):
        passages = _passages(chunks, settings, number * every)
        asked.append(_chars(generation.generation_request(query, passages, language, settings).messages))
        if settings.judge:
            answer = query.answer or "-"
            metrics = settings.judge_metric_names
            judged += [_chars(judgement.judge_messages(m, query.text, answer, passages, language)) for m in metrics]
    tokens = sum(_answer_tokens(query) for query in queries)
    has_model = find_provider(settings.chosen_provider).has_model
    prompt = len(queries) * _mean(asked) / CHARS_PER_TOKEN
    prompt, tokens = (prompt, tokens) if has_model else (0.0, 0.0)
    needs = [_Need(GENERATE, settings, len(queries), prompt, tokens, requests_at_once(settings))]
    if settings.judge:
        judge = settings.of_judge
        calls = len(queries) * len(settings.judge_metric_names)
        prompt = calls * _mean(judged) / CHARS_PER_TOKEN
        needs.append(_Need(JUDGE, judge, calls, prompt, calls * _VERDICT_TOKENS, requests_at_once(judge)))
    return needs


def _passages(chunks: Sequence[Chunk], settings: Settings, number: int) -> list[Chunk]:
    """Return sample documents that stand for a query's results, within the limits of a context."""
    source = sum(chunk.end for chunk in chunks)
    budget = context_budget(source, settings.kb_max_context_chars, settings.kb_large_context_chars)
    count = min(settings.kb_top_k, len(chunks))
    chosen: list[Chunk] = []
    context = ContextChars()
    for row in range(count):
        chunk = chunks[(number * count + row) % len(chunks)]
        if not chosen or context.used + context.cost(chunk) <= budget:
            chosen.append(chunk)
            context.add(chunk)
    return chosen


def _answer_tokens(query: Query) -> float:
    if query.answer_type == "label":
        return _LABEL_TOKENS
    return 1 + len(query.answer) / CHARS_PER_TOKEN if query.answer else _UNKNOWN_ANSWER_TOKENS


def _chars(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
