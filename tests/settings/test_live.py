"""The settings in effect: their sources, and what Admin may change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pytest
from pydantic_settings import BaseSettings

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings import fields
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.forms import CHANGEABLE, form_of
from chatbot_mvp.settings.kinds import GROUPS, RUN_GROUPS, Row
from chatbot_mvp.settings.live import LiveSettings, SettingRow
from chatbot_mvp.settings.model import ADDRESSES, SECRETS, Settings, load_settings
from tests.raising import raises


def row_of(desk: LiveSettings, name: str) -> SettingRow:
    return next(row for row in desk.rows() if row.form.name == name)


def test_every_setting_is_in_one_group_and_has_a_form() -> None:
    assert list(ROWS) == list(Settings.model_fields)
    assert {row.group for row in ROWS.values()} == set(GROUPS)
    assert {row.run_group for row in ROWS.values()} == set(RUN_GROUPS)
    assert [form_of(name).group for name in ("milvus_address", "ray_address")] == ["vectors", "data"]
    assert form_of("retrieval_k").kind == "whole"
    assert (form_of("retrieval_k").low, form_of("retrieval_k").high) == (1, 1_000)
    assert form_of("retrieval_fusion").choices == ("rrf", "weighted")


def test_a_row_leaves_its_groups_to_the_section_and_a_group_that_is_none_is_the_one_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Garden(BaseSettings):
        gate: Annotated[str, Row("ranking", group="kb")] = "open"
        wall: str = ""

    monkeypatch.setattr(fields, "_ADDED", (SettingsSection(Garden, group="nowhere", run_group="nowhere"),))
    monkeypatch.setattr(fields, "SettingFields", Garden)
    assert fields._rows() == {"gate": Row("ranking", "kb", "other"), "wall": Row("", "general", "other")}


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


def test_a_preset_for_everybody_stands_in_place_of_the_defaults_below_what_is_set(clean_env: Path) -> None:
    (clean_env / ".env").write_text("DEFAULT_PRESET=kb_chat\nKB_TOP_K=9\nPROVIDER=demo\n", "utf-8")
    live = build_app(load_settings()).live
    assert (live.current.retrieval_strategy, live.current.kb_top_k) == ("KB_CHAT", 9)
    assert (live.current.kb_min_score, live.current.chat_asks_back) == (0.12, False)
    live.change("kb_min_score", 0.3)
    assert live.current.kb_min_score == 0.3
    live.reset("kb_min_score")
    assert live.current.kb_min_score == 0.12


def test_admin_switches_the_preset_for_everybody_on_and_off(clean_env: Path) -> None:
    live = build_app(load_settings(provider="demo")).live
    usual = live.current
    live.change("default_preset", "kb_chat")
    assert (live.current.retrieval_strategy, live.current.chat_withholds) == ("KB_CHAT", False)
    live.change("default_preset", "")
    assert live.current == usual
