"""The chat page through AppTest, with stand-ins for a model; strategy LEXICAL, so that no test waits for vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import UserContext, check_in_base
from chatbot_mvp.app import App, build_app
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import load_settings
from streamlit_app.chat.answers import marked
from streamlit_app.shared import state
from streamlit_app.shared.state import get_app
from tests.fakes import FailingChatModel, FakeChatModel, FakeEmbedder, FakeLanguageModel, fake_app
from tests.loopback import free_port
from tests.ui.test_pages import open_page, sources, texts

QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"
REPLY = (
    "Cada persona dispone de 23 días laborables de vacaciones por año natural [1]. "
    "La empresa regala un yate por $500 [1]. Fin [8]."
)

Start = Callable[..., App]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Model -> the App that the page gets, with the sample knowledge base; ``expansion`` replies to expand queries."""

    def start(model: ChatModel, expansion: Callable[[str], str] | None = None) -> App:
        settings = load_settings(
            data_dir=tmp_path,
            retrieval_strategy="LEXICAL",
            query_expansion_llm=expansion is not None,
        )
        asked_model = FakeLanguageModel(expansion).model if expansion else None
        app = fake_app(settings, lambda _: FakeEmbedder(), lambda: model, lambda *_: asked_model)
        app.kbs.add_sample()
        monkeypatch.setattr(state, "build_app", lambda _: app)
        get_app.clear()
        return app

    yield start
    get_app.clear()


def asked(page: AppTest, question: str) -> AppTest:
    page.chat_input[0].set_value(question).run()
    assert not page.exception, page.exception
    return page


def general(page: AppTest) -> AppTest:
    page.session_state["chat_mode"] = "general"
    return page.run()


def test_a_folder_that_takes_no_conversation_answers_and_says_so(start: Start, tmp_path: Path) -> None:
    start(FakeChatModel(REPLY))
    (tmp_path / "conversations").write_text("")  # as a folder that root may not write either
    page = asked(open_page("chat"), QUESTION)
    assert sources(page) == ["[1] Vacaciones"]
    assert "Esta conversación no se conserva" in texts(page)
    assert not page.error


def test_unsupported_sentences_are_marked_and_citations_of_nothing_are_gone(start: Start) -> None:
    start(FakeChatModel(REPLY))
    page = asked(open_page("chat"), QUESTION)
    shown = texts(page)
    assert ":orange-background[La empresa regala un yate por \\$500]" in shown
    assert ":orange-background[Cada persona" not in shown
    assert "[8]" not in shown
    assert "sin respaldo" not in shown
    assert "no tienen respaldo suficiente" in shown or "no tiene respaldo suficiente" in shown
    assert sources(page) == ["[1] Vacaciones"]
    assert re.search(r"año natural \[\\\[1\\\]\]\(#source-\w+-1 ", shown)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "Cada persona dispone de 30 días laborables de vacaciones",
            "La respuesta dice «30 días»; el pasaje, «23 días».",
        ),
        (
            "Cada persona no dispone de 23 días laborables de vacaciones",
            "La respuesta lo niega y el pasaje no: «dispone».",
        ),
    ],
)
def test_a_line_says_what_an_unsupported_sentence_says_otherwise(start: Start, said: str, line: str) -> None:
    start(FakeChatModel(f"Cada persona dispone de 23 días laborables de vacaciones. [1] {said} por año natural. [1]"))
    shown = texts(asked(open_page("chat"), QUESTION))
    assert line in shown
    assert shown.count(":material/difference:") == 1


def test_an_answer_of_the_models_own_is_told(start: Start) -> None:
    start(FakeChatModel("Mide 330 metros. [1]"))
    page = asked(general(open_page("chat")), "¿Qué altura tiene la torre Eiffel?")
    assert "Esta respuesta no procede de la base." in texts(page)
    assert not sources(page)


def test_a_provider_that_fails_is_told_and_the_question_answered(start: Start) -> None:
    start(FailingChatModel())
    page = asked(open_page("chat"), QUESTION)
    assert "en su lugar contesta «demo»" in page.warning[0].value
    assert "The provider 'failing/model' is away." in page.warning[0].value
    assert "23 días laborables" in texts(page)


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_debug_panel_shows_how_an_answer_came_about(start: Start, language: str) -> None:
    start(FakeChatModel(REPLY))
    page = open_page("chat", language)
    page.toggle(key="chat_debug").set_value(True).run()
    page = asked(page, QUESTION)
    panel = page.expander[-1]
    assert panel.label == {"es": "Detalle de la búsqueda", "en": "Search details"}[language]
    names = set(re.findall("<dt[^>]*>(.*?)</dt>", texts(page)))
    assert {"query_expanded", "expansion_notes", "evidence", "stitching_added_count"} <= names
    assert {"chunk_id", "score", "bm25_norm", "overlap_norm"} <= set(panel.dataframe[0].value.columns)
    assert {"es": "De qué se compone la puntuación", "en": "What the score is made of"}[language] in texts(page)
    assert "bm25_norm</span>" in texts(page)
    assert "<datos-" in panel.code[1].value


def test_the_debug_panel_says_which_stage_failed_and_why(start: Start) -> None:
    def fail(_: str) -> str:
        raise ConnectionError("no route")

    start(DemoModel(), expansion=fail)
    page = open_page("chat")
    page.toggle(key="chat_debug").set_value(True).run()
    assert "llm_expansion: no route" in texts(asked(page, "¿vacaciones?"))


def test_knobs_reach_the_search(start: Start) -> None:
    app = start(FakeChatModel(REPLY))
    page = open_page("chat")
    kb_id = app.kbs.records()[0].kb_id
    page.slider(key=f"knob-kb_top_k-{kb_id}").set_value(1).run()
    page.toggle(key="chat_debug").set_value(True).run()
    page = asked(page, "vacaciones dietas teletrabajo permisos")
    conversation = app.chat.conversations(page.session_state["chat_session"], kb_id)[0]
    answer = conversation.turns[0].answer
    assert answer is not None
    assert len(answer.debug["chunks_final"]) - answer.debug["stitching_added_count"] <= 1


def test_the_same_visitor_finds_the_conversation_again(start: Start) -> None:
    start(DemoModel())
    first = asked(open_page("chat"), QUESTION)
    assert "s" not in first.query_params
    again = open_page("chat", visitor=first.session_state["chat_session"])
    assert QUESTION in texts(again)
    assert "23 días laborables" in texts(again)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["a" * 32, "../../etc", "x", "<script>", "0" * 500])
def test_an_address_names_no_visitor(start: Start, name: str) -> None:
    app = start(DemoModel())
    page = asked(open_page("chat", s=name), QUESTION)
    assert "23 días laborables" in texts(page)
    [folder] = app.settings.conversations_dir.iterdir()
    assert folder.name == page.session_state["chat_session"] != name


def test_a_turn_that_a_dead_server_left_is_told(start: Start) -> None:
    app = start(DemoModel())
    page = asked(open_page("chat"), QUESTION)
    path = next(app.settings.conversations_dir.rglob("*.jsonl"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "question", "turn": "zz", "question": "¿Y?", "mode": "strict", "at": ""}\n')
        file.write('{"type": "text", "turn": "zz", "text": "A medias"}\n')
    page.run()
    assert "quedó interrumpida" in page.warning[0].value
    assert "A medias" in texts(page)


def test_any_text_is_checked_against_the_base_as_the_command_does(start: Start) -> None:
    app = start(FakeChatModel("nadie pregunta a un modelo"))
    text = (
        "Cada persona dispone de 23 días laborables de vacaciones por año natural. "
        "Cada persona dispone de 40 días laborables de vacaciones por año natural. "
        "El *yate* zarpó ayer rumbo al planeta Marte."
    )
    page = open_page("chat")
    page.text_area(key="check-area").set_value(text)
    page = page.button(key="check-do").click().run()
    assert not page.exception
    shown = texts(page)
    checked = check_in_base(text, app.kbs, app.kbs.records()[0].kb_id)
    assert [one["tick"] for one in checked.statements] == [True, False, False]
    for sign in ("Está", "Dice otra cosa", "No está"):
        assert shown.count(f"**{sign}** · ") == 1
    assert "La respuesta dice «40 días»; el pasaje, «23 días»." in shown and r"\*yate\*" in shown


def test_a_new_conversation_leaves_the_other_in_the_side_bar(start: Start) -> None:
    app = start(DemoModel())
    page = asked(open_page("chat"), QUESTION)
    next(button for button in page.button if button.label == "Nueva conversación").click().run()
    assert QUESTION not in texts(page)
    asked(page, "¿Cuánto se paga por kilómetro en coche propio?")
    kb_id = app.kbs.records()[0].kb_id
    assert len(app.chat.conversations(page.session_state["chat_session"], kb_id)) == 2
    [_, other] = [button for button in page.sidebar.button if (button.key or "").startswith("talk-open-")]
    assert other.label == QUESTION
    other.click().run()
    assert said(page, "23 días laborables", "kilómetro en coche") == [True, False]


def test_twenty_sessions_at_once_each_see_their_own(start: Start) -> None:
    app = start(DemoModel())
    kb = app.kbs.records()[0]

    def session(n: int) -> list[str]:
        name = app.chat.new_session()
        conversation_id = app.chat.start(name, kb.kb_id, kb.kb_name)
        for question in (f"¿Cuántos días de vacaciones hay? ({n})", "¿Y cómo se piden?"):
            app.chat.begin(name, conversation_id, question, UserContext()).join(60)
        return [turn.question for turn in app.chat.conversation(name, conversation_id).turns]

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(session, range(20)))
    assert found == [[f"¿Cuántos días de vacaciones hay? ({n})", "¿Y cómo se piden?"] for n in range(20)]


def test_a_marked_list_item_stays_a_list_item(start: Start) -> None:
    app = start(
        FakeChatModel(
            "Hay 23 días laborables de vacaciones [1].\n\n- Un yate para [cada] jefe [1].\n- Otro yate más [1]."
        )
    )
    page = asked(open_page("chat"), QUESTION)
    session = page.session_state["chat_session"]
    answer = app.chat.conversations(session, app.kbs.records()[0].kb_id)[0].turns[0].answer
    assert answer is not None
    assert "- :orange-background[Un yate para \\[cada\\] jefe]" in marked(answer)


# --- three outcomes

NEAR = "¿Cuánto dura el permiso de paternidad?"
ELSEWHERE = "¿Xqzw kjxv?"


def said(page: AppTest, *parts: str) -> list[bool]:
    """Whether each part is shown beside the side bar, whose list has the questions of other conversations."""
    shown = "\n".join([texts(page), *(button.label for button in page.main.button)])
    return [part in shown for part in parts]


@pytest.mark.parametrize(
    ("language", "lines", "title", "counts"),
    [
        (
            "es",
            (
                "**Respondida**",
                "**Lo más cercano** · los documentos no dan una respuesta segura · 3 pasajes cercanos",
                "trata de otro asunto",
            ),
            "Responder con este pasaje",
            ("1 respondida", "1 con pasajes cercanos", "1 sobre otro asunto"),
        ),
        (
            "en",
            (
                "**Answered**",
                "**Closest** · the documents give no certain answer · 3 passages",
                "is about something else",
            ),
            "Answer from this passage",
            ("1 answered", "1 with near passages", "1 about something else"),
        ),
    ],
)
def test_each_outcome_has_its_line_and_its_count(
    start: Start, language: str, lines: tuple[str, ...], title: str, counts: tuple[str, ...]
) -> None:
    start(DemoModel())
    page = asked(open_page("chat", language), "¿Cuánto se paga por kilómetro en coche propio?")
    assert said(page, *lines, title) == [True, False, False, False]
    page = asked(page, NEAR)
    assert said(page, *lines, title) == [True, True, False, True]
    page = asked(page, ELSEWHERE)
    assert said(page, *lines, title) == [True, True, True, True]
    [shown] = [caption.value for caption in page.caption if counts[0] in caption.value]
    assert all(count in shown for count in counts)


def test_nearest_passages_are_no_sources_and_their_sentence_is_marked(start: Start) -> None:
    start(DemoModel())
    page = asked(open_page("chat"), NEAR)
    assert sources(page) == []
    assert said(page, "**Lo más cercano**", "<mark>Los permisos retribuidos") == [True] * 2
    assert said(page, "Reformule su pregunta", "- pregunta ampliada: no\n- pasajes reordenados: no") == [True] * 2
    assert said(page, "No encuentro en la base", "Sin respuesta") == [False] * 2


def test_a_click_on_what_was_meant_asks_it(start: Start) -> None:
    start(DemoModel())
    page = asked(open_page("chat"), "¿Qué formacción reciben los astronautas?")
    labels = [button.label for button in page.button if (button.key or "").startswith("meant-")]
    assert labels == ["¿Qué formación reciben los astronautas?", "¿Qué hay sobre «formación»?"]
    next(button for button in page.button if button.label == labels[1]).click().run()
    assert not page.exception
    assert "32 horas anuales de formación" in texts(page)
    assert "**Respondida" in texts(page)


def click(page: AppTest, key: str) -> AppTest:
    next(button for button in page.button if (button.key or "").startswith(key)).click().run()
    assert not page.exception, page.exception
    return page


def test_an_answer_from_a_passage_says_who_chose_it_and_both_stay(start: Start) -> None:
    start(DemoModel())
    page = click(asked(open_page("chat"), NEAR), "answer-")
    assert said(page, "Según el pasaje que usted eligió", "**Respondida", "2/2") == [True, False, True]
    page = click(page, "previous-")
    assert said(page, "Según el pasaje que usted eligió", "Lo más cercano", "1/2") == [False, True, True]


def test_an_edited_question_begins_a_branch_and_the_next_one_goes_on_in_the_branch_that_is_shown(start: Start) -> None:
    app = start(DemoModel())
    page = click(asked(open_page("chat"), QUESTION), "edit-")
    [box] = [each for each in page.text_area if str(each.key).startswith("edited-")]
    box.set_value("¿Cuánto se paga por kilómetro en coche propio?")
    next(button for button in page.button if button.label == "Preguntar").click().run()
    assert said(page, QUESTION, "por kilómetro en coche propio", "2/2") == [False, True, True]
    page = asked(click(page, "previous-"), "¿Y cómo se piden?")
    assert said(page, QUESTION, "por kilómetro en coche propio", "¿Y cómo se piden?") == [True, False, True]
    [conversation] = app.chat.conversations(page.session_state["chat_session"], app.kbs.records()[0].kb_id)
    first, edited, last = conversation.turns
    assert (first.after, edited.after, last.after) == ("", "", first.turn_id)
    assert said(page, "Tras la respuesta") == [False]
    assert said(click(page, "next-"), "Tras la respuesta 1 sigue 1 pregunta.") == [True]


def test_another_answer_is_asked_for_with_another_temperature_and_the_first_one_stays(start: Start) -> None:
    seen: list[float | None] = []

    def answer(request: ChatRequest) -> str:
        seen.append(request.options.temperature)
        return REPLY

    start(FakeChatModel(answer))
    page = click(asked(open_page("chat"), QUESTION), "again-")
    assert said(page, "2/2") == [True]
    assert seen == [0.0, 0.7]
    page = click(page, "language-")
    assert said(page, "3/3", "En inglés, a petición suya", "Respondida") == [True, True, False]


def test_the_address_of_a_message_opens_its_branch(start: Start) -> None:
    start(DemoModel())
    page = click(asked(open_page("chat"), NEAR), "answer-")
    [address] = [code.value for code in page.code if "m=" in code.value]
    first = next(b.key.removeprefix("previous-") for b in page.button if (b.key or "").startswith("previous-"))
    assert address.endswith(f"&m={first}")
    visitor = page.session_state["chat_session"]
    page = click(page, "previous-")
    [address] = [code.value for code in page.code if "m=" in code.value]
    again = open_page("chat", visitor=visitor, m=address.rpartition("=")[2])
    assert said(again, "1/2", "Lo más cercano") == [True] * 2


def test_a_model_whose_answer_nothing_supports_is_not_shown(start: Start) -> None:
    """Its words are in the search details only."""
    start(FakeChatModel("La empresa regala un yate [1]."))
    page = asked(open_page("chat"), QUESTION)
    assert said(page, "yate", "no respaldan ninguna de sus frases", "No encuentro en la base") == [False, True, False]
    page.toggle(key="chat_debug").set_value(True).run()
    assert "La empresa regala un yate [1]." in [code.value for code in page.code]


def test_each_outcome_can_be_rated(start: Start) -> None:
    app = start(DemoModel())
    page = open_page("chat")
    for question in (QUESTION, NEAR, ELSEWHERE):
        page = asked(page, question)
    # Below an answer the words are for screen readers only; they are in the page all the same.
    assert said(page, "¿Le sirve esta", "¿Le sirven estos pasajes?", "¿Es correcto no responder") == [True] * 3
    kb_id, session = app.kbs.records()[0].kb_id, page.session_state["chat_session"]
    for row, value in enumerate((1, 0, 0)):
        page.feedback[row].set_value(value).run()
        assert not page.exception
    conversation = app.chat.conversations(session, kb_id)[0]
    assert [turn.feedback.good for turn in conversation.turns if turn.feedback] == [True, False, False]
    for turn in conversation.turns[1:]:
        app.chat.add_question(session, conversation.conversation_id, turn.turn_id, None)
    added = [json.loads(line) for line in app.chat.questions_path(kb_id).read_text("utf-8").splitlines()]
    assert [entry["outcome"] for entry in added] == ["nearest", "refused"]


def test_general_mode_names_no_outcome(start: Start) -> None:
    start(DemoModel())
    page = asked(general(open_page("chat")), NEAR)
    assert said(page, "Lo más cercano", "Responder con este pasaje", "¿Le sirve") == [False] * 3


@pytest.mark.parametrize("password", ["", "a secret word"])
def test_whoever_may_choose_for_all_chooses_another_model_for_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    settings = load_settings(
        data_dir=tmp_path,
        retrieval_strategy="LEXICAL",
        openai_api_key="k",
        openai_base_url=f"http://127.0.0.1:{free_port()}",
        nim_max_retries=0,
        admin_password=password,
    )
    app = build_app(settings)
    app.kbs.add_sample()
    app.providers.choose("demo")
    monkeypatch.setattr(state, "build_app", lambda _: app)
    get_app.clear()
    page = open_page("chat")
    choices = [box for box in page.selectbox if box.key == "chat_provider"]
    if password:
        assert not choices
        assert said(page, "demo · citas literales") == [True]
    else:
        choices[0].set_value("openai").run()
        page = asked(page, QUESTION)
        assert "en su lugar contesta «demo»" in page.warning[0].value
        assert app.providers.chosen == "demo"
    get_app.clear()


def test_a_question_with_several_readings_is_asked_back_and_a_click_asks_the_clear_one(start: Start) -> None:
    app = start(DemoModel())
    text = "".join(
        f"# {name}\n\nQuién trabaja en {name}.\n\n## Horario\n\nEl horario de {name} es de {hour}:00 a 15:00.\n\n"
        for name, hour in (("Finanzas", 7), ("Ventas", 8))
    )
    app.kbs.add("oficina.md", text.encode())
    page = asked(open_page("chat"), "¿Cuál es el horario?")
    labels = {button.label for button in page.button if (button.key or "").startswith("reading-")}
    assert labels == {"¿Cuál es el horario (Finanzas)?", "¿Cuál es el horario (Ventas)?"}
    assert said(page, "Su pregunta puede significar varias cosas", "Finanzas &gt; Horario") == [True, False]
    next(button for button in page.button if button.label == "¿Cuál es el horario (Ventas)?").click().run()
    assert not page.exception
    assert "de 8:00 a 15:00" in texts(page)
