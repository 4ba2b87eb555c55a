"""The rerankers: NVIDIA NIM's cross-encoders, any language model, and those that are added."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chatbot_mvp.errors import ChatbotError, ProviderError, ProviderQuotaExhausted, RunError, RunStopped, UnknownChoice
from chatbot_mvp.llm.language_model import LanguageModel, needed
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for, v1
from chatbot_mvp.retrieval.prompting import filled
from chatbot_mvp.retrieval.reranker import Reranker, RerankerKind, RerankFailed
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.settings.model import Settings

_NIM_PASSAGES = 500  # NIM takes at most 512 in one request
LLM_CALLS_AT_ONCE = 4


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


def _nim(settings: Settings, language: str, model: LanguageModel | None) -> Reranker:
    endpoint = Endpoint(
        "nim",
        settings.reranker_model_name,
        settings.reranker_base_url,
        settings.nvidia_api_key,
        "NVIDIA_API_KEY",
        "RERANKER_MODEL_NAME",
    )
    return NimReranker(JsonEndpoint(calls_for(endpoint, settings), settings.nim_request_timeout))


def _llm(settings: Settings, language: str, model: LanguageModel | None) -> Reranker:
    return LlmReranker(needed(model, "RERANKER_ENABLED without RERANKER_BASE_URL", settings.chosen_provider), language)


RERANKERS: Mapping[str, RerankerKind] = Registry(
    "reranker", RerankerKind, (RerankerKind("nim", _nim), RerankerKind("llm", _llm))
)
"""Value of ``Settings.reranker_kind`` -> the kind of reranker."""


def make_reranker(settings: Settings, language: str, model: LanguageModel | None) -> Reranker | None:
    """Create the configured reranker; None if reranking is off.

    Args:
        language: language of the corpus, "es" or "en".
        model: the provider's language model; None if the provider has none.

    Raises:
        NeedsLanguageModel: reranking is on, but there is neither another reranker nor a language model.
        UnknownChoice: the reranker that RERANKER_MODEL_NAME names had to be left out.
    """
    kind = settings.reranker_kind
    if not kind:
        return None
    if kind not in RERANKERS:
        raise UnknownChoice(kind="reranker", found=kind, legal=", ".join(RERANKERS))
    return RERANKERS[kind].make(settings, language, model)
