"""A judge against people, by figures worked out by hand; and the labelled set itself."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from chatbot_mvp.runs.rows import RowSpread
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.text import detect_language
from chatbot_mvp.wings.ragas.judging import Row, load_prompts, score_row
from chatbot_mvp.wings.ragas.judging.agreement import Agreement, Estimate, Label, judge_agreement, label_of, spread
from chatbot_mvp.wings.ragas.rows import read_rows

SAMPLES = PROJECT_ROOT / "data" / "samples"


def agreement_of(true_yes: int, false_no: int, false_yes: int, true_no: int, unscored: int = 0) -> Agreement:
    """``true_yes``: both say faithful; ``false_no``: only people do; ``false_yes``: only the judge does."""
    people = [True] * (true_yes + false_no) + [False] * (false_yes + true_no) + [True] * unscored
    scores = [1.0] * true_yes + [0.5] * false_no + [1.0] * false_yes + [0.0] * true_no
    labelled = [Label(faithful, "" if faithful else "figure") for faithful in people]
    return judge_agreement(labelled, [*scores, *[None] * unscored])


def test_the_figures_of_a_table_worked_out_by_hand() -> None:
    """po = 35/50 = 0.7, pe = 0.5 × 0.6 + 0.5 × 0.4 = 0.5, so κ = 0.4 (the example of Cohen's κ in many a textbook)."""
    found = agreement_of(20, 5, 10, 15)
    assert (found.rows, found.scored, found.not_scored) == (50, 50, 0)
    assert found.accuracy.value == 0.7
    assert found.kappa.value == pytest.approx(0.4)
    assert found.precision.value == pytest.approx(20 / 30, abs=1e-6)
    assert found.recall.value == 0.8
    assert found.found == {"figure": (15, 25)}


def test_the_interval_of_a_share_is_the_binomial_one() -> None:
    found = agreement_of(20, 5, 10, 15).accuracy
    # 35 of 50: 0.7 ± 1.96 √(0.7 · 0.3 / 50)
    assert found.low == pytest.approx(0.573, abs=0.02)
    assert found.high == pytest.approx(0.827, abs=0.02)
    kappa = agreement_of(200, 50, 100, 150).kappa
    assert kappa.low is not None
    assert kappa.high is not None
    assert kappa.high - kappa.low < 0.2, "ten times the rows, a third of the width"


def test_rows_without_a_score_are_told_and_left_out() -> None:
    assert agreement_of(20, 5, 10, 15, unscored=7) == Agreement(
        57, 50, 1.0, *_four(agreement_of(20, 5, 10, 15)), {"figure": (15, 25)}
    )


def _four(found: Agreement) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    return found.accuracy, found.kappa, found.precision, found.recall


def test_what_the_rows_do_not_determine_is_none() -> None:
    nobody = agreement_of(0, 0, 0, 0, unscored=3)
    assert _four(nobody) == (Estimate(None, None, None),) * 4
    one_sided = agreement_of(10, 0, 0, 0)
    assert one_sided.accuracy == Estimate(1.0, 1.0, 1.0)
    assert one_sided.kappa == Estimate(None, None, None)
    assert agreement_of(0, 5, 0, 5).precision == Estimate(None, None, None)


def test_a_judge_that_is_right_or_wrong_throughout() -> None:
    assert agreement_of(9, 0, 0, 9).kappa.value == 1.0
    assert agreement_of(0, 9, 9, 0).kappa.value == -1.0


def test_the_threshold_is_where_faithful_begins() -> None:
    labelled = [Label(True, ""), Label(False, "figure")]
    assert judge_agreement(labelled, [0.8, 0.5]).accuracy.value == 0.5
    assert judge_agreement(labelled, [0.8, 0.5], threshold=0.75).accuracy.value == 1.0


def test_the_spread_over_repetitions() -> None:
    found = spread([0.5, None, 1.0, 0.75])
    assert (found.low, found.high) == (0.5, 1.0)
    assert found.deviation == pytest.approx(0.25)
    assert spread([1.0]) == RowSpread(None, 1.0, 1.0)
    assert spread([None]) == RowSpread(None, None, None)


def labelled_sample() -> tuple[list[Row], list[Label]]:
    rows = read_rows(SAMPLES / "judge_es.jsonl")
    labels = [label for row in rows if (label := label_of(row.given)) is not None]
    assert len(labels) == len(rows), "every row has a label"
    return [row.row for row in rows], labels


def test_the_labelled_set_is_fit_to_judge_a_judge_by() -> None:
    rows, labelled = labelled_sample()
    assert len(labelled) >= 60
    assert 0.4 <= sum(one.faithful for one in labelled) / len(labelled) <= 0.6
    kinds = Counter(one.error for one in labelled if not one.faithful)
    assert set(kinds) == {
        *("invented_figure", "changed_name", "contradiction", "added_claim", "half_right", "from_elsewhere")
    }
    assert min(kinds.values()) >= 5
    assert all(bool(one.error) != one.faithful for one in labelled)
    responses = [row.response or "" for row in rows]
    assert sum(len(response.split()) <= 3 for response in responses) >= 10, "short answers too"
    assert detect_language(" ".join(responses)) == "es"
    assert len({(row.user_input, row.response) for row in rows}) == len(rows)


def test_the_sample_for_the_six_metrics_has_all_they_need() -> None:
    rows = [json.loads(line) for line in (SAMPLES / "ragas_es.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 50
    assert len({row["user_input"] for row in rows}) == 50
    for row in rows:
        assert set(row) == {"user_input", "response", "retrieved_contexts", "reference"}
        assert all(row.values())
        assert all(isinstance(text, str) for text in row["retrieved_contexts"])


def test_words_alone_agree_with_people_more_than_chance_does() -> None:
    """The floor that a judge has to be above."""
    rows, labelled = labelled_sample()
    prompts = load_prompts("es")
    found = judge_agreement(
        labelled, [score_row("lexical_faithfulness", row, None, None, prompts).value for row in rows]
    )
    assert found.kappa.low is not None
    assert found.kappa.low > 0
