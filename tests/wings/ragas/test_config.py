"""``config.yaml``: everything has a default, and what is wrong is told with its place and what is legal."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.wings.ragas.config import RagasConfig, config_from, load_config
from chatbot_mvp.wings.ragas.judging import JUDGED, UNJUDGED
from chatbot_mvp.wings.ragas.preparation import chosen_metrics, judge_settings
from chatbot_mvp.wings.ragas.rows import rows_from

WHOLE = {
    "user_input": "¿Qué?",
    "response": "Eso.",
    "retrieved_contexts": ["uno"],
    "reference": "Esto.",
    "retrieved_context_ids": ["1"],
    "reference_context_ids": ["1"],
}


def config_file(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, "utf-8")
    return path


def test_without_a_file_and_with_an_empty_one_all_are_defaults(tmp_path: Path) -> None:
    assert load_config(None) == load_config(config_file(tmp_path, "")) == RagasConfig()


def test_the_example_that_is_documented_is_the_defaults() -> None:
    path = PROJECT_ROOT / "data" / "ragas_config.example.yaml"
    assert load_config(path) == RagasConfig()
    text = path.read_text("utf-8")
    for name in (*RagasConfig.model_fields, *RagasConfig.model_fields["judge"].annotation.model_fields):  # type: ignore[union-attr]
        assert f"{name}:" in text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("judge: {provider: chatgpt}", ("config.yaml", "judge.provider", "'chatgpt'", "gemini, groq, nim, openai")),
        ("judge: {temperature: 3}", ("judge.temperature", "3", "less than or equal to 2")),
        ("metrics: [faithful]", ("metrics", "'faithful'", "ragas_faithfulness", "lexical_faithfulness")),
        ("repeats: 0", ("repeats", "0", "greater than or equal to 1")),
        ("strictnes: 3", ("strictnes", "strictness, concurrency, repeats")),
        ("judge: {modell: x}", ("judge.modell", "provider, model, base_url")),
        ("root: x\nragas: {promts: x}", ("ragas.promts", "prompts, language, metrics")),
        ("llm: {tusk: x}", ("llm.tusk", "task, pipeline_kwargs")),
        ("root: x\nroot-model: x", ("root-model", "root-models, MODEL_LLM_DIR", "repeats")),
        ("llm: {pipeline_kwargs: {max_new_tokens: 1}}", ("llm.pipeline_kwargs.max_new_tokens", "16")),
        ("language: ../es", ("language", "letters, digits")),
        ("judge: [", ("config.yaml", "cannot be read")),
        ("- a", ("config.yaml",)),
    ],
)
def test_a_wrong_value_is_told_with_its_place_and_what_is_legal(
    tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidSetting) as raised:
        load_config(config_file(tmp_path, text))
    assert raised.value.exit_code == 2
    for part in parts:
        assert part in str(raised.value)
    assert ".env" not in str(raised.value), "the keys of this file are in no other place"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read"):
        load_config(tmp_path / "absent.yaml")


def test_the_names_of_the_package_and_of_projects_are_understood() -> None:
    names = ["Faithfulness", "LLMContextRecall", "ragas_faithfulness", "faithfulness", "CONTEXT_RECALL"]
    assert config_from({"metrics": names}).metrics == ("ragas_faithfulness", "ragas_context_recall")


def test_a_folder_of_prompts_is_relative_to_the_file(tmp_path: Path) -> None:
    assert load_config(config_file(tmp_path, "prompts: mine")).prompts == tmp_path / "mine"


def test_the_judge_is_that_of_the_file_then_of_the_settings(settings: Settings) -> None:
    def judge(given: dict[str, str], **changes: str) -> str:
        return judge_settings(settings.with_changes(**changes), config_from({"judge": given})).language_model

    assert judge({}) == "demo"
    groq = {"judge_provider": "groq", "groq_api_key": "gsk-x", "judge_model_name": "llama-judge"}
    assert judge({}, **groq) == "groq/llama-judge"
    assert judge({"model": "other"}, **groq) == "groq/other"
    assert judge({"provider": "openai", "model": "gpt"}, openai_api_key="sk-x") == "openai/gpt"
    # The settings' model is that of the settings' judge, not of another provider.
    assert judge({"provider": "openai"}, openai_api_key="sk-x", **groq) != "openai/llama-judge"
    own = config_from({"judge": {"provider": "openai", "model": "m", "base_url": "http://gpu:8000/v1"}})
    assert judge_settings(settings, own).openai_base_url == "http://gpu:8000/v1"


def test_metrics_are_those_that_the_rows_have_columns_for() -> None:
    whole = rows_from([WHOLE], "rows")
    assert chosen_metrics(RagasConfig(), whole, has_judge=True) == JUDGED
    assert chosen_metrics(RagasConfig(), whole, has_judge=False) == UNJUDGED
    answers = rows_from([{"user_input": "¿Qué?", "response": "Eso."}], "rows")
    assert chosen_metrics(RagasConfig(), answers, has_judge=True) == ("ragas_answer_relevancy",)
    assert chosen_metrics(RagasConfig(metrics=("ragas_faithfulness",)), answers, True) == ("ragas_faithfulness",)


def test_a_prompt_language_that_is_not_there_says_which_are(settings: Settings, tmp_path: Path) -> None:
    from chatbot_mvp.wings.ragas.judging import load_prompts

    with pytest.raises(UnknownChoice, match="en, es"):
        load_prompts("fr", tmp_path)
