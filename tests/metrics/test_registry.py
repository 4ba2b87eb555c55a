"""The registry: every metric once, in its range, its direction told."""

from __future__ import annotations

import pytest

from chatbot_mvp.evaluation.benchmark.generation import PROMPTS
from chatbot_mvp.metrics.registry import COMPARED, JUDGE_METRICS, METRICS
from chatbot_mvp.metrics.spec import shown_in
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import LANGUAGES


def test_a_name_with_a_cutoff_says_it() -> None:
    assert {spec.k for spec in METRICS.values()} >= {None, 1, 2, 3, 5, 10, 20}
    assert all(spec.name == (spec.family if spec.k is None else f"{spec.family}@{spec.k}") for spec in METRICS.values())


def test_only_complements_and_wrong_ticks_are_better_when_lower() -> None:
    lower = {spec.family for spec in METRICS.values() if not spec.higher_is_better}
    assert lower == {"complement_recall", "false_tick"}
    assert {spec.worst for spec in METRICS.values() if spec.family in lower} == {1.0}


def test_what_runs_are_compared_by_has_a_value_per_query() -> None:
    assert all(METRICS[name].takes != "run" for name in shown_in("compared", METRICS))


def test_the_metrics_that_runs_are_compared_by_stand_in_a_fixed_order() -> None:
    """Others may stand between them, each where its row says."""
    ragas = [name for name, spec in METRICS.items() if spec.takes == "row"]
    order = [
        *("hit@1", "recall@5", "recall@10", "all_gold@5", "ndcg@10", "mrr", "map"),
        *("generation_recall", "accepted", "refused", "useful", "generation_score", "f1", "exact_match", "accuracy"),
        *("faithfulness", "semantic_similarity"),
    ]
    assert [name for name in COMPARED if name in order] == order
    assert list(COMPARED[: len(ragas)]) == ragas


def test_a_metric_has_a_function_unless_a_judge_scores_it() -> None:
    assert {name for name, spec in METRICS.items() if spec.function is None and spec.takes != "row"} == set(
        JUDGE_METRICS
    )
    with pytest.raises(TypeError, match="'faithfulness' is scored by a judge"):
        METRICS["faithfulness"].score("answer")


def test_the_settings_accept_every_judged_metric_and_score_the_usual_ones_by_default() -> None:
    assert Settings(judge_metrics=",".join(JUDGE_METRICS)).judge_metric_names == list(JUDGE_METRICS)
    assert Settings.model_fields["judge_metrics"].default == "faithfulness,context_utilization"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_judged_metric_has_instructions_for_the_judge(language: str) -> None:
    assert [name for name in JUDGE_METRICS if f"judge_{name}" not in PROMPTS.texts(language)] == []
