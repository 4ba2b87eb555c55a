"""An evaluation with its author's assets: the package's prompts, a project's config.yaml, columns with Ragas' names."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ragas.config import config_from, load_config
from chatbot_mvp.wings.ragas.rows import rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from tests.conftest import Command
from tests.raising import raises
from tests.wings.ragas.conftest import app_of
from tests.wings.ragas.judging.package_judge import TRANSLATED, PackageJudge
from tests.wings.ragas.judging.test_ragas_prompt_files import WRITTEN_BY_RAGAS

ROWS: list[dict[str, Any]] = [
    {
        "user_inputs": f"¿Cuándo abre el museo {number}?",
        "responses": "Abre los martes.",
        "retrieved_contexts": ["El museo abre los martes."],
        "references": "Los martes.",
        "note": number,
    }
    for number in range(2)
]
COLUMNS = [
    "llm_context_precision_without_reference",
    "llm_context_precision_with_reference",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    "nv_context_relevance",
]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageJudge]:
    with PackageJudge() as server:
        monkeypatch.setenv("PROVIDER", "openai")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL_NAME", "judge")
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder as the evaluation's author has it: data set, prompts, texts of ContextRelevance."""
    folder = tmp_path / "project"
    shutil.copytree(WRITTEN_BY_RAGAS, folder / "prompts")
    for number in (1, 2):
        (folder / "prompts" / f"template_relevance{number}.txt").write_text("{query} {context} =", "utf-8")
    (folder / "dataset.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return folder


def config_file(project: Path, **changes: Any) -> str:
    values = {
        "root": str(project),
        "root-dataset": str(project),
        "path-dataset": "dataset.jsonl",
        "root-output": str(project / "results"),
        "ragas": {"prompts": "prompts/", "language": "spanish", "metrics": ["FAITHFULNESS", "CONTEXT_RELEVANCE"]},
        **changes,
    }
    path = project / "config.yaml"
    path.write_text(yaml.safe_dump(values), "utf-8")
    return str(path)


def test_a_project_is_scored_with_its_prompts_into_its_results(
    command: Command, judge: PackageJudge, project: Path
) -> None:
    code, out, _ = command("ragas", "run", "--config", config_file(project), "--json")
    assert code == 0
    assert json.loads(out)["metrics"] == {
        "ragas_faithfulness": 0.5,
        "ragas_nv_context_relevance": 0.5,
    }
    assert not judge.translations
    assert {system.split(".")[0] for system, _ in judge.asked} == {
        "Separa la respuesta en afirmaciones",
        "Juzga si cada afirmación se deduce del contexto: 1 o 0",
    }
    assert judge.texts[0].endswith("El museo abre los martes. =")
    lines = (project / "results" / "eval_dataset.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {**row, "faithfulness": 0.5, "nv_context_relevance": 0.5} for row in ROWS
    ]


def test_the_columns_are_those_of_the_package(
    command: Command, judge: PackageJudge, project: Path, tmp_path: Path
) -> None:
    config = config_file(project, ragas={"prompts": "prompts", "language": "spanish"})
    output = tmp_path / "scored.csv"
    code, _, err = command("ragas", "run", "--config", config, "--output", str(output))
    assert code == 0, err
    with output.open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file).fieldnames or ()) == [*ROWS[0], *COLUMNS]
    [scores] = (tmp_path / "data" / "results").glob("*/*_scores.jsonl")
    row = json.loads(scores.read_text("utf-8").splitlines()[0])
    assert list(row) == [*ROWS[0], *(name for column in COLUMNS for name in (column, f"{column}_status"))]
    assert {row[f"{column}_status"] for column in COLUMNS} == {"ok"}


def test_a_column_of_the_input_is_never_replaced(command: Command, judge: PackageJudge, tmp_path: Path) -> None:
    data = tmp_path / "scored_before.jsonl"
    data.write_text(json.dumps({**ROWS[0], "context_recall": 0.25}) + "\n", "utf-8")
    output = tmp_path / "again.jsonl"
    prompts = tmp_path / "config.yaml"
    prompts.write_text(f"prompts: {WRITTEN_BY_RAGAS}\nmetrics: [context_recall]\nlanguage: es\n", "utf-8")
    code, _, err = command("ragas", "run", str(data), "--config", str(prompts), "--output", str(output))
    assert code == 0, err
    row = json.loads(output.read_text("utf-8"))
    assert (row["context_recall"], row["ragas_context_recall"]) == (0.25, 1.0)


def test_a_missing_language_is_made_once_kept_and_used(command: Command, judge: PackageJudge, project: Path) -> None:
    ragas = {"prompts": "prompts", "language": "french", "metrics": ["FAITHFULNESS"]}
    config = config_file(project, ragas=ragas)
    code, _, err = command("ragas", "run", "--config", config)
    assert code == 0, err
    assert "nobody has reviewed them" in err
    assert [given["language"] for given in judge.translations] == ["french", "french"]
    names = sorted(path.name for path in (project / "prompts").glob("*_french.json"))
    assert names == [f"faithfulness_{name}_prompt_french.json" for name in ("n_l_i_statement", "statement_generator")]
    made = json.loads((project / "prompts" / names[0]).read_text("utf-8"))
    assert (made["made_by"], made["reviewed"]) == ("openai/judge", False)
    assert made["examples"][0]["input"]["statements"][0].endswith(TRANSLATED)
    for name in names:
        path = project / "prompts" / name
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "reviewed": True}), "utf-8")
    code, _, err = command("ragas", "run", "--config", config)
    assert (code, len(judge.translations)) == (0, 2), "a second run uses what is there"
    assert "reviewed" not in err


def test_without_a_folder_a_new_language_is_kept_with_the_data(
    command: Command, judge: PackageJudge, project: Path, tmp_path: Path
) -> None:
    run = ("ragas", "run", str(project / "dataset.jsonl"), "--metric", "context_recall", "--language")
    assert command(*run, "fr")[0] == 0
    kept = tmp_path / "data" / "ragas_prompts"
    assert [path.name for path in kept.iterdir()] == ["context_recall_context_recall_classification_prompt_french.json"]
    assert command(*run, "french")[0] == 0
    assert len(judge.translations) == 1


def test_a_translation_with_missing_texts_stops_before_the_first_row(
    command: Command, judge: PackageJudge, project: Path, tmp_path: Path
) -> None:
    judge.lost_translations = 1
    run = ("ragas", "run", str(project / "dataset.jsonl"), "--metric", "faithfulness", "--language", "fr")
    code, _, err = command(*run)
    assert (code, judge.asked) == (2, [])
    assert "could not be made by 'openai/judge'" in " ".join(err.split())
    assert not list((tmp_path / "data").glob("results/*"))


def test_prompts_are_saved_and_adapted_on_the_command_line(
    command: Command, judge: PackageJudge, tmp_path: Path
) -> None:
    folder = tmp_path / "orig_prompts"
    code, out, _ = command("ragas", "prompts", "save", str(folder), "--language", "english")
    assert (code, len(out.splitlines()), len(list(folder.glob("*_english.json")))) == (0, 6, 6)
    assert command("ragas", "prompts", "save", str(folder))[0] == 2
    code, out, _ = command("ragas", "prompts", "adapt", "fr", "--folder", str(folder), "--instructions", "--json")
    assert (code, len(json.loads(out)["files"])) == (0, 6)
    for path in folder.glob("*_french.json"):
        assert json.loads(path.read_text("utf-8"))["instruction"].endswith(TRANSLATED)
    code, out, _ = command("ragas", "prompts", "adapt", "fr", "--folder", str(folder))
    assert (code, "has all prompts" in out) == (0, True)


def test_without_a_judge_no_language_is_made(command: Command, tmp_path: Path) -> None:
    code, _, err = command("ragas", "prompts", "adapt", "fr", "--folder", str(tmp_path / "new"))
    assert (code, (tmp_path / "new").exists()) == (2, False)
    assert "needs a language model" in " ".join(err.split())


def test_every_key_of_a_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "models" / "llm").mkdir(parents=True)
    (tmp_path / "models" / "emb").mkdir()
    path = tmp_path / "config.yaml"
    path.write_text(
        "root: here\nroot-models: models\nMODEL_LLM_DIR: llm\nMODEL_EMB_DIR: emb\nroot-dataset: data\n"
        "path-dataset: dataset.jsonl\nroot-output: results\n"
        "ragas: {prompts: prompts/, language: Spanish, metrics: [CONTEXT_PRECISION_WOREF, RESPONSE_RELEVANCY]}\n"
        "llm:\n  task: text-generation\n  pipeline_kwargs: {max_new_tokens: 2048, repetition_penalty: 1.03, "
        "return_full_text: false, device_map: auto, dtype: auto}\n",
        "utf-8",
    )
    config = load_config(path)
    assert config.judge.model_dump() == {
        "provider": "huggingface",
        "model": str(tmp_path / "models" / "llm"),
        "base_url": "",
        "temperature": 0.0,
        "max_tokens": 2048,
        "attempts": 4,
        "options": {"task": "text-generation", "repetition_penalty": 1.03, "device_map": "auto", "dtype": "auto"},
    }
    assert config.embedder == f"huggingface:{tmp_path / 'models' / 'emb'}"
    assert config.dataset == tmp_path / "data" / "dataset.jsonl"
    assert config.output == tmp_path / "results"
    assert config.prompts == tmp_path / "here" / "prompts"
    assert config.language == "es"
    assert config.metrics == ("ragas_llm_context_precision_without_reference", "ragas_answer_relevancy")


def test_a_name_of_the_hub_stays_a_name(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("MODEL_LLM_DIR: maker/model\nMODEL_EMB_DIR: maker/encoder\n", "utf-8")
    config = load_config(path)
    assert (config.judge.model, config.embedder) == ("maker/model", "huggingface:maker/encoder")


def test_paths_are_relative_to_the_project(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("project: work\ndataset: d.jsonl\noutput: out\nprompts: p\n", "utf-8")
    config = load_config(path)
    folder = tmp_path / "work"
    assert (config.dataset, config.output, config.prompts) == (folder / "d.jsonl", folder / "out", folder / "p")


def test_a_judge_is_named_in_one_word() -> None:
    for given in ("huggingface:/models/m", {"provider": "huggingface:/models/m"}):
        judge = config_from({"judge": given}).judge
        assert (judge.provider, judge.model) == ("huggingface", "/models/m")
    assert config_from({"judge": "groq"}).judge.provider == "groq"


def test_without_a_data_set_anywhere_the_command_says_where_to_name_it(command: Command) -> None:
    code, _, err = command("ragas", "run")
    assert (code, "'dataset' of the configuration" in " ".join(err.replace("│", " ").split())) == (2, True)


def test_where_results_go_does_not_change_the_fingerprint(settings: Settings, tmp_path: Path) -> None:
    service = app_of(settings).get(RagasService)
    rows = rows_from(ROWS, "rows")
    plain = config_from({"metrics": ["lexical_faithfulness"]})
    placed = plain.model_copy(update={"output": tmp_path / "out", "dataset": tmp_path / "d.jsonl"})
    assert service.run_now("d", rows, plain).fingerprint == service.run_now("d", rows, placed).fingerprint
    assert (tmp_path / "out" / "eval_d.jsonl").is_file()


class Lines:
    """A language model of LangChain as far as this project needs it: a text in, a text out."""

    model_id = "lines"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def invoke(self, text: str) -> str:
        self.prompts.append(text)
        return '{"reason": "r", "verdict": 1}'


def test_a_model_of_the_caller_judges_and_is_needed_to_go_on(settings: Settings) -> None:
    service = app_of(settings).get(RagasService)
    model = Lines()
    config = config_from({"metrics": ["llm_context_precision_with_reference"], "repeats": 2})
    result = service.run_now("d", rows_from(ROWS, "rows"), config, judge=model)
    assert result.metrics == {"ragas_llm_context_precision_with_reference": 1.0}
    assert result.judge == "langchain/lines"
    assert len(model.prompts) == 4
    with raises("run_mismatch", match="handed"):
        (settings.results_dir / result.run_id / f"{result.run_id}.json").unlink()
        service.resume(result.run_id)
    assert service.resume(result.run_id, judge=Lines()).judge == "langchain/lines"
