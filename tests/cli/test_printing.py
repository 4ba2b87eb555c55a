"""What a terminal shows of estimates and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbot_mvp.cli.printing import estimate_lines, print_plan, result_lines
from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.datasets.counts import Counts
from chatbot_mvp.evaluation.benchmark.estimate import Amount, Estimate, PhaseEstimate, PilotReport, total_of
from chatbot_mvp.evaluation.benchmark.plan import plan_run
from chatbot_mvp.settings.model import Settings
from tests.made_results import made_result

RESULT: dict[str, Any] = {
    "run_id": "r1",
    "dataset": "d",
    "strategy": "LEXICAL",
    "queries": 4,
    "generator": "openai/m",
    "judge": "",
    "metrics": {"recall@5": 0.5, "generation_hit": 1.0, "f1": 0.25, "faithfulness": None},
    "scored": {"recall@5": [4, 4], "generation_hit": [4, 4], "f1": [3, 4], "faithfulness": [0, 4]},
    "readings": {"recall@5": [0.5, 0.5], "generation_hit": [1.0, 1.0], "f1": [0.25, 0.1875]},
    "intervals": {"f1": [0.1, 0.4]},
    "failures": {"generate": 1},
    "abstentions": 2,
    "seconds": {"load": 0.1, "generate": 12.34},
    "usage": {
        "calls": 9, "cached": 3, "prompt_tokens": 1000, "completion_tokens": 20, "cost_usd": 0.5, "unpriced": 0,
        "phases": {
            "judge": {
                "calls": 5, "cached": 0, "prompt_tokens": 1, "completion_tokens": 2,
                "cost_usd": 0.0, "unpriced": 5,
            }
        },
    },
}  # fmt: skip


def test_a_run_with_answers_is_shown_by_sections_with_both_readings_usage_and_the_way_to_retry() -> None:
    lines = result_lines(made_result(**RESULT))
    assert [line for line in lines[1:] if not line.startswith(" ")] == [
        "retrieval",
        "context",
        "answers",
        "judge",
        "run",
    ]
    told = "\n".join(lines)
    assert "f1                   0.2500  [0.1000, 0.4000]  (3/4)  0.1875 with failures" in told
    assert "recall@5             0.5000  (4/4)\n" in told
    assert "faithfulness         not scored  (0/4)" in told
    assert "calls, all           9, 3 from the cache; 1,000 + 20 tokens; 0.5000 USD" in told
    assert "cost not known for 5 calls" in told
    assert "generate 1; again: chatbot-mvp benchmark retry r1" in told
    assert "abstentions          2" in told
    assert "load 0.1, generate 12.3" in told


def test_a_run_of_retrieval_has_no_sections() -> None:
    lines = result_lines(
        made_result(**{**RESULT, "generator": "", "metrics": {"recall@5": 0.5}, "failures": {}, "abstentions": 0})
    )
    assert lines[1:] == ["  recall@5             0.5000  (4/4)"]


def test_questions_that_a_model_wrote_for_passages_are_counted() -> None:
    counts = {"passages": 400, "without": 3, "written": 1_190, "kept": 1_067}
    lines = result_lines(made_result(**{**RESULT, "generator": "", "passage_questions": counts}))
    assert "  passage questions    1,067 of 1,190 kept; 3 passages without" in lines


def phase(name: str, cost: Amount | None, seconds: Amount | None) -> PhaseEstimate:
    price = {"input": 1.0, "output": 2.0, "date": "2030-01-01", "source": ""} if cost else None
    basis: Any = "pilot" if seconds else ""
    return PhaseEstimate(name, "p/m", Amount(8), 2, Amount(1000, 900, 1100), Amount(10), seconds, basis, cost, price)


def test_an_estimate_is_a_table_with_what_it_rests_on() -> None:
    phases = (phase("generate", Amount(0.5), Amount(3)), phase("judge", None, Amount(4)))
    report = PilotReport(2, 1, 6, 1, 999, None, 1.5, True, "")
    told = "\n".join(estimate_lines(Estimate("pilot", 8, phases, total_of(phases), Amount(1), None, report)))
    assert "by a pilot of 2 of 8 queries: 6 calls, 999 tokens, 1.5 s, at a cost that is not known" in told
    assert "1,000 (900-1,100)" in told
    [judge] = [line for line in told.splitlines() if line.startswith("  judge")]
    assert "no price known" in judge
    [total] = [line for line in told.splitlines() if line.startswith("  all")]
    assert "no price known" in total
    assert "4 of the calls are answered from the cache" in told
    assert "1 queries of the pilot failed" in told
    assert "price of p/m: 1 in, 2 out per million tokens, as of 2030-01-01" in told
    assert estimate_lines(None) == []


def test_what_a_plan_does_not_know_before_the_download_is_said_once(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A BEIR folder on S3: its rows cannot be counted without a download."""
    found = Found("nfcorpus", "remote", "s3://lake/nfcorpus/", None, Counts(), download_bytes=2_500_000)
    lexical = settings.with_changes(retrieval_strategy="LEXICAL", generation_enabled=False)
    for counts, queries in ((Counts(), "not known before the download"), (Counts(323, 3633), "at most 323 of 323")):
        plan = plan_run(replace(found, counts=counts), lexical, len, lambda: pytest.fail("nothing is loaded"))
        print_plan(plan, [], False, "it is the default")
        lines = capsys.readouterr().out.splitlines()
        assert f"queries     {queries}" in lines
        assert "split       not known before the download" in lines
        assert not any(line.count("not known") > 1 for line in lines)
