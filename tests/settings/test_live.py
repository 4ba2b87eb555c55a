"""The settings in effect: their sources, and what Admin may change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.forms import CHANGEABLE, GROUPS, form_of
from chatbot_mvp.settings.live import LiveSettings, SettingRow
from chatbot_mvp.settings.model import ADDRESSES, SECRETS, Settings, load_settings
from tests.raising import raises


def row_of(desk: LiveSettings, name: str) -> SettingRow:
    return next(row for row in desk.rows() if row.form.name == name)


def test_every_setting_is_in_one_group_and_has_a_form() -> None:
    for name in Settings.model_fields:
        assert form_of(name).group in GROUPS
    sections = [section.fields.model_fields for section in added("settings", SettingsSection).values()]
    for name in Settings.model_fields.keys() - {name for fields in sections for name in fields}:
        assert len([group for group, begins in GROUPS.items() if name.startswith(begins)]) == 1, name
    assert [form_of(name).group for name in ("milvus_address", "ray_address")] == ["vectors", "data"]
    assert form_of("retrieval_k").kind == "whole"
    assert (form_of("retrieval_k").low, form_of("retrieval_k").high) == (1, 1_000)
    assert form_of("retrieval_fusion").choices == ("rrf", "weighted")


def test_neither_secrets_nor_addresses_nor_folders_can_be_changed() -> None:
    assert not CHANGEABLE & {*SECRETS, *ADDRESSES, "data_dir", "provider", "chroma_host", "local_model_path"}
    assert set(Settings.model_fields) >= CHANGEABLE


def test_each_source_is_told_and_a_secret_only_as_set_or_not(
    clean_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clean_env / ".env").write_text("KB_TOP_K=7\nGROQ_API_KEY=gsk-very-secret\n", "utf-8")
    (clean_env / ".streamlit").mkdir()
    (clean_env / ".streamlit" / "secrets.toml").write_text('eval_max_queries = 9\nKB_TOP_K = "8"\n', "utf-8")
    monkeypatch.setenv("RETRIEVAL_K", "30")
    desk = LiveSettings(load_settings(data_dir=tmp_path))
    desk.change("dev_queries", 5)
    wanted = {
        "retrieval_k": ("environment", 30, False),
        "kb_top_k": ("dotenv", 7, False),
        "eval_max_queries": ("secrets", 9, False),
        "data_dir": ("given", tmp_path, False),
        "dev_queries": ("admin", 5, True),
        "eval_max_corpus": ("default", 0, True),
        "groq_api_key": ("dotenv", None, False),
    }
    for name, expected in wanted.items():
        row = row_of(desk, name)
        assert (row.source, row.value, row.changeable) == expected, name
    assert row_of(desk, "groq_api_key").is_set
    assert not row_of(desk, "openai_api_key").is_set
    assert "gsk-very-secret" not in str(desk.rows())


def test_a_change_holds_at_once_and_after_a_restart_and_goes_with_a_reset(settings: Settings) -> None:
    app = build_app(settings)
    app.live.change("retrieval_strategy", "LEXICAL")
    app.live.change("kb_top_k", 3)
    assert (app.settings.retrieval_strategy, app.settings.kb_top_k) == ("LEXICAL", 3)
    again = build_app(settings)
    assert (again.settings.retrieval_strategy, again.settings.kb_top_k) == ("LEXICAL", 3)
    again.live.reset("kb_top_k")
    assert again.settings.kb_top_k == 5
    assert build_app(settings).settings.kb_top_k == 5


def test_what_is_set_outside_wins_over_what_was_chosen(settings: Settings, clean_env: Path) -> None:
    build_app(settings).live.change("kb_top_k", 3)
    outside = load_settings(data_dir=settings.data_dir, kb_top_k=9)
    desk = build_app(outside).live
    assert desk.current.kb_top_k == 9
    with pytest.raises(InvalidSetting, match="takes precedence"):
        desk.change("kb_top_k", 4)


@pytest.mark.parametrize(("name", "value"), [("kb_top_k", 0), ("kb_top_k", "x"), ("serve_token", "t"), ("nope", 1)])
def test_what_is_not_legal_or_not_changeable_changes_nothing(settings: Settings, name: str, value: object) -> None:
    desk = LiveSettings(settings)
    with pytest.raises(InvalidSetting):
        desk.change(name, value)
    assert desk.current == settings.with_changes(provider="demo")
    assert not settings.app_settings_path.exists()


def test_a_saved_value_that_is_not_legal_any_more_is_left_out(settings: Settings) -> None:
    values = {"kb_top_k": -1, "retrieval_k": 11, "groq_api_key": "gsk", "nope": 1}
    settings.app_settings_path.parent.mkdir(parents=True)
    settings.app_settings_path.write_text(
        json.dumps({"format_version": 1, "provider": "demo", "settings": values}), "utf-8"
    )
    desk = LiveSettings(settings)
    assert (desk.current.kb_top_k, desk.current.retrieval_k) == (5, 11)
    assert not desk.current.groq_api_key.get_secret_value()
    desk.change("retrieval_k", 12)
    assert json.loads(settings.app_settings_path.read_text("utf-8"))["provider"] == "demo"


def test_a_choice_that_cannot_be_written_is_told_and_does_not_hold(settings: Settings) -> None:
    settings.data_dir.write_text("a file where the folder should be")
    desk = LiveSettings(settings)
    with raises("choice_not_kept"):
        desk.change("kb_top_k", 3)
    assert desk.current.kb_top_k == 5


def test_chat_answers_under_the_changed_settings_from_the_next_question_on(app: App) -> None:
    record = app.kbs.add("a.md", "# Faro\n\nEl faro se encendió en 1901.\n\n# Puente\n\nEs de hierro.\n".encode())
    app.live.change("retrieval_strategy", "LEXICAL")
    assert app.answering.ask(record.kb_id, "¿Cuándo se encendió el faro?").trace is not None
    before = app.kbs.pipeline(record.kb_id)
    assert app.kbs.pipeline(record.kb_id) is before
    app.live.change("kb_top_k", 1)
    assert app.kbs.pipeline(record.kb_id) is not before
    assert len(app.answering.ask(record.kb_id, "¿Cuándo se encendió el faro? ¿Y el puente?").trace.chunks_final) == 1
