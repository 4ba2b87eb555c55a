"""Markdown in texts that are not ours is shown, not followed: by the functions that escape, and on every page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from streamlit_app.chat.answer_text import safe_markdown
from streamlit_app.shared.i18n import BREAK, Markdown, code, plain, t
from streamlit_app.shared.state import get_app
from tests.ui.planted import Planted, attempts, plant
from tests.ui.test_pages import open_page

SYNTAX = {
    "image": "![x](http://c.example/leak.png)",
    "reference": "![x][r]\n\n[r]: http://c.example/leak.png",
    "html": "<img src=http://c.example/leak.png onerror=alert(1)>",
    "script": "<script>alert(1)</script>",
    "link": "[a](javascript:alert(1))",
    "address": "http://c.example/a www.c.example a@c.example",
    "icon": ":material/skull: :streamlit: :smile:",
    "colour": ":red[x] :blue-background[y] ::leaf ::: container",
    "formula": "$x$ $$y$$",
    "entity": "&#33;[x]&#40;http&#58;//c.example&#41;",
}


def live(text: str) -> str:
    """What remains of a Markdown text without escaped characters and without the parts that draw nothing."""
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", text.replace(BREAK, "\0"))


@pytest.mark.parametrize("kind", SYNTAX)
@pytest.mark.parametrize("escape", [plain, safe_markdown])
def test_no_syntax_stays_alive(kind: str, escape: type[Markdown]) -> None:
    shown = live(escape(f"antes {SYNTAX[kind]} después"))
    assert not re.search(r"[\[\]<$&]|:[\w:]|:material/|https?:|www\.|@\w", shown), shown


def test_words_and_their_formatting_are_kept() -> None:
    assert plain("un_nombre 3.5 (a) 10:30") == "un_nombre 3.5 (a) 10\\:30"
    assert plain("1. uno\n- dos\n# tres") == "1\\. uno\n\\- dos\n\\# tres"
    assert safe_markdown("**Sí**: 23 días [1].\n\n- uno\n- dos") == "**Sí**: 23 días \\[1\\].\n\n- uno\n- dos"


def test_a_text_that_is_markdown_is_not_escaped_twice() -> None:
    once = plain("[a]")
    assert plain(once) == once
    assert "\\[a\\]" in t("runs.unknown", ids="[a]")
    assert "\\[a\\]" in t("runs.unknown", ids=once)
    assert t("runs.found", count=3, total=1.5).count("\\") == 0


CODE = [
    "```python\nx = a[0] # <b> $1 http://c.example\n```",
    "~~~\n![x](u)\n~~~",
    "Usa `a[0]` y `<b>` aquí.",
    "```\nsin fin ![x](u)",
    "1. Haga:\n\n   ```bash\n   test [ -f a ]\n   ```",
    "| `a[0]` | `<b>` |",
]


@pytest.mark.parametrize("text", CODE)
def test_code_of_a_model_is_shown_as_it_is(text: str) -> None:
    assert safe_markdown(text) == text


NO_CODE = [
    "\\`![x](http://c.example)`",
    "a ` b\n` ![x](http://c.example) `",
    "| ` | ![x](http://c.example) ` |",
    "a ``` ![x](http://c.example)",
    "- a\n\n  ```\n![x](http://c.example)\n  ```",
    "```\na\n```\n![x](http://c.example)",
    "   ```\n```\n![x](http://c.example)\n```",
    "<div>\n```\n</div>\n\n```\n![x](http://c.example)\n```",
    "```\na\r```\r![x](http://c.example)",
    "`\r\r![x](http://c.example)`",
    "\\\\[x](http://c.example)",
    "!\\[x](http://c.example)",
    "http\\://c.example",
]


@pytest.mark.parametrize("text", NO_CODE)
def test_what_only_looks_like_code_or_escaped_is_no_way_around(text: str) -> None:
    shown = live(safe_markdown(text)).replace("`", "")
    assert not re.search(r"\]\(|!\[|http:", shown), shown


def test_no_diagram_is_drawn_because_it_can_contain_images() -> None:
    assert safe_markdown("```mermaid\nflowchart\n```").startswith("```text mermaid\n")
    assert safe_markdown("- ```Mermaid-x\n  flowchart\n  ```").startswith("- ```text ")
    assert safe_markdown("~~~ mermaid\nflowchart", whole=False).startswith("~~~text ")


def test_inline_code_cannot_be_closed_by_its_text() -> None:
    assert code("abc") == "`abc`"
    assert code("a`b``c") == "``` a`b``c ```"
    assert code("") == ""


# --- every page, with such texts in every place

FOREIGN = attempts("http://c.example")
MARKDOWN_FIELDS = ("body", "label", "help", "text", "title", "caption")
NO_MARKDOWN = {"html", "code", "text", "arrow_data_frame", "dataframe", "json"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATA_DIR", str(tmp_path_factory.mktemp("foreign")))
        patch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
        patch.setenv("PROVIDER", "demo")
        get_app.clear()
        yield plant(build_app(load_settings()), FOREIGN)
        get_app.clear()


def drawn(page: AppTest) -> Iterator[tuple[str, str]]:
    """Yield (kind of element and field, text) for all that Streamlit reads as Markdown."""
    for node in page:
        message = getattr(node, "proto", None)
        if message is None or node.type in NO_MARKDOWN:
            continue
        for field, value in message.ListFields():
            if field.name in MARKDOWN_FIELDS and isinstance(value, str):
                yield f"{node.type}.{field.name}", value
            if field.name in ("expandable", "popover", "tab", "progress"):
                yield f"{node.type}.{field.name}", str(getattr(value, "label", ""))
            if node.type == "button_group" and field.name == "options":
                yield from ((f"{node.type}.options", option.content) for option in value)


def views(planted: Planted) -> dict[str, tuple[str, dict[str, str]]]:
    first, second = planted.runs
    return {
        "home": ("home", {}),
        "list": ("evaluation", {}),
        "run": ("evaluation", {"run": first}),
        "query": ("evaluation", {"run": first, "query": f"{FOREIGN} 1"}),
        "unknown query": ("evaluation", {"run": first, "query": FOREIGN}),
        "unknown run": ("evaluation", {"run": FOREIGN}),
        "unknown comparison": ("evaluation", {"compare": f"{FOREIGN},{first}"}),
        "comparison": ("evaluation", {"compare": f"{first},{second}"}),
        "evaluation": ("evaluation", {"run": planted.ragas}),
        "leaderboard": ("evaluation", {"view": "leaderboard"}),
        "unknown view": ("evaluation", {"view": FOREIGN, "lang": FOREIGN, "s": FOREIGN, "tour": FOREIGN}),
        "chat": ("chat", {}),
        "admin": ("admin", {}),
        "questions": ("mykb", {}),
    }


VIEWS = list(views(Planted(("", ""), "", "", "")))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("language", ["es", pytest.param("en", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", VIEWS)
def test_no_page_reads_the_texts_of_others_as_markdown(planted: Planted, name: str, language: str) -> None:
    where, address = views(planted)[name]
    page = open_page(where, language, planted.session if name == "chat" else "", **address)
    if name == "chat":
        page.session_state["chat_debug"] = True
        page.run()
    assert not page.exception
    shown = [(kind, text) for kind, text in drawn(page) if "c.example" in text.replace(BREAK, "")]
    assert shown or name in ("unknown view", "list", "leaderboard", "questions")
    for kind, text in shown:
        has_code = kind in ("markdown.body", "caption.help")  # both are drawn as whole Markdown
        left = live(re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text) if has_code else text)
        assert not re.search(r"!\[|\]\((?!#)|<img|\$x|:material/skull|https?:", left), (kind, text)
