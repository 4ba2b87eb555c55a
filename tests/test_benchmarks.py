"""The scripts behind the figures are listed, explain themselves, and still give the figures of the real data sets."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.__main__ import scripts
from benchmarks.script import command, data_folder
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.bridge.features import LINK_FEATURES, OWN_FEATURES
from chatbot_mvp.retrieval.bridge.walk import PATH
from chatbot_mvp.retrieval.stages.evidence import WEIGHTS_PATH
from chatbot_mvp.settings.model import Settings
from tests.cases import draws
from tests.fakes import FakeEmbedder, fake_app

ROOT = Path(__file__).resolve().parents[1]
HOTPOTQA = ROOT.parent / "shared" / "datasets" / "hotpotqa"
SQUAD = Path(__file__).parents[2] / "shared" / "datasets" / "squad_es"


HELP = """
import contextlib, io, json
from benchmarks.__main__ import main, scripts
told = {}
for name in scripts():
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main([name, "--help"])
    told[name] = said.getvalue()
print(json.dumps(told))
"""


def script(name: str) -> ModuleType:
    """Import a script of ``benchmarks/``."""
    return importlib.import_module(f"benchmarks.{name}")


needs_hotpotqa = pytest.mark.skipif(not HOTPOTQA.is_dir(), reason="needs ../shared/datasets")
FIGURES = json.loads(PATH.read_text("utf-8"))["BRIDGE"]["figures"]["hotpotqa"]
NAMES = [*OWN_FEATURES, *LINK_FEATURES]


def front_door(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_every_script_is_listed_with_a_line_and_an_unknown_one_is_refused_by_name() -> None:
    listed = front_door().stdout
    for name, line in scripts().items():
        assert line.endswith((".", ":")) and f"\n{name} " in listed and line in listed
    refused = front_door("nonsense")
    assert refused.returncode == 2
    assert "'nonsense'" in refused.stderr and "retrieval" in refused.stderr


@pytest.mark.slow
def test_a_script_starts_from_any_folder_and_keeps_or_removes_its_data(tmp_path: Path) -> None:
    listed = subprocess.run(command("fuzz", "--list"), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "docx" in listed.stdout.split()
    with data_folder(tmp_path / "kept") as kept, data_folder(None) as other:
        assert kept.is_dir() and other.is_dir()
    assert kept.is_dir() and not other.exists()


@pytest.mark.slow
def test_every_script_explains_itself_and_its_options() -> None:
    """All in one process: most of the time of one is that of its imports, which others need, too."""
    said = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=True)
    told: dict[str, str] = json.loads(said.stdout)
    assert told.keys() == scripts().keys()
    for name, text in told.items():
        if "needs a package that is not installed" not in text:
            assert f"usage: python -m benchmarks {name}" in text
        assert scripts()[name] in " ".join(text.split())


def test_a_section_that_another_one_names_is_found_for_a_question_about_both(settings: Settings) -> None:
    """Of the questions over two sections of the sample the second one's paragraph is first for more than half."""
    kb = next((ROOT / "data" / "samples" / "kb").glob("*.md"))
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    record = app.kbs.add(kb.name, kb.read_bytes())
    figures = app.kb_evaluation.evaluate(record.kb_id, ROOT / "benchmarks" / "kb_links_es.jsonl")
    assert figures["scored"] == 12
    assert figures["hit@1"] >= 8 / 12
    assert figures["hit@3"] >= 11 / 12


def test_weights_of_two_fits_are_mixed_by_the_share_of_the_second_one() -> None:
    pytest.importorskip("scipy")
    models = [{"linear": {"hand": one}, "step": {"new": 2 * one}, "first": {"linear": {}}} for one in (1.0, 5.0)]
    mixed = script("fit_bridge").blended(models, 0.75)
    assert mixed == {"linear": {"hand": 4.0}, "step": {"new": 8.0}, "first": {"linear": {}}}


@pytest.mark.slow
@needs_hotpotqa
def test_a_refit_gives_the_weights_of_the_file(tmp_path: Path) -> None:
    """The file is what the script writes, not what somebody tuned by hand."""
    fit_bridge = script("fit_bridge")
    data = fit_bridge.prepare(HOTPOTQA, tmp_path / "cache", vectors=False)
    model = fit_bridge.fit([data], [range(len(data.states))], NAMES)
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
    [[halves]] = fit_bridge.cross_fitted([data], NAMES, folds=2, seeds=5)
    assert halves["recall@5"] >= FIGURES["cross-fitted, 5 folds, 3 seeds"]["recall@5"] - 0.01


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not SQUAD.is_dir(), reason="needs ../shared/datasets")
@pytest.mark.parametrize("name", ["lexical", *["late"] * draws(1, 0)])
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


@pytest.mark.slow
def test_the_table_of_books_has_every_phase_and_the_time_of_a_question(tmp_path: Path) -> None:
    (tmp_path / "texto.md").write_text("# Turnos\n\nCada turno empieza con el parte de seguridad firmado.\n\n" * 20)
    for text in ([], ["--text", str(tmp_path)]):
        measured = front_door(
            *("books", "--one", "--chars", "20000", "--files", "4", "--questions", "5", "--strategy", "BRIDGE_HYBRID"),
            *text,
        )
        found = json.loads(measured.stdout)
        assert 19_000 < found["chars"] < 21_000
        assert found["passages"] > 10
        assert {"read", "chunk", "matcher", "links", "lexical"} <= found.keys()
        assert found["vectors"] > 0
        assert 0 < found["p50 ms"] <= found["p95 ms"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_fuzz_target_is_alone_in_its_folder(tmp_path: Path) -> None:
    """The fuzzer's corpus lay beside it, so a target that allows nothing there failed whatever its input was."""
    pytest.importorskip("atheris", reason="needs pip install atheris")
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "fuzz",
        "shared-root",
        "--executions",
        "5",
        "--findings",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, report["executions"], report["findings"]) == (0, 5, [])
