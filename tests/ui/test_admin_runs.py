"""The form of a run and the settings in Admin, through AppTest."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import RUN_PARAMETERS
from chatbot_mvp.settings.model import Settings
from streamlit_app.admin.run_fields import key_of
from streamlit_app.shared.configuration import setting_label
from streamlit_app.shared.i18n import LANGUAGE_NAMES, catalogue
from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page, texts
from tests.waiting import wait_for_jobs


@pytest.fixture(autouse=True)
def usual_strategy(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set outside cannot be changed in Admin."""
    monkeypatch.delenv("RETRIEVAL_STRATEGY")
    monkeypatch.setenv("PROVIDER", "demo")


def clicked(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    assert not page.exception, page.exception
    return page


@pytest.mark.parametrize("language", list(LANGUAGE_NAMES))
def test_every_parameter_of_a_run_has_a_label_and_help_and_is_a_setting(language: str) -> None:
    page = open_page("admin", language)
    kinds = ("selectbox", "number_input", "toggle", "text_input", "multiselect")
    drawn = {widget.key: widget for kind in kinds for widget in getattr(page, kind)}
    for group, names in RUN_PARAMETERS.items():
        assert catalogue(language)[f"admin.run.{group}"]
        for name in names:
            assert name in Settings.model_fields
            widget = drawn[key_of(name)]
            if name != "generation_enabled":  # says who answers
                assert widget.label == catalogue(language)[f"admin.label.{name}"]
                assert widget.help == catalogue(language)[f"admin.setting.{name}"]
            assert widget.help
    for name, field in Settings.model_fields.items():
        text = catalogue(language)[f"admin.setting.{name}"]
        assert text
        assert (text == field.description) == (language == "en")


def test_a_preset_fills_the_form_and_the_run_goes_by_it() -> None:
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("built-in:quick").run()
    assert "50 preguntas" in texts(page)
    assert (page.selectbox(key="run_strategy").value, page.number_input(key="run_max_queries").value) == ("LEXICAL", 50)
    assert not page.toggle(key="run_generate").value
    page.number_input(key="run_max_queries").set_value(3).run()
    clicked(page, "run_start")
    assert not page.error
    wait_for_jobs(get_app().runs.jobs)
    [run], _ = get_app().archive.runs()
    assert (run.strategy, run.queries, run.dataset) == ("LEXICAL", 3, "valle_multihop")
    page.selectbox(key="run_preset").set_value("").run()
    assert page.selectbox(key="run_strategy").value == "BRIDGE_HYBRID"


@pytest.mark.slow
def test_a_system_is_a_preset_whose_settings_without_a_field_are_shown_and_run() -> None:
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("built-in:kb_chat").run()
    assert page.selectbox(key="run_strategy").value == "KB_CHAT"
    assert "KB_DOUBT_EVIDENCE=1" in texts(page).replace("\\", "")
    page.number_input(key="run_max_queries").set_value(3).run()
    # Set back to the value of the settings: the field counts, not the preset.
    page.number_input(key="run_kb_top_k").set_value(get_app().settings.kb_top_k).run()
    page.toggle(key="run_generate").set_value(False).run()
    clicked(page, "run_start")
    assert not page.error
    wait_for_jobs(get_app().runs.jobs)
    [run], _ = get_app().archive.runs()
    manifest = get_app().details.manifest(run.run_id)
    assert (manifest.preset, manifest.strategy) == ("kb_chat", "KB_CHAT")
    ran = manifest.settings_masked
    assert (ran["kb_doubt_evidence"], ran["kb_min_score"], ran["kb_top_k"]) == (1.0, 0.12, 5)
    page.selectbox(key="run_preset").set_value("").run()
    assert "KB_DOUBT_EVIDENCE" not in texts(page).replace("\\", "")


@pytest.mark.slow
def test_a_preset_that_was_saved_from_a_system_keeps_what_has_no_field() -> None:
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("built-in:kb_chat").run()
    page.text_input(key="run_preset_name").input("Como el chat").run()
    clicked(page, "run_preset_save")
    [own] = [preset for preset in get_app().presets.all() if preset.own]
    assert dict(own.changes)["kb_doubt_evidence"] == 1.0
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("own:Como el chat").run()
    assert "KB_DOUBT_EVIDENCE=1" in texts(page).replace("\\", "")


@pytest.mark.slow
def test_a_preset_of_ones_own_is_kept_used_and_deleted() -> None:
    page = open_page("admin")
    page.selectbox(key="run_strategy").set_value("LEXICAL").run()
    page.number_input(key="run_retrieval_k").set_value(12).run()
    page.text_input(key="run_preset_name").input("Mi prueba").run()
    clicked(page, "run_preset_save")
    [own] = [preset for preset in get_app().presets.all() if preset.own]
    assert dict(own.changes) == {"retrieval_strategy": "LEXICAL", "retrieval_k": 12}
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("own:Mi prueba").run()
    assert page.number_input(key="run_retrieval_k").value == 12
    clicked(page, "run_preset_delete")
    assert not [preset for preset in get_app().presets.all() if preset.own]


@pytest.mark.slow
def test_parameters_without_effect_are_switched_off() -> None:
    page = open_page("admin")
    page.selectbox(key="run_strategy").set_value("LEXICAL").run()
    assert page.selectbox(key="run_retrieval_fusion").disabled
    assert page.number_input(key="run_dev_queries").disabled
    page.selectbox(key="run_strategy").set_value("BRIDGE").run()
    assert page.number_input(key="run_retrieval_pre_fusion_k").disabled
    assert page.toggle(key="run_query_expansion_llm").disabled
    page.selectbox(key="run_strategy").set_value("HYBRID").run()
    assert not page.number_input(key="run_retrieval_pre_fusion_k").disabled
    assert not page.toggle(key="run_query_expansion_llm").disabled
    page.selectbox(key="run_retrieval_fusion").set_value("rrf").run()
    assert not page.number_input(key="run_retrieval_rrf_k").disabled
    page.toggle(key="run_dev_mode").set_value(True).run()
    assert not page.number_input(key="run_dev_queries").disabled
    assert page.number_input(key="run_max_queries").disabled


@pytest.mark.slow
def test_settings_are_searched_changed_and_put_back() -> None:
    page = open_page("admin")
    page.text_input(key="settings_search").input("fragmentos llegar").run()
    [table] = [table.value for table in page.dataframe if "De dónde viene" in table.value]
    assert list(table["Variable"]) == ["KB_TOP_K"]
    assert next(iter(table)) == "Qué es", "words first"
    page.selectbox(key="settings_one").set_value("kb_top_k").run()
    page.number_input(key="setting-kb_top_k").set_value(4).run()
    clicked(page, "settings_save")
    assert get_app().settings.kb_top_k == 4
    [table] = [table.value for table in page.dataframe if "De dónde viene" in table.value]
    assert list(table["De dónde viene"]) == ["esta página"]
    page.run()
    assert page.number_input(key="run_kb_top_k").value == 4  # nobody had touched it
    clicked(page, "settings_reset")
    assert get_app().settings.kb_top_k == 5
    page.text_input(key="settings_search").input("provider=").run()
    assert "Ningún ajuste" in page.info[-1].value


def test_a_setting_that_is_set_outside_says_where_to_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    page = open_page("admin")
    assert "Longitud máxima de una base · KB_MAX_CHARS" in page.selectbox(key="settings_one").options
    page.selectbox(key="settings_one").set_value("provider").run()
    assert "Quite PROVIDER de allí" in texts(page)
    page.selectbox(key="settings_one").set_value("groq_api_key").run()
    [table] = [table.value for table in page.dataframe if "De dónde viene" in table.value]
    assert "gsk-very-secret" not in table.to_string() + texts(page)
    assert list(table[table["Variable"] == "GROQ_API_KEY"]["Valor"]) == ["definida"]


def test_marks_of_markdown_are_not_shown_where_it_is_not_read(data_dir: Path) -> None:
    assert not [name for name in Settings.model_fields if "`" in setting_label(name)]
    [table] = [each.value for each in open_page("admin").dataframe if "Qué es" in each.value]
    assert len(table) > 50 and not table["Qué es"].str.contains("`").any()
