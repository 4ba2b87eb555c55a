"""Who answers: what is configured, what was chosen, what outlives the process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.errors import (
    InvalidSetting,
    NeedsLanguageModel,
    ProviderNotConfigured,
    ProviderUnavailable,
    UnknownChoice,
)
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.providers import Providers, ProviderStatus
from chatbot_mvp.llm.registry import NVIDIA_URL, PROVIDERS
from chatbot_mvp.settings.fields import PROVIDER_NAMES, PROVIDER_SETTINGS
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import MASK, MODEL_SETTINGS, PROJECT_ROOT, Settings, load_settings
from chatbot_mvp.settings.saved import read_choices, save_provider

KEYS = {"gemini": "gemini_api_key", "groq": "groq_api_key", "nim": "nvidia_api_key", "openai": "openai_api_key"}
REQUEST = ChatRequest((Message("user", "?"),))


def status(providers: Providers, name: str) -> ProviderStatus:
    return next(status for status in providers.statuses() if status.name == name)


def test_without_any_key_demo_answers(settings: Settings) -> None:
    live = LiveSettings(settings)
    providers = Providers(live)
    assert live.current.provider == "demo"
    assert {status.name for status in providers.statuses() if status.configured} == {"demo"}
    assert providers.current().name == "demo"
    assert providers.current().needs_evidence
    assert providers.language_model(live.current) is None


@pytest.mark.parametrize(
    ("changes", "provider", "why"),
    [
        ({}, "demo", "no LLM_BASE_URL and no key for gemini"),
        ({"llm_base_url": "http://nim.local:8000/v1"}, "nim", "LLM_BASE_URL is set"),
        ({"llm_base_url": "http://nim.local:8000/v1", "gemini_api_key": "AIza-secret"}, "nim", "LLM_BASE_URL is set"),
        ({"llm_base_url": NVIDIA_URL, "nvidia_api_key": "nvapi-secret"}, "nim", "LLM_BASE_URL is set"),
        ({"llm_base_url": NVIDIA_URL}, "demo", "needs NVIDIA_API_KEY"),
        ({"gemini_api_key": "AIza-secret"}, "gemini", "gemini has a key"),
        ({"google_api_key": "AIza-secret"}, "gemini", "gemini has a key"),
        ({"llm_base_url": "http://nim.local:8000/v1", "provider": "demo"}, "demo", "PROVIDER names it"),
    ],
)
def test_a_given_address_of_a_model_is_used_and_the_reason_is_told(
    settings: Settings, changes: dict[str, str], provider: str, why: str
) -> None:
    live = LiveSettings(settings.with_changes(**changes))
    assert live.current.provider == provider
    assert why in live.provider_reason
    model = Providers(live).current()
    assert (model.name.partition("/")[0], model.needs_evidence) == (provider, provider == "demo")


def test_a_choice_made_in_admin_is_told_as_the_reason(settings: Settings) -> None:
    keyed = settings.with_changes(groq_api_key="gsk-secret", llm_base_url="http://nim.local:8000/v1")
    Providers(LiveSettings(keyed)).choose("groq")
    again = LiveSettings(keyed)
    assert (again.current.provider, again.provider_reason) == ("groq", "it was chosen in Admin")
    Providers(again).choose("nim")
    assert again.provider_reason == "it was chosen in Admin"


@pytest.mark.parametrize("name", ["groq", "nim", "openai"])
def test_another_key_alone_changes_nothing(settings: Settings, name: str) -> None:
    """A key that lies in the environment for something else must not send anybody's documents away."""
    live = LiveSettings(settings.with_changes(**{KEYS[name]: "secret"}))
    providers = Providers(live)
    assert live.current.provider == "demo"
    assert status(providers, name).configured


@pytest.mark.parametrize("name", [name for name in PROVIDERS if name != "demo"])
def test_what_is_missing_is_named_by_its_variable(settings: Settings, name: str) -> None:
    missing = status(Providers(LiveSettings(settings)), name).missing
    assert missing
    for variable in missing.replace(" / ", " ").split():
        assert variable.lower() in Settings.model_fields
    with pytest.raises(ProviderNotConfigured) as raised:
        create_chat_model(settings.with_changes(provider=name))
    assert missing in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_choice_holds_at_once_and_after_a_restart_and_writes_no_key(settings: Settings) -> None:
    keyed = settings.with_changes(groq_api_key="gsk-secret", gemini_api_key="AIza-secret")
    providers = Providers(LiveSettings(keyed))
    model = providers.current()
    providers.choose("groq")
    assert model.name == "groq/llama-3.3-70b-versatile"
    assert status(providers, "groq").chosen
    assert LiveSettings(keyed).current.provider == "groq"
    assert json.loads(keyed.app_settings_path.read_text("utf-8")) == {"format_version": 1, "provider": "groq"}
    assert build_app(keyed).settings.provider == "groq"


def test_PROVIDER_wins_over_the_choice_and_says_so(settings: Settings) -> None:
    save_provider(settings.app_settings_path, "groq")
    live = LiveSettings(settings.with_changes(provider="demo", groq_api_key="secret"))
    fixed = Providers(live)
    assert (fixed.fixed, live.current.provider) == (True, "demo")
    with pytest.raises(InvalidSetting, match="PROVIDER"):
        fixed.choose("groq")


def test_what_cannot_be_used_cannot_be_chosen(settings: Settings) -> None:
    with pytest.raises(UnknownChoice, match="gemini"):
        Providers(LiveSettings(settings)).choose("nonesuch")
    with pytest.raises(ProviderNotConfigured, match="GROQ_API_KEY"):
        Providers(LiveSettings(settings)).choose("groq")
    assert not settings.app_settings_path.exists()


def test_a_chosen_provider_that_lost_its_key_says_so_when_it_is_asked(settings: Settings) -> None:
    save_provider(settings.app_settings_path, "groq")
    model = Providers(LiveSettings(settings)).current()
    assert model.name == "groq/llama-3.3-70b-versatile"
    for call in (model.complete, model.stream):
        with pytest.raises(ProviderNotConfigured, match="GROQ_API_KEY"):
            call(REQUEST)


@pytest.mark.parametrize("content", ["", "{torn", "[1]", '{"provider": 7}', '{"provider": "gone"}'])
def test_a_damaged_file_of_choices_is_no_choice(settings: Settings, content: str) -> None:
    path = settings.app_settings_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    assert LiveSettings(settings).current.provider == "demo"
    save_provider(path, "demo")
    assert read_choices(path).provider == "demo"


def test_other_choices_in_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "app_settings.json"
    path.write_text('{"format_version": 1, "theme": "dark"}', "utf-8")
    save_provider(path, "groq")
    assert json.loads(path.read_text("utf-8")) == {"format_version": 1, "theme": "dark", "provider": "groq"}
    assert [entry for entry in tmp_path.iterdir() if not entry.name.startswith(".")] == [path]


def test_choices_lie_in_the_package_or_in_a_data_folder_of_ones_own(settings: Settings) -> None:
    assert settings.app_settings_path == settings.data_dir / "app_settings.json"
    usual = settings.with_changes(data_dir=PROJECT_ROOT / "data")
    assert usual.app_settings_path == PROJECT_ROOT / "chatbot_mvp" / "data" / "app_settings.json"


def test_a_provider_where_nobody_answers_is_not_reachable_and_the_result_is_kept(settings: Settings) -> None:
    own = settings.with_changes(ollama_model_name="llama3.2", ollama_base_url="http://127.0.0.1:1/v1")
    providers = Providers(LiveSettings(own))
    found = {status.name: status.check for status in providers.check_configured()}
    ollama, demo = found["ollama"], found["demo"]
    assert ollama
    assert (ollama.reachable, type(ollama.error)) == (False, ProviderUnavailable)
    assert demo
    assert demo.reachable
    assert found["groq"] is None
    assert status(providers, "ollama").check == ollama


def test_a_small_model_file_is_said_to_be_small(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "tiny-q4.gguf"
    path.write_bytes(b"GGUF")
    local = status(Providers(LiveSettings(settings.with_changes(local_model_path=str(path)))), "local")
    assert (local.model, local.note) == ("tiny-q4", "small_model")


@pytest.mark.parametrize("content", [None, b"no model"])
def test_a_local_file_that_is_not_there_or_no_model_is_named(
    settings: Settings, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidSetting, match=r"LOCAL_MODEL_PATH.*model\.gguf"):
        create_chat_model(settings.with_changes(provider="local", local_model_path=str(path)))


def test_the_registry_and_the_settings_name_the_same_providers_and_models(settings: Settings) -> None:
    assert set(PROVIDERS) == set(PROVIDER_NAMES)
    assert {mark.provider for mark in PROVIDER_SETTINGS.values()} == set(PROVIDERS) - {"demo"}
    assert PROVIDERS["gemini"].keys == ("gemini_api_key", "google_api_key")
    for name, provider in PROVIDERS.items():
        if name in MODEL_SETTINGS:
            variable = MODEL_SETTINGS[name]
            own = settings.with_changes(provider=name, **{variable: "own/model"})
            assert provider.endpoint(own).model == "own/model"
            assert own.language_model == f"{name}/own/model"
            assert provider.endpoint(own).model_variable == variable.upper()


def test_retrieval_gets_the_providers_model_by_its_full_name(settings: Settings) -> None:
    own = settings.with_changes(provider="openai", openai_api_key="secret", openai_base_url="http://127.0.0.1:1/v1")
    app = build_app(own.with_changes(nim_max_retries=0))
    assert "CONTEXTUAL_HYBRID" in app.runs.strategies()
    model = app.providers.language_model(app.settings)
    assert model
    assert model.name == "openai/gpt-4.1-mini"
    with pytest.raises(ProviderUnavailable):
        model.ask("?")


def test_without_a_configured_model_what_needs_one_is_not_offered(settings: Settings) -> None:
    app = build_app(settings.with_changes(provider="groq"))
    assert "CONTEXTUAL_HYBRID" not in app.runs.strategies()
    with pytest.raises(NeedsLanguageModel, match="groq"):
        app.runs.run_now(retrieval_strategy="CONTEXTUAL_HYBRID")


@pytest.mark.parametrize("variable", [*KEYS.values(), "google_api_key"])
def test_no_key_is_in_a_status_or_in_written_settings(settings: Settings, variable: str) -> None:
    own = settings.with_changes(**{variable: "very-secret"})
    assert own.model_dump(mode="json")[variable] == MASK
    assert "very-secret" not in str(Providers(LiveSettings(own)).statuses()) + repr(own) + own.model_dump_json()


def test_keys_come_from_streamlits_secrets_below_environment_and_dotenv(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clean_env / ".streamlit"
    folder.mkdir()
    (folder / "secrets.toml").write_text(
        'GEMINI_API_KEY = "from-secrets"\ngroq_api_key = "from-secrets"\nOPENAI_API_KEY = "from-secrets"\n'
        'unknown = 1\n[table]\nNVIDIA_API_KEY = "not at the top"\n',
        "utf-8",
    )
    (clean_env / ".env").write_text("GROQ_API_KEY=from-dotenv\n", "utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    settings = load_settings()
    found = [settings.gemini_api_key, settings.groq_api_key, settings.openai_api_key, settings.nvidia_api_key]
    assert [key.get_secret_value() for key in found] == ["from-secrets", "from-dotenv", "from-environment", ""]
    assert settings.chosen_provider == "gemini"


def test_secrets_that_cannot_be_read_are_named_without_their_content(clean_env: Path) -> None:
    folder = clean_env / ".streamlit"
    folder.mkdir()
    (folder / "secrets.toml").write_text('GEMINI_API_KEY = "very-secret\n', "utf-8")
    with pytest.raises(InvalidSetting, match=r"secrets\.toml") as raised:
        load_settings()
    assert "very-secret" not in str(raised.value)
