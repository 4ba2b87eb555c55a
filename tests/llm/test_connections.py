"""Keys, addresses and models of providers as Admin sets them, with real servers, a real ``.env`` and a real keyring."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp import logs
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError, InvalidSetting, ProviderError
from chatbot_mvp.llm import connections
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.llm.connections import Connection
from chatbot_mvp.settings import keys
from chatbot_mvp.settings.model import Settings, load_settings
from tests.hostile.test_secrets import Echo, files_below
from tests.llm.openai_stub import ANSWER, MODEL, OpenAiStub

KEY, OTHER = "sk-typed-Secret-4711", "sk-another-Secret-4712"
REQUEST = ChatRequest((Message("user", "¿?"),))


@pytest.fixture
def provider() -> Iterator[OpenAiStub]:
    with OpenAiStub() as server:
        yield server


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(settings)


def restarted(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir))


def of(app: App, name: str = "openai") -> Connection:
    return next(one for one in app.connections.all() if one.name == name)


def sent_keys(server: OpenAiStub) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


def test_a_typed_key_is_tried_lists_models_and_answers_until_the_server_ends(
    app: App, settings: Settings, provider: OpenAiStub, tmp_path: Path
) -> None:
    assert of(app).state == "needs_key"
    app.connections.connect("openai", KEY, f"{provider.url}/v1", "memory")
    assert (of(app).state, of(app).stays_here, of(app).key.source) == ("ready", True, "memory")  # type: ignore[union-attr]
    tried = app.providers.try_out("openai")
    assert (tried.reachable, tried.reply) == (True, ANSWER)
    assert list(app.connections.list_models("openai")) == [MODEL] == list(of(app).models or ())
    app.connections.choose_model("openai", "gpt-4.1-nano")
    app.providers.choose("openai")
    assert app.providers.current().complete(REQUEST).text == ANSWER
    assert provider.requests[-1].json["model"] == "gpt-4.1-nano"
    assert {*sent_keys(provider)} == {KEY}
    assert of(restarted(settings)).state == "needs_key"
    assert not any(KEY.encode() in content for content in files_below(tmp_path))


def test_another_key_is_used_by_the_next_request(app: App, provider: OpenAiStub) -> None:
    for key in (KEY, OTHER):
        app.connections.connect("openai", key, f"{provider.url}/v1", "memory")
        app.providers.choose("openai")
        app.providers.model(app.settings.with_changes(llm_cache_enabled=False)).complete(REQUEST)
    assert sent_keys(provider) == [KEY, OTHER]


def test_env_keeps_key_and_address_beside_its_other_lines(
    app: App, settings: Settings, provider: OpenAiStub, clean_env: Path
) -> None:
    env = clean_env / ".env"
    env.write_text("# mine\nGROQ_API_KEY=gsk  # of the team\nOPENAI_API_KEY=old\n\nOTHER='a b'", "utf-8")
    env.chmod(0o644)
    awkward = "sk-a'b\\c\"d#e$f"
    app.connections.connect("openai", awkward, f"{provider.url}/v1", "dotenv")
    text = env.read_text("utf-8")
    assert text.startswith("# mine\nGROQ_API_KEY=gsk  # of the team\n\nOTHER='a b'\n")
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert text.count("OPENAI_API_KEY") == 1
    again = restarted(settings)
    assert again.providers.try_out("openai").reachable
    assert sent_keys(provider) == [awkward]
    assert of(again).key.places == ("dotenv",)  # type: ignore[union-attr]
    assert not of(again).address_changeable, "a key of .env is sent nowhere else"
    again.connections.forget_key("openai")
    assert [of(app).key.source for app in (again, restarted(settings))] == ["default"] * 2  # type: ignore[union-attr]
    assert "OTHER='a b'" in env.read_text("utf-8")


@pytest.fixture
def keyring_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The system's keyring: one that keeps its passwords in this file."""
    keyring = pytest.importorskip("keyring")
    path = tmp_path_factory.mktemp("keyring") / "passwords.json"
    path.write_text("{}", "utf-8")

    class Kept(keyring.backend.KeyringBackend):  # type: ignore[misc, name-defined]
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return dict(json.loads(path.read_text("utf-8"))).get(f"{service}|{username}")

        def set_password(self, service: str, username: str, password: str) -> None:
            path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {f"{service}|{username}": password}))

        def delete_password(self, service: str, username: str) -> None:
            left = json.loads(path.read_text("utf-8"))
            del left[f"{service}|{username}"]
            path.write_text(json.dumps(left), "utf-8")

    before = keyring.get_keyring()
    keyring.set_keyring(Kept())
    keys._has_keyring.cache_clear()
    yield path
    keyring.set_keyring(before)
    keys._has_keyring.cache_clear()


def test_a_key_of_the_keyring_outlives_the_server_and_stays_with_its_address(
    keyring_file: Path, app: App, settings: Settings, provider: OpenAiStub, tmp_path: Path
) -> None:
    app.connections.connect("openai", KEY, f"{provider.url}/v1", "keyring")
    again = restarted(settings)
    assert of(again).key.source == "keyring"  # type: ignore[union-attr]
    assert again.providers.try_out("openai").reachable
    assert not any(KEY.encode() in content for content in files_below(tmp_path))
    # Whoever can change the address does not get the key with it.
    path = settings.app_settings_path
    kept = path.read_text("utf-8")
    path.write_text(kept.replace(provider.url, "http://127.0.0.1:1"), "utf-8")
    assert of(restarted(settings)).key.source == "default"  # type: ignore[union-attr]
    path.write_text(kept, "utf-8")
    restarted(settings).connections.forget_key("openai")
    assert json.loads(keyring_file.read_text("utf-8")) == {}


def test_another_address_forgets_the_key(app: App, provider: OpenAiStub) -> None:
    app.connections.connect("openai", KEY, place="memory")
    app.connections.connect("openai", address=f"{provider.url}/v1")
    assert of(app).key.source == "default"  # type: ignore[union-attr]
    app.connections.connect("openai", address="")
    assert of(app).address == "https://api.openai.com/v1"


def test_a_server_at_another_address_needs_no_key(app: App, provider: OpenAiStub) -> None:
    app.connections.connect("openai", address=f"{provider.url}/v1")
    assert of(app).state == "ready"
    assert app.connections.list_models("openai")
    app.connections.connect("openai", address="")
    assert of(app).state == "needs_key"


def test_the_vendors_own_address_needs_a_key(app: App) -> None:
    app.connections.connect("nim", address=of(app, "nim").address)
    assert (of(app, "nim").state, app.settings.llm_base_url) == ("needs_key", "")
    app.connections.connect("nim", KEY, of(app, "nim").address)
    assert (of(app, "nim").state, app.settings.llm_base_url) == ("ready", "")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_what_is_set_outside_admin_wins_and_its_key_goes_nowhere_else(
    name: str, clean_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "https://outside.example/v1" if name.endswith("URL") else KEY)
    app = build_app(load_settings(data_dir=tmp_path))
    app.live.save({"openai_base_url": "http://127.0.0.1:1/v1"})
    assert not of(app).address_changeable
    assert of(app).address != "http://127.0.0.1:1/v1"
    with pytest.raises(InvalidSetting, match="outside"):
        app.connections.connect("openai", address="http://127.0.0.1:1/v1")
    if name == "OPENAI_API_KEY":
        with pytest.raises(InvalidSetting, match="outside"):
            app.connections.connect("openai", OTHER)
        with pytest.raises(InvalidSetting, match="outside"):
            app.connections.forget_key("openai")


def test_a_typed_key_is_in_no_log_error_or_status(
    app: App, settings: Settings, logging_as_it_was: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure("text", errors_path=settings.errors_log_path)
    with Echo() as echo:
        app.connections.connect("openai", KEY, f"http://127.0.0.1:{echo.server_port}/v1", "memory")
        error: BaseException | None = app.providers.try_out("openai").error
        with pytest.raises(ProviderError):
            app.connections.list_models("openai")
    logging.getLogger("chatbot_mvp").error("said %s", KEY)
    said = [capsys.readouterr().err, settings.errors_log_path.read_text("utf-8")]
    assert all("said ***" in text for text in said)
    said += [str(app.connections.all()), str(app.providers.statuses()), str(app.live.rows()), repr(app.settings)]
    while error is not None:
        said.append(f"{error} {error!r} {getattr(error, 'params', '')}")
        error = error.__cause__
    assert not any(KEY in text for text in said)


@pytest.mark.parametrize("name", ["gemini", "nim"])
def test_a_key_alone_sends_nothing_anywhere(name: str, app: App, settings: Settings) -> None:
    app.connections.connect(name, KEY, "http://127.0.0.1:1/v1" if name == "nim" else None, "dotenv")
    assert app.settings.provider == restarted(settings).settings.provider == "demo"


@pytest.mark.parametrize("place", ["memory", "dotenv"])
def test_what_is_no_key_is_refused_and_not_repeated(app: App, place: keys.KeyPlace, clean_env: Path) -> None:
    with pytest.raises(ChatbotError) as refused:
        app.connections.connect("openai", "sk with spaces", place=place)
    assert "with spaces" not in f"{refused.value} {refused.value.params}"
    assert not (clean_env / ".env").exists()
    assert of(app).state == "needs_key"


def test_servers_at_their_usual_ports_are_found_if_they_name_models(
    app: App, provider: OpenAiStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Echo() as refusing:
        ports = {"LM Studio": int(provider.url.rpartition(":")[2]), "vLLM": refusing.server_port, "llama.cpp": 1}
        monkeypatch.setattr(connections, "_USUAL_PORTS", ports)
        [(name, address)] = app.connections.servers_here().items()
    assert (name, address) == ("LM Studio", f"{provider.url}/v1")
    app.connections.connect("ollama", address=address)
    assert of(app, "ollama").models == (MODEL,)
    assert of(app, "ollama").state == "needs_model"


def test_a_running_ollama_is_found_with_its_models(app: App, provider: OpenAiStub) -> None:
    app.connections.connect("ollama", address="http://127.0.0.1:1/v1")
    assert of(app, "ollama").state == "not_running"
    app.connections.connect("ollama", address=f"{provider.url}/v1")
    found = of(app, "ollama")
    assert (found.state, found.models, found.usd_per_thousand) == ("needs_model", (MODEL,), 0.0)
    app.connections.choose_model("ollama", MODEL)
    assert of(app, "ollama").state == "ready"


def test_a_thousand_questions_cost_what_the_table_says(app: App) -> None:
    found = {one.name: one for one in app.connections.all()}
    # 1,500 tokens of prompt and 200 of answer, at 0.40 and 1.60 dollars per million.
    assert found["openai"].usd_per_thousand == pytest.approx(1_000 * (1_500 * 0.40 + 200 * 1.60) / 1e6)
    assert found["nim"].usd_per_thousand is None
    assert found["demo"].usd_per_thousand == found["local"].usd_per_thousand == 0.0
    assert {name for name, one in found.items() if one.stays_here} == {"ollama", "local", "huggingface", "demo"}
