"""A judge that breaks the JSON of 30 % of its replies still scores 99 % of the rows, over real HTTP."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.wings.ragas.judging import JUDGED, JudgeOptions, Prompts, Row, Scored, load_prompts, score_row
from tests.fakes import FakeEmbedder
from tests.wings.ragas.judging.judge_stub import JudgeStub

SAMPLE = PROJECT_ROOT / "data" / "samples" / "ragas_es.jsonl"
BROKEN = 0.3
ONCE = JudgeOptions(attempts=1, rating_attempts=1, strictness=1)


def rows(path: Path = SAMPLE) -> list[Row]:
    return [Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def judge_at(server: JudgeStub, settings: Settings) -> ChatModel:
    changes = {"openai_base_url": server.url, "openai_api_key": "sk-x", "openai_model_name": "judge"}
    return create_chat_model(
        settings.with_changes(provider="openai", llm_cache_enabled=False, nim_max_concurrent_requests=8, **changes)
    )


def score_all(judge: ChatModel, prompts: Prompts, options: JudgeOptions, given: list[Row]) -> list[Scored]:
    embedder = FakeEmbedder()
    with ThreadPoolExecutor(8) as pool:
        tasks = [
            pool.submit(score_row, metric, row, judge, embedder, prompts, options) for row in given for metric in JUDGED
        ]
        return [task.result() for task in tasks]


def share(results: list[Scored]) -> float:
    return sum(result.status == "ok" for result in results) / len(results)


@pytest.mark.slow
def test_a_judge_that_breaks_its_json_scores_nearly_every_row(settings: Settings, spanish: Prompts) -> None:
    with JudgeStub(spanish, BROKEN) as server:
        results = score_all(judge_at(server, settings), spanish, JudgeOptions(), rows())
    assert len(results) == 300
    assert share(results) >= 0.99
    for result in results:
        assert (result.value is None) == (result.status == "not_scored")
        assert result.value is None or math.isfinite(result.value)
        assert result.value is not None or (result.reason and result.problem and result.raw)


def test_asked_only_once_the_same_judge_scores_fewer(settings: Settings, spanish: Prompts) -> None:
    """So that the test above can fail."""
    given = rows()[:20]
    with JudgeStub(spanish, BROKEN) as server:
        once = score_all(judge_at(server, settings), spanish, ONCE, given)
    assert share(once) < 0.95


@pytest.mark.slow
def test_without_mending_still_fewer(settings: Settings, spanish: Prompts, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatbot_mvp.judges import asking
    from chatbot_mvp.judges.reading import Reading, T, Unreadable

    def strictly(text: str, reply: type[T]) -> tuple[T, Reading]:
        try:
            return reply.model_validate_json(text), "whole"
        except ValueError as error:
            raise Unreadable("it is not JSON") from error

    given = rows()[:12]
    with JudgeStub(spanish, BROKEN) as server:
        once = score_all(judge_at(server, settings), spanish, ONCE, given)
        monkeypatch.setattr(asking, "read_reply", strictly)
        strict = score_all(judge_at(server, settings), spanish, ONCE, given)
    assert share(strict) < share(once) - 0.05


def test_a_judge_that_breaks_nothing_scores_every_row(settings: Settings) -> None:
    english = load_prompts("en")
    with JudgeStub(english, 0.0) as server:
        results = score_all(judge_at(server, settings), english, ONCE, rows()[:10])
    assert share(results) == 1.0
