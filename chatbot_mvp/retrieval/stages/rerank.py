"""The optional stage that puts the candidates in order once more, by a model that reads question and text together."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol

from chatbot_mvp.errors import ChatbotError, ProviderError, ProviderQuotaExhausted, RunError, RunStopped
from chatbot_mvp.llm.language_model import LanguageModel, needed
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for, v1
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.prompts import prompts
from chatbot_mvp.retrieval.stages.base import RetrievalConfig, Stage
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings

_NIM_PASSAGES = 500  # NIM takes at most 512 in one request
LLM_CALLS_AT_ONCE = 4


class RerankFailed(Exception):
    """A reranker has no scores for a query; says why. The stage counts it and keeps the order."""


class Reranker(Protocol):
    """Scores texts against a question. Safe to share between threads."""

    @property
    def original_weight(self) -> float:
        """Share of the retrieval's own score in the final one, 0-1; 0 where scores are on no fixed scale."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        """A score for each hit, higher is better; None for a hit that could not be scored.

        Scores are 0-1 if ``original_weight`` is over 0.

        Raises:
            RerankFailed: no hit was scored.
        """


class Rerank(Stage):
    """Reorders the first ``retrieval_pre_fusion_k`` hits by the reranker's scores and keeps ``reranker_top_n``.

    Final score: w * original + (1 - w) * score, with w the reranker's ``original_weight`` and the original relative to
    the best one (0-1). A hit without a score keeps its original; where w is 0 it goes behind those with one. Ties by
    chunk id. When the reranker fails the order stays, the note ``reranked`` is False and ``failures`` grows.
    """

    name = "rerank"

    def __init__(self, index: CorpusIndex, config: RetrievalConfig, reranker: Reranker) -> None:
        super().__init__(index, config)
        self._reranker = reranker
        self._lock = threading.Lock()
        self.failures = 0
        """Queries whose reranking failed since the pipeline was built."""

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        candidates = trace.hits[: self.config.retrieval_pre_fusion_k]
        kept = self.config.reranker_top_n
        unchanged = replace(trace, hits=candidates[:kept], hits_before_rerank=trace.hits)
        if not candidates or not trace.query.strip():
            return unchanged, {"reranked": False, "candidates": len(candidates)}
        try:
            scores = self._reranker.rerank(trace.query, candidates)
        except RerankFailed as error:
            with self._lock:
                self.failures += 1
            notes = {"reranked": False, "candidates": len(candidates), "error": str(error)}
            # A chat goes on without; a run of many questions has no use for that and stops.
            notes["quota_exhausted"] = isinstance(error.__cause__, ProviderQuotaExhausted)
            return unchanged, notes
        ranked = self._ranked(candidates, scores)
        notes = {"reranked": True, "candidates": len(candidates), "not_scored": scores.count(None)}
        return replace(unchanged, hits=tuple(ranked[:kept])), notes

    def _ranked(self, candidates: Sequence[Hit], scores: Sequence[float | None]) -> list[Hit]:
        weight = self._reranker.original_weight
        best = max(hit.score for hit in candidates)
        lowest = min((score for score in scores if score is not None), default=0.0)
        ranked = []
        for hit, score in zip(candidates, scores, strict=True):
            original = hit.score / best if best > 0 else 0.0
            if score is not None:
                final = weight * original + (1 - weight) * score
            else:
                # The best original is 1, so this is below every scored one and keeps the original order.
                final = original if weight > 0 else lowest - 2.0 + original
            signals = {**hit.signals, "before_rerank": hit.score}
            ranked.append(Hit(hit.chunk, final, signals if score is None else {**signals, "rerank": score}))
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk.chunk_id))


class NimReranker:
    """A cross-encoder behind NVIDIA NIM's ``/v1/ranking``. Its logits are on no fixed scale: they alone decide."""

    original_weight = 0.0

    def __init__(self, endpoint: JsonEndpoint) -> None:
        """``endpoint`` names address and ranking model, and paces and repeats requests."""
        self._endpoint = endpoint
        self._model = endpoint.calls.endpoint.model
        self._url = f"{v1(endpoint.calls.endpoint.base_url)}/ranking"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        # NIM refuses a request with an empty passage as a whole.
        rows = [row for row, hit in enumerate(hits) if hit.chunk.index_text.strip()]
        if not rows:
            raise RerankFailed("all candidates are empty texts")
        scores: list[float | None] = [None] * len(hits)
        for begin in range(0, len(rows), _NIM_PASSAGES):
            part = rows[begin : begin + _NIM_PASSAGES]
            logits = self._ranking(query, [hits[row].chunk.index_text for row in part])
            for row, logit in zip(part, logits, strict=True):
                scores[row] = logit
        return scores

    def _ranking(self, query: str, passages: Sequence[str]) -> list[float]:
        payload = {"model": self._model, "query": {"text": query}, "passages": [{"text": text} for text in passages]}
        try:
            answer = self._endpoint.post("ranking", payload)
        except ProviderError as error:
            raise RerankFailed(f"{self._url}: {error}") from error
        return _logits(answer, len(passages), self._url)


def _logits(answer: Any, count: int, url: str) -> list[float]:
    """The logits by passage; every passage must have exactly one finite number."""
    logits: dict[int, float] = {}
    try:
        for ranking in answer["rankings"]:
            logits[ranking["index"]] = float(ranking["logit"])
    except (KeyError, TypeError, ValueError) as error:
        raise RerankFailed(f"{url} gave rankings of another form: {error!r}") from error
    if logits.keys() != set(range(count)) or len(answer["rankings"]) != count:
        raise RerankFailed(f"{url} ranked {len(answer['rankings'])} passages of {count}")
    if not all(math.isfinite(logit) for logit in logits.values()):
        raise RerankFailed(f"{url} gave a logit that is no finite number")
    return [logits[row] for row in range(count)]


def make_reranker(settings: Settings, language: str, model: LanguageModel | None) -> Reranker | None:
    """What the settings ask for: NIM where it has an address, else the language model; None when reranking is off.

    Args:
        language: of the corpus.
        model: the provider's; None if it has none.

    Raises:
        NeedsLanguageModel: there is neither a NIM nor a language model.
    """
    if not settings.reranker_enabled:
        return None
    if settings.reranker_base_url:
        endpoint = Endpoint(
            "nim",
            settings.reranker_model_name,
            settings.reranker_base_url,
            settings.nvidia_api_key,
            "NVIDIA_API_KEY",
            "RERANKER_MODEL_NAME",
        )
        return NimReranker(JsonEndpoint(calls_for(endpoint, settings), settings.nim_request_timeout))
    return LlmReranker(needed(model, "RERANKER_ENABLED without RERANKER_BASE_URL", settings.chosen_provider), language)


class LlmReranker:
    """A language model that gives each text 0-10; final score 0.3 * original + 0.7 * given / 10."""

    original_weight = 0.3

    def __init__(self, model: LanguageModel, language: str) -> None:
        self._model = model
        self._prompt = prompts(language)["relevance"]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        def score(hit: Hit) -> float | None:
            reply = self._model.ask(self._prompt.format(question=query, chunk=hit.chunk.index_text))
            given = parse_score(reply)
            return None if given is None else given / 10

        failures: list[str] = []
        scores: list[float | None] = []
        with ThreadPoolExecutor(LLM_CALLS_AT_ONCE) as pool:
            pending = [pool.submit(score, hit) for hit in hits]
            for future in pending:
                try:
                    scores.append(future.result())
                except (RunStopped, RunError):
                    pool.shutdown(cancel_futures=True)
                    raise
                except ProviderQuotaExhausted as error:
                    pool.shutdown(cancel_futures=True)
                    raise RerankFailed(f"{self._model.name}: {error}") from error
                except (ChatbotError, OSError) as error:
                    failures.append(str(error) or type(error).__name__)
                    scores.append(None)
        if all(value is None for value in scores):
            reason = failures[0] if failures else "no reply holds a score from 0 to 10"
            raise RerankFailed(f"{self._model.name} scored none of {len(hits)} texts: {reason}")
        return scores


_NUMBER = r"(?<![\w.,/-])(\d{1,2}(?:[.,]\d+)?)(?![\d/]|[.,]\d|\w|\s*[-–]\s*\d)"
_OF_TEN = r"\s*(?:/|out of|sobre|de)\s*10(?![\d/]|[.,]\d|\w)"
_LABEL = r"(?:score|rating|relevance|puntuaci[óo]n|puntaje|relevancia|nota|valoraci[óo]n)"
_PATTERNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\A\W*{_NUMBER}\W*\Z",
        rf"(?<![\w.,/-])(\d{{1,2}}(?:[.,]\d+)?){_OF_TEN}",
        rf"\b{_LABEL}\b[\s:=*_\"'«»]*(?:(?:is|es|of|de)\b\s*)?[*_\"'«]*{_NUMBER}",
    )
)
"""In order of trust: nothing but a number; a number of ten; a number behind a word for score."""


def parse_score(reply: str) -> float | None:
    """The score from 0 to 10 that a reply gives, or None: out of range, several different ones, or none at all."""
    for pattern in _PATTERNS:
        found = {float(number.replace(",", ".")) for number in pattern.findall(reply)}
        if found:
            value = found.pop()
            return value if not found and 0.0 <= value <= 10.0 else None
    return None
