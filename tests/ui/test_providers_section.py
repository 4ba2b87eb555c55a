"""Providers in Admin through AppTest: all are shown, a key is typed and leaves the page, models are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.llm import connections
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.settings.access import Action, performs
from streamlit_app.shared.state import get_app
from tests.datasets.hub_stub import HubStub
from tests.hostile.test_secrets import Echo, files_below
from tests.llm.openai_stub import ANSWER, MODEL, OpenAiStub
from tests.ui.test_admin_guard import enter
from tests.ui.test_pages import open_page, texts
from tests.ui.test_secrets_on_pages import everything
from tests.waiting import wait_for_jobs

KEY = "sk-typed-on-a-page-4711"
pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder of the test's own, whose ``.env`` may be written."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


@pytest.fixture
def provider() -> Iterator[OpenAiStub]:
    with OpenAiStub() as server:
        yield server


def connect(page: AppTest, name: str, address: str = "", key: str = "", place: str = "") -> None:
    page.button(key=f"connect-{name}").click().run()
    if address:
        next(box for box in page.text_input if str(box.key).startswith(f"address-{name}")).input(address)
    if key:
        next(box for box in page.text_input if str(box.key).startswith(f"key-{name}")).input(key)
    if place:
        page.radio(key=f"keep-{name}").set_value(place)
    next(button for button in page.button if f"server-{name}" in str(button.key)).click().run()
    assert not page.exception, page.exception


def test_every_provider_is_shown_and_can_be_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    page = open_page("admin")
    cards = [str(button.key).removeprefix("provider-") for button in page.button if "provider-" in str(button.key)]
    assert cards[:4] == ["demo", "ollama", "local", "huggingface"], "what answers, then what runs on this machine"
    for name in PROVIDERS:
        assert page.button(key=f"provider-{name}").disabled, "nothing is configured, and demo is in use"
        if name != "demo":
            page.button(key=f"connect-{name}").click().run()
            assert not page.exception, page.exception
    assert "gratis, en este equipo" in texts(page)
    assert "unos 0,92 USD por mil preguntas (21/11/2026, según [openai.com]" in texts(page)


@pytest.mark.parametrize("place", ["memory", "dotenv"])
def test_a_typed_key_is_tried_and_is_nowhere_on_the_page(provider: OpenAiStub, place: str, tmp_path: Path) -> None:
    page = open_page("admin")
    connect(page, "openai", f"{provider.url}/v1", KEY, place)
    assert ANSWER in texts(page)
    assert f"model-openai-{MODEL}" in str([box.key for box in page.selectbox]), "the only one that is listed"
    page.button(key="provider-openai").click().run()
    assert get_app().settings.provider == "openai"
    assert KEY not in everything(page)
    assert not any(KEY in str(value) for value in page.session_state._state.filtered_state.values())
    holding = [content for content in files_below(tmp_path) if KEY.encode() in content]
    assert len(holding) == (1 if place == "dotenv" else 0)
    page.button(key="forget-openai").click().run()
    assert not [button for button in page.button if button.key == "forget-openai"], "a server elsewhere needs none"
    assert not any(KEY.encode() in content for content in files_below(tmp_path))


def test_a_refused_key_is_told_without_it() -> None:
    page = open_page("admin")
    with Echo() as echo:
        connect(page, "openai", f"http://127.0.0.1:{echo.server_port}/v1", KEY)
    assert "ha rechazado la clave" in page.error[0].value
    assert KEY not in everything(page)


def test_visitors_do_not_see_the_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "la contraseña del faro")
    page = open_page("admin")
    assert not any(str(button.key).startswith("connect-") for button in page.button)
    enter(page, "la contraseña del faro")
    assert page.button(key="connect-openai")


def test_a_model_of_a_running_ollama_is_chosen(provider: OpenAiStub) -> None:
    page = open_page("admin")
    connect(page, "ollama", f"{provider.url}/v1")
    box = next(box for box in page.selectbox if str(box.key).startswith("model-ollama"))
    box.set_value(MODEL).run()
    keys = [button.key for button in page.button]
    use = page.button(key="use-model-ollama")
    assert (MODEL in use.label.replace("\\", ""), use.proto.type, use.disabled) == (True, "primary", False)
    assert keys.index("list-ollama") + 1 == keys.index("use-model-ollama"), "right below the list of models"
    [search] = [button for button in page.button if "server-ollama" in str(button.key)]
    assert (search.proto.type, page.button(key="provider-ollama").proto.type) == ("secondary", "secondary")
    use.click().run()
    assert "Guardado: el chat contesta con" in texts(page)
    assert get_app().settings.language_model == f"ollama/{MODEL}"


def test_a_model_that_nobody_tried_and_no_list_names_is_not_said_to_be_ready(provider: OpenAiStub) -> None:
    page = open_page("admin")
    connect(page, "openai", f"{provider.url}/v1", KEY)
    for model, told in (("sin-tal-modelo", "sin probar"), (MODEL, "listo")):
        get_app().connections.choose_model("openai", model)
        page.run()
        [card] = [text.value for text in page.markdown if text.value.startswith("**OpenAI**")]
        assert told in card


def test_the_only_server_here_is_not_offered_once_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"Ollama": "http://127.0.0.1:11434/v1"}
    monkeypatch.setattr(connections.Connections, "servers_here", performs(Action.CHECK)(lambda _: found))
    page = open_page("admin")
    page.button(key="connect-ollama").click().run()
    assert "elija uno" not in texts(page) and not [one for one in page.button if str(one.key).startswith("here-")]
    found["vLLM"] = "http://127.0.0.1:8000/v1"
    assert "si elige otro, sustituye a `http://127.0.0.1:11434/v1` para todos" in texts(page.run())


def test_a_model_of_the_hub_is_downloaded_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with HubStub() as hub:
        hub.files["tiny/model-GGUF/resolve/main/tiny.gguf"] = b"GGUF" * 1_000
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        get_app.clear()
        page = open_page("admin")
        page.button(key="connect-local").click().run()
        page.text_input(key="local_repo").input("tiny/model-GGUF").run()
        assert "apache-2.0" in texts(page)
        page.button(key="download-tiny/model-GGUF-tiny.gguf").click().run()
        wait_for_jobs(get_app().local_models.jobs)
        page.run()
    assert "tiny/model-GGUF/tiny.gguf" in texts(page)
    assert get_app().settings.language_model == "local/tiny"


def test_a_file_of_this_machine_is_chosen_by_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    page = open_page("admin")
    page.button(key="connect-local").click().run()
    page.text_input(key="local_place").input(str(tmp_path)).run()
    page.button(key="local_own_use").click().run()
    assert not page.exception
    assert get_app().settings.local_model_path == str(tmp_path / "own.gguf")


def test_a_server_of_this_machine_is_offered_by_its_name(provider: OpenAiStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_USUAL_PORTS", {"LM Studio": int(provider.url.rpartition(":")[2])})
    page = open_page("admin")
    page.button(key="connect-ollama").click().run()
    page.button(key="here-LM Studio").click().run()
    assert not page.exception
    assert MODEL in next(box for box in page.selectbox if str(box.key).startswith("model-ollama")).options
