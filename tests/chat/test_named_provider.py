"""The provider that a question names, and that a stop is heard there."""

from __future__ import annotations

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE
from tests.chat.test_sessions import SESSION, begun, ended
from tests.server.silent_provider import SilentProvider
from tests.waiting import SOON_S, wait_until


def test_a_question_goes_to_the_provider_that_it_names_and_a_stop_cuts_its_connection(
    settings: Settings, silent: SilentProvider
) -> None:
    app = build_app(
        settings.with_changes(
            provider="demo",
            retrieval_strategy="LEXICAL",
            openai_api_key="k",
            openai_base_url=silent.url,
            llm_cache_enabled=False,
        )
    )
    chat, conversation_id = begun(app, INSIDE, UserContext(provider="openai"))
    [live] = chat.under_way(SESSION, conversation_id)
    wait_until(lambda: silent.came == 1, 20, "the request to the provider")
    chat.stop(SESSION, conversation_id)
    assert live.join(SOON_S)
    wait_until(lambda: silent.left == 1, SOON_S, "the provider to hear of the stop")
    [turn] = ended(chat, conversation_id)
    assert turn.answer is not None
    assert turn.answer.finish_reason == "cancelled"
    again = chat.begin(SESSION, conversation_id, INSIDE, UserContext())
    assert again.join(20.0)
    answer = chat.conversation(SESSION, conversation_id).turn(again.turn_id).answer
    assert answer is not None
    assert answer.model == "demo"
    assert silent.came == 1
