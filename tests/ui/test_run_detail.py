"""One run in full, several compared, and a run's search in the chat: AppTest over runs that were really made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from chatbot_mvp.settings.model import MASK
from streamlit_app.shared.state import get_app
from tests.conversation_set import write_garden
from tests.ui.test_pages import PAGES, every_question, open_newest, open_page, texts

WAYS = ("solo palabras", "palabras y enlaces entre documentos")
QUESTION = "¿Cuántos días laborables de vacaciones hay por año?"


def box(app: AppTest, start: str) -> Any:
    """The one widget to choose from whose key begins like that."""
    [found] = [each for each in [*app.selectbox, *app.multiselect] if (each.key or "").startswith(start)]
    return found


def cells(app: AppTest) -> str:
    return "\n".join(str(cell) for table in app.dataframe for cell in table.value.to_numpy().ravel())


def questions(app: AppTest) -> set[str]:
    """Those of the table of questions."""
    [table] = [table.value for table in app.dataframe if "Documentos correctos" in table.value]
    return set(table["Pregunta"])


def damaged_by(run_id: str, data_dir: Path, **changes: Any) -> None:
    path = data_dir / "results" / run_id / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "settings_masked": {**manifest["settings_masked"], **changes}}), "utf-8")


@pytest.mark.usefixtures("known_vectors")
def test_a_run_shows_spread_phases_configuration_and_trace(data_dir: Path) -> None:
    run_id = str(get_app().runs.run_now(kb_top_k=3, eval_max_queries=12).run_id)
    damaged_by(run_id, data_dir, groq_api_key="gsk-very-secret", llm_base_url="http://me:very-secret@host/v1")
    result = data_dir / "results" / run_id / f"{run_id}.json"
    counts = {"passages": 20, "without": 1, "written": 95, "kept": 88}
    values = {**json.loads(result.read_text("utf-8")), "passage_questions": counts}
    result.write_text(json.dumps(values, indent=2), "utf-8")
    page = box(open_newest(), "query-").select_index(0).run()
    said = texts(page)
    assert "para los 20 fragmentos: 95; se usan 88" in said
    for text in ("Distribución", "Tiempo y coste por fase", "Buscar", "mediana", "Subrayado continuo"):
        assert text in said + cells(page)
    assert "KB_TOP_K" in cells(page)
    assert "● Cambiado" in cells(page)
    assert "RETRIEVAL_K" not in cells(page)  # as it is by default
    page = page.toggle(key=f"changed-{run_id}").set_value(False).run()
    assert "RETRIEVAL_K" in cells(page)
    assert "very-secret" not in cells(page) + texts(page)
    assert MASK not in cells(page)
    # How long a question took can be looked at in place of a metric.
    page = box(page, "distribution-").set_value("time:search").run()
    assert not page.exception
    assert "mediana" in texts(page)
    assert any("Traza" in expander.label for expander in page.expander)
    assert "→ lista conjunta: " in texts(page)


def test_a_turn_is_shown_with_what_was_said_before_and_what_was_searched(data_dir: Path, tmp_path: Path) -> None:
    garden = write_garden(tmp_path / "garden")
    changes = {"retrieval_strategy": "LEXICAL", "generation_enabled": False}
    get_app().runs.run_now(mteb_dataset_name=str(garden), **changes)
    page = every_question(open_newest("en"))
    assert "Asked before" not in texts(page)  # none is chosen
    chosen = box(page, "query-")
    page = chosen.set_value(next(place for place, name in enumerate(chosen.options) if "water them" in name)).run()
    assert not page.exception
    assert "Asked before: When do I prune roses?" in texts(page)
    assert "How often do I water them?" in texts(page)
    assert "searched for" in cells(page)


@pytest.mark.parametrize("language", ["es", "en"])
def test_a_run_of_one_question_without_answers(data_dir: Path, language: str) -> None:
    get_app().runs.run_now(eval_max_queries=1, generation_enabled=False)
    page = open_newest(language)
    assert not page.error
    assert ("1 de 1 preguntas" if language == "es" else "1 of 1 questions") in texts(page)


@pytest.mark.parametrize(("language", "told"), [("es", "a ciegas; faltan"), ("en", "blind;")])
def test_a_run_over_a_blind_slice_says_how_many_gold_documents_are_missing(
    data_dir: Path, language: str, told: str
) -> None:
    own: dict[str, Any] = {"eval_max_queries": 5, "eval_max_corpus": 30, "generation_enabled": False}
    result = get_app().runs.run_now(retrieval_strategy="LEXICAL", eval_corpus_slice="blind", **own)
    page = open_newest(language)
    assert not page.error
    [caption] = [each.value for each in page.caption if told in each.value]
    assert str(result.gold_missing) in caption


@pytest.mark.slow
def test_questions_are_filtered_and_the_chosen_one_is_shown(data_dir: Path) -> None:
    run_id = str(get_app().runs.run_now(kb_top_k=3, generation_enabled=False).run_id)
    rows = get_app().archive.run(run_id).per_query
    page = open_newest()
    failed = {row.question for row in rows if row.cause != "ok"}
    assert questions(page) == failed != {row.question for row in rows}
    page = every_question(page)
    assert questions(page) == {row.question for row in rows}
    page = page.text_input(key=f"search-{run_id}").set_value("año murió").run()
    wanted = {row.question for row in rows if "año murió" in row.question}
    assert questions(page) == wanted
    page = page.text_input(key=f"search-{run_id}").set_value("").run()
    page = box(page, "metric-").set_value("recall@5").run()
    page = page.slider(key=f"range-{run_id}-recall@5").set_value((0.0, 0.5)).run()
    assert questions(page) == {row.question for row in rows if (row.metrics["recall@5"] or 0) <= 0.5}
    page = box(page, "metric-").set_value(None).run()
    page = box(page, "group-").set_value(("question_type", "comparison")).run()
    assert questions(page) == {row.question for row in rows if row.question_type == "comparison"}
    choice = box(page, "query-")
    position = choice.options.index(sorted(choice.options)[0])
    page = choice.select_index(position).run()
    shown = sorted(choice.options)[0]
    assert any(shown.split("(")[0].strip("¿?") in value.value.replace("\\", "") for value in page.markdown)
    page = page.text_input(key=f"search-{run_id}").set_value("nothing has these words").run()
    assert "Ninguna pregunta cumple" in texts(page)


@pytest.mark.slow
def test_five_runs_are_compared_and_a_question_is_seen_in_all_of_them(data_dir: Path) -> None:
    app = get_app()
    short: dict[str, Any] = {"eval_max_queries": 12, "generation_enabled": False}
    base = str(app.runs.run_now(retrieval_k=10, **short).run_id)
    others = [
        str(app.runs.run_now(retrieval_strategy="BRIDGE", **short).run_id),
        *(str(app.runs.run_now(kb_top_k=top_k, **short).run_id) for top_k in (1, 3, 4)),
    ]
    alone = str(app.runs.run_now(eval_max_queries=3, generation_enabled=False).run_id)
    page = open_page("evaluation", compare=base)
    choice = box(page, "compare-others-")
    assert len(choice.options) == 4
    assert "Tiene otras preguntas" in cells(page)
    page = choice.set_value(others).run()
    assert not page.exception
    [deltas] = [table.value for table in page.dataframe if "p corregida" in table.value]
    expected = app.details.compare([base, *others])
    assert len(deltas) == sum(len(run.metrics) for run in expected.runs)
    [settings] = [table.value for table in page.dataframe if "KB_TOP_K" in set(table.value.iloc[:, -1])][-1:]
    assert list(settings.columns) == ["Ajuste", *"ABCDE", "Nombre en la configuración"]
    [top_k] = [list(row)[1:] for row in settings.to_numpy() if row[-1] == "KB_TOP_K"]
    assert top_k == ["5", "5", "1", "3", "4", "KB_TOP_K"]
    # Another base: what can stay of the choice stays, and the former base is one of the others.
    page = box(page, "compare-base").set_value(others[0]).run()
    assert box(page, "compare-others-").value == [base, *others[1:]]
    # By what was found first nothing changes, so the first metric by which something does is shown.
    assert box(page, "compare-metric-").value != "hit@1"
    assert "Ninguna pregunta cambia." not in texts(page)
    page = box(page, "compare-query-").select_index(0).run()
    assert not page.exception
    assert {f"**{letter} · " for letter in "ABCDE"} <= {value.value[:6] for value in page.markdown}
    # The run with other questions has nothing to be compared with.
    page = box(page, "compare-base").set_value(alone).run()
    assert box(page, "compare-others-").disabled
    assert "hacen falta dos ejecuciones" in texts(page)


def chat_after(page: AppTest, run_id: str) -> AppTest:
    page.button(key=f"use-in-chat-{run_id}").click().run()
    return page.switch_page(PAGES["chat"]).run()


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_the_chat_searches_as_a_run_did_until_it_is_told_not_to(data_dir: Path) -> None:
    """The answers' records say with which strategy each was searched; another session's chat stays as it was."""
    app = get_app()
    app.kbs.add_sample()
    run_id = str(app.runs.run_now(retrieval_strategy="BRIDGE", kb_top_k=2, eval_max_queries=3).run_id)
    page = chat_after(open_newest(), run_id)
    assert f"El chat busca con la configuración de la ejecución **{WAYS[1]}**" in texts(page).replace("\\", "")
    assert "`retrieval_strategy` = BRIDGE" in texts(page).replace("\\_", "_")
    assert "una base no las tiene" in texts(page)
    [top_k] = [slider for slider in page.slider if "kb_top_k" in slider.key]
    assert top_k.value == 2
    page.chat_input[0].set_value(QUESTION).run()
    assert searched_with(page) == ["BRIDGE"]
    page.button(key="chat-profile-back").click().run()
    assert "El chat busca con la configuración" not in texts(page)
    [top_k] = [slider for slider in page.slider if "kb_top_k" in slider.key]
    assert top_k.value == app.settings.kb_top_k
    page.chat_input[0].set_value(QUESTION).run()
    assert searched_with(page) == ["BRIDGE", "LEXICAL"]
    other = open_page("chat")
    assert "El chat busca con la configuración" not in texts(other)


@pytest.mark.usefixtures("known_vectors")
def test_the_chat_works_as_a_system_until_another_is_chosen(data_dir: Path) -> None:
    app = get_app()
    app.kbs.add_sample()
    page = open_page("chat")
    assert system_box(page).value == "default"
    system_box(page).set_value("kb_chat").run()
    assert "El chat trabaja como el sistema" in texts(page)
    assert "KB_CHAT" in texts(page).replace("\\", "")
    [top_k] = [slider for slider in page.slider if "kb_top_k" in slider.key]
    assert top_k.value == 4
    page.chat_input[0].set_value(QUESTION).run()
    assert searched_with(page) == ["KB_CHAT"]
    # It needs a language model, and there is none: the chat stays as it is, and says why.
    system_box(page).set_value("rag_p_contextual_hybrid").run()
    assert "necesita un modelo de lenguaje" in " ".join(warning.value for warning in page.warning)
    assert system_box(page).value == "kb_chat"
    system_box(page).set_value("default").run()
    assert not page.warning
    assert "El chat trabaja como el sistema" not in texts(page)
    page.chat_input[0].set_value(QUESTION).run()
    assert searched_with(page) == ["KB_CHAT", "LEXICAL"]


def system_box(page: AppTest) -> Selectbox[str]:
    [found] = [box for box in page.selectbox if str(box.key).startswith("chat_system-")]
    return found


def searched_with(page: AppTest) -> list[str]:
    """The strategies of the answers of a session's only conversation."""
    session = page.session_state["chat_session"]
    [conversation] = get_app().chat.conversations(session, get_app().kbs.records()[0].kb_id)
    return [turn.answer.debug["strategy"] for turn in conversation.turns if turn.answer is not None]


@pytest.mark.usefixtures("known_vectors")
def test_a_run_that_the_chat_cannot_follow_says_why(data_dir: Path) -> None:
    run_id = str(get_app().runs.run_now(eval_max_queries=2).run_id)
    damaged_by(run_id, data_dir, retrieval_strategy="CONTEXTUAL_HYBRID")
    page = open_newest()
    assert page.button(key=f"use-in-chat-{run_id}").disabled
    assert "necesita un modelo de lenguaje" in texts(page)
