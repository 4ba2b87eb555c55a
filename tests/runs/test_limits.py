"""No value in a file of a run gets further than its reader: each field refuses what it cannot be, and names itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.line import parse_line
from chatbot_mvp.runs.manifest import parse_manifest
from chatbot_mvp.runs.result import parse_result
from tests import made_results
from tests.runs.test_records import manifest

SPENT = {"calls": 1, "cached": 0, "prompt_tokens": 1, "completion_tokens": 1, "cost_usd": 0.5, "unpriced": 0}
LINE: dict[str, Any] = {
    **made_results.LINE,
    "metrics": {"mrr": 0.5},
    "scored": {"mrr": [1, 2]},
    "intervals": {"mrr": [0.4, 0.6]},
    "seconds": {"retrieve": 1.5},
    "usage": {**SPENT, "phases": {"judge": SPENT}},
    "generator": "g",
    "queries": 2,
}
ESTIMATE = {"value": 0.5, "low": 0.4, "high": 0.6}
ROW = {
    "query_id": "q",
    "question": "?",
    "answer": "a",
    "answer_type": "label",
    "question_type": "x",
    "level": "l",
    "metrics": {"mrr": 0.5},
    "retrieved": ["d"],
    "gold": ["d"],
    "generation_doc_ids": ["d"],
    "reranked": True,
    "failed": False,
    "error": "e",
    "response": "r",
    "abstained": False,
    "judge_reasons": {"mrr": "w"},
    "judge_failed": False,
    "evidence": 0.5,
    "cause": "none",
    "status": {"mrr": "ok"},
    "details": {"mrr": {"raw": "x", "n": 1}},
    "failed_metrics": ["mrr"],
    "spread": {"mrr": {"deviation": 0.1, "low": 0.1, "high": 0.2}},
}
RESULT: dict[str, Any] = {
    **made_results.RESULT,
    **LINE,
    "config": {"kb_top_k": 5},
    "passage_questions": {"kept": 1},
    "readings": {"mrr": [0.5, 0.4]},
    "causes": {"lost": 1},
    "splits": {"level": {"easy": {"mrr": {"mean": 0.5, "scored": 1, "total": 2, "interval": [0.1, 0.9]}}}},
    "reranker_rescue_count": 1,
    "failures": {"judge": 1},
    "rerank_failures": 1,
    "abstentions": 1,
    "not_scored": {"mrr": {"why": 1}},
    "spread": {"mrr": {"deviation": 0.1, "rows": 2}},
    "auroc": {"near": 0.5},
    "question_seconds": {"p50": 0.1},
    "peak_rss_mb": 10.5,
    "per_query": [ROW],
    "agreement": {
        "mrr": {
            "rows": 2,
            "scored": 2,
            "threshold": 1.0,
            "accuracy": ESTIMATE,
            "kappa": ESTIMATE,
            "precision": ESTIMATE,
            "recall": ESTIMATE,
            "found": {"invented": [1, 2]},
        }
    },
}
MANIFEST: dict[str, Any] = {**asdict(manifest()), "evaluation": {"kb": "x"}}
WRONG = {
    "text": '"x"',
    "list": "[[1]]",
    "object": '{"a": {"b": 1}}',
    "infinity": "Infinity",
    "not a number": "NaN",
    "too large to be finite": "1e400",
    "huge": "1" + "0" * 30,
    "more digits than Python prints": "9" * 5_000,
    "negative": "-1",
    "boolean": "true",
    "long text": '"' + "x" * 1_100_000 + '"',
    "deep": "[" * 500 + "]" * 500,
}
FREE = ("settings_masked", "evaluation", "config", "details")
"""Fields whose values may be any JSON that a table can hold."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def with_value(whole: dict[str, Any], place: tuple[Any, ...], written: str) -> bytes:
    changed: Any = copy.deepcopy(whole)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "@@"
    return json.dumps(changed).replace('"@@"', written).encode()


def is_legal(usual: Any, place: tuple[Any, ...], kind: str) -> bool:
    """Return whether a value of this kind may stand here."""
    inside = [len(place) - place.index(name) for name in FREE if name in place]
    if inside and inside[0] > (2 if "details" in place else 1):
        return kind in ("text", "list", "object", "negative", "boolean", "long text")
    amount = set(place) & {"seconds", "question_seconds", "cost_usd", "peak_rss_mb"}
    return {
        "text": isinstance(usual, str),
        "negative": isinstance(usual, float) and not amount,
        "boolean": isinstance(usual, bool),
        "object": isinstance(usual, dict) and (bool(inside) or place == ("not_scored",)),
    }.get(kind, False)


def value_at(whole: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        whole = whole[key]
    return whole


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize(
    ("whole", "parse"),
    [
        pytest.param(LINE, parse_line, id="line"),
        pytest.param(RESULT, lambda content: parse_result(content, "r1"), id="result"),
        pytest.param(MANIFEST, parse_manifest, id="manifest"),
    ],
)
def test_a_field_refuses_what_it_cannot_be_and_is_named(whole: dict[str, Any], parse: Any, kind: str) -> None:
    parse(json.dumps(whole).encode())  # as it is, it is read
    wrong = []
    for place in places(whole):
        legal = is_legal(value_at(whole, place), place, kind)
        try:
            parse(with_value(whole, place, WRONG[kind]))
        except (ValueError, RunUnreadable) as error:
            named = str(place[0]) in str(error) or "JSON" in str(error) or "number" in str(error)
            if legal or not named:
                wrong.append((place, str(error)[:200]))
        else:
            if not legal:
                wrong.append((place, "was accepted"))
    assert wrong == []
