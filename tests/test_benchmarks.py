"""The scripts behind the figures still give the figures. They need the real data sets beside the project."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.bridge.features import LINK_FEATURES, OWN_FEATURES
from chatbot_mvp.retrieval.bridge.weights import PATH
from chatbot_mvp.retrieval.stages.evidence import WEIGHTS_PATH
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, fake_app

ROOT = Path(__file__).resolve().parents[1]
HOTPOTQA = ROOT.parent / "shared" / "datasets" / "hotpotqa"
SQUAD = Path(__file__).parents[2] / "shared" / "datasets" / "squad_es"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


needs_hotpotqa = pytest.mark.skipif(not HOTPOTQA.is_dir(), reason="needs ../shared/datasets")
FIGURES = json.loads(PATH.read_text("utf-8"))["BRIDGE"]["figures"]
NAMES = [*OWN_FEATURES, *LINK_FEATURES]


def test_a_section_that_another_one_names_is_found_for_a_question_about_both(settings: Settings) -> None:
    """Of the questions over two sections of the sample the second one's paragraph is first for more than half."""
    kb = next((ROOT / "data" / "samples" / "kb").glob("*.md"))
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    record = app.kbs.add(kb.name, kb.read_bytes())
    figures = app.kb_evaluation.evaluate_file(record.kb_id, ROOT / "benchmarks" / "kb_links_es.jsonl")
    assert figures["scored"] == 12
    assert figures["hit@1"] >= 8 / 12
    assert figures["hit@3"] >= 11 / 12


@pytest.mark.slow
@needs_hotpotqa
def test_a_refit_gives_the_weights_of_the_file(tmp_path: Path) -> None:
    """The file is what the script writes, not what somebody tuned by hand."""
    fit_bridge = script("fit_bridge")
    data = fit_bridge.prepare(HOTPOTQA, tmp_path / "cache", vectors=False)
    model = fit_bridge.fit(data, range(len(data.states)), NAMES)
    written = json.loads(PATH.read_text("utf-8"))["BRIDGE"]
    for part in ("linear", "step"):
        assert model[part] == pytest.approx(written[part], rel=0.02, abs=0.02)
    assert fit_bridge.hand_only(data) == FIGURES["hand-set score alone"]


@needs_hotpotqa
@pytest.mark.slow
def test_weights_fitted_on_half_of_the_questions_do_for_the_other_half(tmp_path: Path) -> None:
    """They lose at most 0.01 of recall@5, over five ways to halve."""
    fit_bridge = script("fit_bridge")
    data = fit_bridge.prepare(HOTPOTQA, tmp_path / "cache", vectors=False)
    halves = fit_bridge.cross_fitted(data, NAMES, folds=2, seeds=5)
    assert halves["recall@5"] >= FIGURES["cross-fitted, 5 folds, 3 seeds"]["recall@5"] - 0.01


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not SQUAD.is_dir(), reason="needs ../shared/datasets")
@pytest.mark.parametrize("name", ["lexical", "late"])
def test_a_refit_gives_the_weights_of_the_evidence(tmp_path: Path, name: str) -> None:
    """The file is what the script writes, not what somebody tuned by hand."""
    fit_evidence = script("fit_evidence")
    found = fit_evidence.model(name, fit_evidence.collect(name, SQUAD, tmp_path), ())
    written = json.loads(WEIGHTS_PATH.read_text("utf-8"))[name]
    for score in ("evidence", "topic"):
        assert found[score]["features"].keys() == written[score]["features"].keys()
        for feature, numbers in found[score]["features"].items():
            assert numbers == pytest.approx(written[score]["features"][feature], rel=0.02, abs=0.02), feature
        assert found[score]["intercept"] == pytest.approx(written[score]["intercept"], abs=0.05)


@pytest.mark.parametrize("kind", ["recall@5, 298 questions", "F1, zero-inflated", "recall@5, 40 questions"])
def test_runs_without_a_true_difference_are_called_different_in_one_pair_of_twenty(kind: str) -> None:
    """A sample of what ``benchmarks/significance.py`` measures: 3-7 % of 1,000 pairs."""
    significance = script("significance")
    rates = significance.rates(significance.NULL[kind], 1_000, resamples=500)
    assert 0.03 <= rates["p < 0.05"] <= 0.07
    assert 0.03 <= rates["interval without 0"] <= 0.08


def test_a_true_difference_is_found() -> None:
    assert script("significance").power(0.1, 200)["p < 0.05"] > 0.8


@pytest.mark.slow
def test_an_evaluation_keeps_up_with_the_limit_of_concurrent_requests() -> None:
    """Sixty rows; generous, since other tests may share the machine."""
    figures = script("ragas_scale").measure(rows=60, latency=0.05, calls=4)
    assert figures.scored == 360
    assert figures.ratio <= 2.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_rows_by_six_metrics_take_little_more_than_the_limit_allows() -> None:
    figures = script("ragas_scale").measure(rows=1_000, latency=0.05, calls=8)
    assert figures.scored == 6_000
    assert figures.ratio <= 1.3


def test_the_table_of_books_has_every_phase_and_the_time_of_a_question(tmp_path: Path) -> None:
    (tmp_path / "texto.md").write_text("# Turnos\n\nCada turno empieza con el parte de seguridad firmado.\n\n" * 20)
    for text in ([], ["--text", str(tmp_path)]):
        command = [sys.executable, str(ROOT / "benchmarks" / "books.py"), "--one", "--chars", "20000", "--files", "4"]
        command += ["--questions", "5", "--strategy", "BRIDGE_HYBRID", *text]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
        assert 19_000 < found["chars"] < 21_000
        assert found["passages"] > 10
        assert {"read", "chunk", "matcher", "links", "lexical"} <= found.keys()
        assert found["vectors"] > 0
        assert 0 < found["p50 ms"] <= found["p95 ms"]


def test_better_retrieval_gives_better_answers_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On each half of the sample's questions of two hops, more than half of the answers contain the reference."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    answers, sample = script("demo_answers"), ROOT / "data" / "samples" / "valle_multihop"
    found = {name: answers.summary(list(answers.dataset_rows(sample, name))) for name in ("LEXICAL", "BRIDGE")}
    for half in ("even", "odd", "all"):
        assert found["BRIDGE"][half]["answer_contains"] >= 0.6
        assert found["BRIDGE"][half]["answer_contains"] > found["LEXICAL"][half]["answer_contains"]
        assert found["BRIDGE"][half]["chars"] < 192  # a third more than plain sentences with words of the question


def test_answers_without_a_model_rest_on_the_expected_paragraph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    answers = script("demo_answers")
    [files] = answers.kb_files(ROOT / "data" / "samples" / "kb")
    found = answers.summary(list(answers.kb_rows(*files, "BRIDGE")))
    assert found["all"]["in_paragraph"] >= 0.6
