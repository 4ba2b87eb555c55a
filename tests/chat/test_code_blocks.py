"""A citation that belongs to a block of code stands below the block, not inside it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.code_blocks import code_blocks, with_closed_fences
from chatbot_mvp.chat.verification import Statement, with_citations
from tests.chat.conftest import INSIDE
from tests.chat.test_answering import ask  # noqa: F401 -- fixture
from tests.fakes import FakeChatModel

SUPPORTED = "Cada persona dispone de 23 días laborables de vacaciones."


@pytest.mark.parametrize(
    ("written", "closed"),
    [
        ("Use:\n```\nx[7]\n``` [1] [4]", "Use:\n```\nx[7]\n```\n\n[1] [4]"),
        ("Use:\n```\nx[7]\n```[1]\nMás.", "Use:\n```\nx[7]\n```\n\n[1]\nMás."),
        ("Use:\n\n~~~sh\nls\n~~~ [2].", "Use:\n\n~~~sh\nls\n~~~\n\n[2]."),
        ("- Use:\n  ```sh\n  ls\n  ``` [2]\n- Más.", "- Use:\n  ```sh\n  ls\n  ```\n\n  [2]\n- Más."),
        ("````\n```\n``` [1]\n```` [1]", "````\n```\n``` [1]\n````\n\n[1]"),
        # The reply was cut off inside the code.
        ("Use:\n```sh\nls", "Use:\n```sh\nls\n```"),
        ("Use:\n````\nls\n```\n", "Use:\n````\nls\n```\n````"),
        # Nothing to mend: closed blocks, the beginning of a block, spans, and text.
        ("Use:\n```sh\nls\n```\n[1]", None),
        ("``` [1]\nls\n```", None),
        ("Use `ls` o ```ls``` [1].", None),
        ("Nada. [1]", None),
        ("", None),
    ],
)
def test_a_fence_ends_its_block_and_what_follows_it_stands_below(written: str, closed: str | None) -> None:
    assert with_closed_fences(written) == (written if closed is None else closed)


def test_a_sentence_inside_code_is_cited_below_the_block() -> None:
    text = "Uno.\n\n```\ndos.\n\ntres.\n```\n\nCuatro."
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("Uno.", "dos.", "tres.\n```", "Cuatro.")]
    statements = tuple(
        Statement(start, end, (number,), 1.0, True, False)
        for (start, end), number in zip(spans, (1, 2, 3, 1), strict=True)
    )
    cited, moved = with_citations(text, statements)
    assert cited == "Uno. [1]\n\n```\ndos.\n\ntres.\n```\n\n[2] [3]\n\nCuatro. [1]"
    assert [cited[s.start : s.end] for s in moved] == ["Uno.", "dos.", "tres.\n```", "Cuatro."]


@pytest.mark.parametrize("mark", ["", " [1]", "\n[1]"])
def test_the_citation_of_an_answer_that_ends_in_code_is_no_code(ask, pipeline, mark: str) -> None:  # noqa: F811
    answer: Answer = ask(pipeline, FakeChatModel(f"```\n{SUPPORTED}\n```{mark}"), INSIDE, "strict")
    assert answer.text.replace("\n\n", "\n") == f"```\n{SUPPORTED}\n```\n[1]"
    assert [source.number for source in answer.sources] == [1]


@given(st.text(alphabet="`~ \n[1]a", max_size=60))
def test_closing_changes_nothing_twice_and_loses_no_character(text: str) -> None:
    closed = with_closed_fences(text)
    assert with_closed_fences(closed) == closed
    rest = iter(closed)
    assert all(char in rest for char in text.rstrip())
    assert all(0 <= start < end <= len(text) for start, end in code_blocks(text))


def test_many_fences_take_linear_time() -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        for pattern in ("```\n", "``` [1]\n", "~~~\n```\n", "`" * 7 + "\n", " " * 9):
            with_closed_fences(pattern * count)
        return time.process_time() - started

    seconds(100)
    assert seconds(20_000) < 50 * max(seconds(2_000), 0.01), "ten times as long would be in proportion"
