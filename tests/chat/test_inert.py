"""Text of others that leaves the program as Markdown loads and links nothing; formatting, code and citations stay."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.inert import inert, inert_line
from chatbot_mvp.chat.transcripts import turn_markdown
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeChatModel, FakeEmbedder, fake_app

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""Any reader, with HTML, links and definitions."""
LIVE = {"image", "link_open", "html_inline", "html_block"}
PIECES = (
    *("![x](http://c.example/a.png)", "[a](http://c.example)", "[r]: http://c.example", "![r]", "[1]", "[1]: http://c"),
    *("<img src=http://c.example>", "<!-- ", "-->", "<http://c.example>", "`", "``", "```", "~~~", "````", "\\", "|"),
    *("\n", "\n\n", "    ", "  ", "- ", "> ", "1. ", "texto", "# ", "\t", "\r", "&lt;", "|--|"),
)


def live(text: str) -> list[str]:
    tokens: list[Any] = READER.parse(text)
    inside = chain.from_iterable(token.children or () for token in tokens)
    return [f"{token.type} {token.content or token.attrs}" for token in (*tokens, *inside) if token.type in LIVE]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), min_size=1, max_size=3))
def test_no_texts_one_below_another_load_or_link_anything(texts: list[str]) -> None:
    assert live("\n\n".join(inert(text) for text in texts)) == []
    assert live("\n".join(f"- {inert_line(text)}" for text in texts)) == []


@pytest.mark.parametrize(
    "text",
    [
        "**Sí**: 23 días [1][2], y `a[0]`.\n\n- uno <= dos\n- tres [3]",
        "1. Haga:\n\n   ```bash\n   test [ -f a ] && echo <b>\n   ```\n2. Fin",
        "| a | b |\n|---|---|\n| `x[0]` | `<b>` |",
        "    sangrado[0] <b>",
    ],
)
def test_formatting_code_and_citations_are_as_they_were(text: str) -> None:
    shown = inert(text)
    assert READER.render(shown).replace("&lt;", "<") == READER.render(text).replace("&lt;", "<")
    assert "\\" not in shown


def test_a_block_of_code_without_end_does_not_swallow_what_follows() -> None:
    first, second = inert("```\nsin fin"), inert("```\n![x](http://c.example)\n```")
    assert live(f"{first}\n\n{second}") == []
    assert "<h1>" in READER.render(f"{first}\n\n# fin")


PLANTED = "![x](http://c.example/a.png) <img src=http://c.example> [aquí](http://c.example)"
DOCUMENT = f"""# Vacaciones {PLANTED}

Los empleados tienen 23 días laborables de vacaciones al año. {PLANTED}

# Oficinas

La oficina central está en la calle Mayor y abre a las ocho. {PLANTED}
"""


@pytest.mark.parametrize(
    "question", ["¿Cuántos días de vacaciones tienen los empleados?", "¿Qué vacaciones hay en Marte?"]
)
def test_conversations_and_copied_answers_are_inert(settings: Settings, question: str) -> None:
    reply = f"Tienen 23 días laborables de vacaciones [1]. {PLANTED}"
    app = fake_app(
        settings.with_changes(retrieval_strategy="LEXICAL"),
        embedder=lambda _: FakeEmbedder(),
        chat_model=lambda: FakeChatModel(reply),
    )
    record = app.kbs.add(f"manual-{PLANTED.replace('/', '')}.md", DOCUMENT.encode())
    session = app.chat.new_session()
    conversation = app.chat.start(session, record.kb_id, record.kb_name)
    assert app.chat.begin(session, conversation, f"{question} {PLANTED}", UserContext("strict", "es")).join(20)
    whole = app.chat.export(session, conversation, "markdown", "es")
    [turn] = app.chat.conversation(session, conversation).turns
    for text in (whole, turn_markdown(turn, "es", question=True)):
        assert text.count("c.example") > 1
        assert live(text) == []
