"""Optional stage: rerank the candidates with a model that reads question and text together."""

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
from chatbot_mvp.retrieval.prompting import filled
from chatbot_mvp.retrieval.stages.base import RetrievalConfig, Stage
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings

_NIM_PASSAGES = 500  # NIM takes at most 512 in one request
LLM_CALLS_AT_ONCE = 4


class RerankFailed(Exception):
    """A reranker could score no candidate of a query; the message gives the reason.

    The stage counts the failure and keeps the order of the candidates.
    """


class Reranker(Protocol):
    """Scores texts against a question. Safe to share between threads."""

    @property
    def original_weight(self) -> float:
        """Weight of the retrieval score in the final score, 0-1. Must be 0 if the reranker's scale is not fixed."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        """Score each hit; higher is better, None for a hit that could not be scored. No hit has an empty text.

        Scores are in 0-1 if ``original_weight`` is above 0.

        Raises:
            RerankFailed: no hit could be scored.
        """


class Rerank(Stage):
    """Reorders the first ``RetrievalConfig.reranked`` hits by the reranker's scores and keeps ``reranker_top_n``.

    Final score: w * original + (1 - w) * score, where w is the reranker's ``original_weight`` and ``original`` is the
    retrieval score divided by the best one (0-1). A hit without a reranker score keeps its original score; if w is 0,
    it is placed behind all scored hits. Ties break by chunk id. If the reranker fails, the order is kept, the note
    ``reranked`` is False and ``failures`` is incremented. Empty texts are not sent: NIM refuses a request with one.
    """

    name = "rerank"

    def __init__(self, index: CorpusIndex, config: RetrievalConfig, reranker: Reranker) -> None:
        super().__init__(index, config)
        self._reranker = reranker
        self._lock = threading.Lock()
        self.failures = 0
        """Number of queries whose reranking failed since the pipeline was built."""

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        candidates = trace.hits[: self.config.reranked]
        kept = self.config.reranker_top_n
        unchanged = replace(trace, hits=candidates[:kept], hits_before_rerank=trace.hits)
        if not candidates or not trace.query.strip():
            return unchanged, {"reranked": False, "candidates": len(candidates)}
        sent = [hit for hit in candidates if hit.chunk.index_text.strip()]
        unchanged = replace(unchanged, pre_rerank_candidate_ids=tuple(hit.chunk.chunk_id for hit in sent))
        try:
            scores = self._scores(trace.query, candidates, sent)
        except RerankFailed as error:
            with self._lock:
                self.failures += 1
            notes = {"reranked": False, "candidates": len(candidates), "error": str(error)}
            # Chat continues without reranking; a benchmark run reads this note and stops.
            notes["quota_exhausted"] = isinstance(error.__cause__, ProviderQuotaExhausted)
            return unchanged, notes
        ranked = self._ranked(candidates, scores)
        notes = {"reranked": True, "candidates": len(candidates), "not_scored": scores.count(None)}
        return replace(unchanged, hits=tuple(ranked[:kept])), notes

    def _scores(self, query: str, candidates: Sequence[Hit], sent: Sequence[Hit]) -> list[float | None]:
        if not sent:
            raise RerankFailed("all candidates are empty texts")
        given = iter(self._reranker.rerank(query, sent))
        return [next(given) if hit.chunk.index_text.strip() else None for hit in candidates]

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
                # ``original`` is at most 1, so this is below every reranker score and keeps the original order.
                final = original if weight > 0 else lowest - 2.0 + original
            signals = {**hit.signals, "before_rerank": hit.score}
            if score is not None:
                signals |= {"rerank": score, f"{PART}rerank": (1 - weight) * score}
            ranked.append(Hit(hit.chunk, final, signals))
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk.chunk_id))


class NimReranker:
    """A cross-encoder behind NVIDIA NIM's ``/v1/ranking``. Its logits have no fixed scale, so they alone decide."""

    original_weight = 0.0

    def __init__(self, endpoint: JsonEndpoint) -> None:
        """
        Args:
            endpoint: has the address and the ranking model; limits the rate of requests and retries them.
        """
        self._endpoint = endpoint
        self._model = endpoint.calls.endpoint.model
        self._url = f"{v1(endpoint.calls.endpoint.base_url)}/ranking"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        scores: list[float | None] = []
        for begin in range(0, len(hits), _NIM_PASSAGES):
            scores += self._ranking(query, [hit.chunk.index_text for hit in hits[begin : begin + _NIM_PASSAGES]])
        return scores

    def _ranking(self, query: str, passages: Sequence[str]) -> list[float]:
        payload = {"model": self._model, "query": {"text": query}, "passages": [{"text": text} for text in passages]}
        try:
            answer = self._endpoint.post("ranking", payload)
        except ProviderError as error:
            raise RerankFailed(f"{self._url}: {error}") from error
        return _logits(answer, len(passages), self._url)


def _logits(answer: Any, count: int, url: str) -> list[float]:
    """Read one logit per passage, in passage order.

    Raises:
        RerankFailed: a passage has no logit, several, or one that is not finite.
    """
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
    """Create the configured reranker: NIM if its address is set, else the language model; None if reranking is off.

    Args:
        language: language of the corpus, "es" or "en".
        model: the provider's language model; None if the provider has none.

    Raises:
        NeedsLanguageModel: reranking is on, but there is neither a NIM address nor a language model.
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
    """Asks a language model to rate each text from 0 to 10; final score 0.3 * original + 0.7 * rating / 10."""

    original_weight = 0.3

    def __init__(self, model: LanguageModel, language: str) -> None:
        self._model = model
        self._language = language

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        def score(hit: Hit) -> float | None:
            reply = self._model.ask(filled("relevance", self._language, question=query, chunk=hit.chunk.index_text))
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
"""Most reliable first: the reply is only a number; a number out of ten; a number after a word such as "score"."""


def parse_score(reply: str) -> float | None:
    """Read a score from 0 to 10 from a reply; None if it is out of range, ambiguous or missing."""
    for pattern in _PATTERNS:
        found = {float(number.replace(",", ".")) for number in pattern.findall(reply)}
        if found:
            value = found.pop()
            return value if not found and 0.0 <= value <= 10.0 else None
    return None
