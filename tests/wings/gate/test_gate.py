"""The gate over made scores: failures, repeats, complements, the baseline file, and reports of hostile texts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from chatbot_mvp.errors import FileNotWritten, UnknownChoice
from chatbot_mvp.evaluation.drops.scores import Measured, QuestionScores, answered
from chatbot_mvp.evaluation.drops.verdict import judge
from chatbot_mvp.wings.gate.baseline import Baseline, Source, read_baseline, require_same, save_baseline
from chatbot_mvp.wings.gate.reports import REPORTS
from tests.made_results import made_row
from tests.raising import raises

HOSTILE = "<script>alert(1)</script> | `x` [a](javascript:1) @all\x1b[31m\r\n]]>"


def of(scores: dict[str, float | None], metric: str = "hit@1", noise: float = 0.0, text: str = "?") -> Measured:
    questions = {
        name: QuestionScores("digest", {metric: score}, {metric: noise} if noise else {})
        for name, score in scores.items()
    }
    return Measured(
        kind="kb",
        dataset="kb/questions",
        content_sha256="c0ffee",
        strategy="LEXICAL",
        fingerprint="f",
        code_version="1",
        runs=("run",),
        failed=0,
        questions=questions,
        texts=dict.fromkeys(questions, text),
        text_sha256="",
        settings={},
    )


def many(fell: int, questions: int, **more: object) -> Measured:
    return of({f"q{n}": 0.0 if n < fell else 1.0 for n in range(questions)}, **more)  # type: ignore[arg-type]


def saved(path: Path, measured: Measured) -> Baseline:
    baseline = Baseline(
        format_version=1,
        created_at="2026-11-22",
        source=Source(kb="kb.md"),
        commit="",
        gated=("hit@1",),
        measured=measured.only({"hit@1"}),
    )
    save_baseline(path, baseline)
    return baseline


def test_a_failed_question_counts_as_the_worst_score_and_an_unscored_one_not_at_all() -> None:
    row = made_row(metrics={"hit@1": None, "complement_recall@5": None, "f1": 0.5}, failed=True)
    assert [row.score(name) for name in ("hit@1", "complement_recall@5", "f1", "map")] == [0.0, 1.0, 0.5, None]
    assert made_row(metrics={"hit@1": None}).score("hit@1") is None


def test_a_rise_of_a_metric_where_lower_is_better_is_worse() -> None:
    metric = "complement_recall@5"
    before, today = of({f"q{n}": 0.0 for n in range(40)}, metric), of({f"q{n}": n % 2 * 1.0 for n in range(40)}, metric)
    report = judge("b", before, today, list(before.questions), [metric], 0.02)
    assert (report.verdict, report.exit_code, len(report.metrics[0].worsened)) == ("worse", 3, 20)
    assert "+0.5000 [+0.3" in REPORTS["text"](report)


def test_the_noise_of_repeats_reaches_the_verdict() -> None:
    before = many(0, 40)
    paired = list(before.questions)
    assert judge("b", before, many(0, 40), paired, ["hit@1"], 0.02).verdict == "not_worse"
    noisy = judge("b", before, many(0, 40, noise=0.04), paired, ["hit@1"], 0.02)
    assert (noisy.verdict, noisy.exit_code) == ("unclear", 4)
    assert "100% of the variance is noise between repeats" in REPORTS["text"](noisy)


def test_a_question_that_one_side_did_not_score_is_counted_and_not_tested() -> None:
    before, today = many(0, 30), many(0, 30)
    today.questions["q7"].scores["hit@1"] = None
    [metric] = judge("b", before, today, list(before.questions), ["hit@1"], 0.02).metrics
    assert (metric.test.pairs, metric.lost) == (29, 1)


def test_a_baseline_is_read_as_it_was_saved_with_one_line_per_question(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    one = saved(path, of({"q1": 1.0, '"questions": {}': None, "ñ": 0.25}, noise=0.01))
    assert read_baseline(path) == one
    lines = path.read_text("utf-8").splitlines()
    assert sum('"digest"' in line for line in lines) == 3


def test_a_baseline_that_cannot_be_written_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotWritten, match=r"nowhere"):
        saved(tmp_path / "nowhere" / "x" / "baseline.json", many(0, 3))


def test_other_metrics_and_other_questions_are_refused() -> None:
    before = many(0, 3)
    with pytest.raises(UnknownChoice, match="'mrr'"):
        judge("b", before, many(0, 3), list(before.questions), ["mrr"], 0.02)
    with raises("nothing_to_gate", match="no question in common"):
        require_same("b", before, of({"other": 1.0}), common_only=True)


@pytest.mark.parametrize("form", sorted(REPORTS))
def test_texts_of_others_cannot_leave_their_place_in_a_report(form: str) -> None:
    before = many(0, 30)
    report = judge(HOSTILE, before, many(20, 30, text=HOSTILE), list(before.questions), ["hit@1"], 0.02)
    text = REPORTS[form](report)
    assert "\x1b" not in text
    if form == "json":
        assert json.loads(text)["metrics"][0]["worsened"][0]["question"] == HOSTILE
    elif form == "junit":
        assert [element.tag for element in ElementTree.fromstring(text).iter()].count("script") == 0
    elif form == "markdown":
        for line in text.splitlines():
            outside = "".join(line.split("`")[::2])
            assert "script" not in outside
            assert "javascript" not in outside


def both(quality: dict[str, float | None], answers: dict[str, float]) -> Measured:
    """Scores of faithfulness, and whether each question was answered."""
    measured = of(quality, "faithfulness")
    for name, answer in answers.items():
        measured.questions[name].scores["answered"] = answer
    return measured


def test_replies_that_give_no_answer_any_more_are_worse_though_the_rest_is_as_faithful_as_before() -> None:
    ids = [f"q{n}" for n in range(40)]
    before = both(dict.fromkeys(ids, 0.9), dict.fromkeys(ids, 1.0))
    silent = {name: n < 2 for n, name in enumerate(ids)}
    today = both(
        {name: 0.9 if kept else None for name, kept in silent.items()}, {n: float(k) for n, k in silent.items()}
    )
    report = judge("b", before, today, ids, ["faithfulness"], 0.02)
    assert (report.verdict, report.exit_code) == ("worse", 3)
    assert [metric.metric for metric in report.watched] == ["answered"]
    assert report.metrics[0].test.verdict == "unclear"
    for form in ("text", "markdown"):
        assert "answered (watched)" in REPORTS[form](report)
    assert 'name="answered"' in REPORTS["junit"](report)


def test_a_system_that_accepts_nothing_any_more_is_worse_whatever_metric_was_asked_for() -> None:
    before, today = many(0, 40, metric="useful"), many(0, 40, metric="useful")
    for name in before.questions:
        before.questions[name].scores["accepted"], today.questions[name].scores["accepted"] = 1.0, 0.0
    report = judge("b", before, today, list(before.questions), ["useful"], 0.02)
    assert (report.metrics[0].test.verdict, report.verdict, report.exit_code) == ("not_worse", "worse", 3)


@pytest.mark.parametrize(("scored", "code"), [(1, 4), (284, 4), (285, 0), (300, 0)])
def test_questions_that_lost_their_score_leave_the_gate_unable_to_tell_beyond_5_percent(scored: int, code: int) -> None:
    before = many(0, 300)
    today = of({name: 1.0 if n < scored else None for n, name in enumerate(before.questions)})
    report = judge("b", before, today, list(before.questions), ["hit@1"], 0.02)
    assert report.exit_code == code
    assert report.metrics[0].lost == 300 - scored
    assert ("the rest cannot tell" in REPORTS["text"](report)) == (300 - scored > 15)


@pytest.mark.parametrize(("pairs", "code"), [(1, 4), (9, 4), (10, 0)])
def test_fewer_than_ten_questions_never_show_that_nothing_got_worse(pairs: int, code: int) -> None:
    before = many(0, pairs)
    assert judge("b", before, many(0, pairs), list(before.questions), ["hit@1"], 0.02).exit_code == code


def test_the_report_names_the_settings_that_changed_and_no_secret() -> None:
    before, today = many(0, 30), many(0, 30)
    before = replace(before, settings={"kb_min_evidence": 0.5, "kb_top_k": 5, "groq_api_key": "***"})
    today = replace(today, settings={"kb_min_evidence": 0.99, "kb_top_k": 5, "groq_api_key": "gsk-1"})
    report = judge("b", before, today, list(before.questions), ["hit@1"], 0.02)
    assert report.settings == {"kb_min_evidence": ("0.5", "0.99")}
    assert "KB_MIN_EVIDENCE: 0.5 -> 0.99" in REPORTS["text"](report)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"format_version": 1', '"format_version": 2', "format"),
        ('"format_version": 1', '"format_version": "x"', "format"),
        ('"hit@1": 1.0', '"hit@1": 7.0', "'q0' has hit@1 7; legal are 0 to 1"),
        ('"hit@1": 1.0', '"hit@1": -0.5', "'q0' has hit@1 -0.5; legal are 0 to 1"),
        ('"hit@1": 1.0', '"hit@1": NaN', "finite"),
        ('"hit@1": 0.01', '"hit@1": -0.01', "'q0' has a noise of -0.01 in hit@1; legal is 0 or more"),
        ('"hit@1": 0.01', '"hit@1": Infinity', "finite"),
    ],
)
def test_a_baseline_of_another_format_or_with_a_score_that_no_run_gives_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "baseline.json"
    saved(path, many(0, 12, noise=0.01))
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with raises("baseline_unreadable", match=said):
        read_baseline(path)


@pytest.mark.parametrize(
    ("response", "expected"),
    [("El plazo es de 10 días.", 1.0), ("No lo sé.", 0.0), ("I don't know", 0.0), ("", 0.0), (None, None)],
)
def test_whether_a_question_was_answered_is_read_from_its_reply(response: str | None, expected: float | None) -> None:
    assert answered(made_row(response=response)) == expected
