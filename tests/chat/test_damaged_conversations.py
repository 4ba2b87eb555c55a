"""A line of a conversation with a value of another type costs only itself: it is counted, and everything else works."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.chat.transcripts import answer_text, as_json, as_markdown
from chatbot_mvp.errors import ConversationNotFound, FileOfLaterVersion
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.jsonl import read_lines
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE
from tests.fakes import FakeEmbedder, fake_app

SESSION = "0123456789abcdef"
WRONG: tuple[Any, ...] = (None, True, -7, 10**30, 0.5, "x", "", [], [None], {}, {"x": [1]})


@pytest.fixture
def lines(settings: Settings) -> list[dict[str, Any]]:
    """A conversation with a line of every type: an answer, nearest passages, a restart, a failure and a rating."""
    app = fake_app(
        settings.with_changes(retrieval_strategy="LEXICAL"),
        embedder=lambda _: FakeEmbedder(),
        chat_model=DemoModel,
    )
    record = app.kbs.add("manual.md", SOURCE.encode())
    made = app.chat.start(SESSION, record.kb_id, record.kb_name)
    for question in (INSIDE, "¿Cuántos días de vacaciones tiene el portal de Eiffel?", OUTSIDE):
        app.chat.begin(SESSION, made, question, UserContext())
    for live in app.chat.under_way(SESSION, made):
        assert live.join(20.0)
    turns = app.chat.conversation(SESSION, made).turns
    app.chat.rate(SESSION, made, turns[0].turn_id, False, "corto")
    rows, _ = read_lines(settings.conversations_dir / SESSION / f"{made}.jsonl")
    more = {"turn": "f1", "at": rows[0]["at"]}
    rows += [
        {"type": "question", **more, "question": "¿Y ayer?", "mode": "general"},
        {"type": "text", "turn": "f1", "text": "Ayer"},
        {"type": "restart", "turn": "f1"},
        {"type": "failed", "turn": "f1", "failure": {"code": "x", "message": "no", "params": {"a": "b"}}},
    ]
    # One of each kind of part is enough.
    for row in rows:
        for name in ("candidates", "chunks_final", "timings", "prompt"):
            if "answer" in row:
                row["answer"]["debug"][name] = row["answer"]["debug"][name][:1]
    assert {row["type"] for row in rows} == {
        *("conversation", "question", "text", "restart", "answer", "failed", "feedback")
    }
    assert any(row["answer"]["nearest"] for row in rows if row["type"] == "answer")
    return rows


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values inside a value; of a list's parts only the first."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield (*place, name)
            yield from places(part, (*place, name))
    elif isinstance(value, list) and value:
        yield (*place, 0)
        yield from places(value[0], (*place, 0))


def changed(rows: list[dict[str, Any]], number: int, place: tuple[Any, ...], value: Any) -> list[dict[str, Any]]:
    found = copy.deepcopy(rows)
    inner: Any = found[number]
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return found


def use(root: Path, rows: list[dict[str, Any]], kb_id: str) -> int:
    """Open, list, export and delete a conversation of these lines; return how many lines were said to be damaged."""
    path = root / SESSION / "20260101-000000-000-abcdef.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    store = ConversationStore(root)
    try:
        found = store.load(SESSION, path.stem)
    except FileOfLaterVersion:
        return 1
    assert found in store.list(SESSION, found.kb_id)
    assert (found.kb_id == kb_id) or found.damaged or rows[0]["kb_id"] == found.kb_id
    for language in ("es", "en"):
        text = as_markdown(found, language)
        assert not found.damaged or f": {found.damaged}." in text
        for turn in found.turns:
            assert turn.answer is None or isinstance(answer_text(turn.answer, language), str)
    exported = json.loads(as_json(found))
    assert exported["damaged_lines"] == found.damaged
    assert len(exported["turns"]) == len(found.turns)
    assert all(turn in found.branch(turn.turn_id) for turn in found.turns)
    assert all(len(found.history_of(turn.turn_id)) < len(found.turns) for turn in found.turns)
    store.delete(SESSION, path.stem)
    assert not store.list(SESSION, found.kb_id)
    return found.damaged


def check(tmp_path: Path, rows: list[dict[str, Any]], every: int) -> int:
    """Try wrong values in all fields, of them each ``every``-th; return how many were refused."""
    refused = tried = 0
    for number, row in enumerate(rows):
        for place in places(row):
            for value in WRONG:
                tried += 1
                if tried % every == 0:
                    refused += use(tmp_path, changed(rows, number, place, value), rows[0]["kb_id"]) > 0
    return refused


def test_a_line_with_a_wrong_type_is_counted_and_costs_only_itself(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    assert use(tmp_path, lines, lines[0]["kb_id"]) == 0
    assert check(tmp_path, lines, every=23) > 50


@pytest.mark.slow
def test_every_field_may_hold_any_wrong_type(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    assert check(tmp_path, lines, every=1) > 1_500


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("answer", "evidence"), "high"),
        (("answer", "statements", 0, "start"), "0"),
        (("answer", "sources", 0, "text"), 7),
        (("answer", "sources", 0, "highlights", 0), ["a", "b"]),
        (("answer", "mode"), "reckless"),
        (("answer", "debug", "prompt", 0, "content"), None),
        (("answer", "usage", "prompt_tokens"), "many"),
    ],
)
def test_an_answer_of_another_form_is_no_answer(
    tmp_path: Path, lines: list[dict[str, Any]], place: tuple[Any, ...], value: Any
) -> None:
    number = next(number for number, row in enumerate(lines) if row["type"] == "answer")
    assert use(tmp_path, changed(lines, number, place, value), lines[0]["kb_id"]) == 1


def test_a_conversation_of_a_later_version_is_refused_and_left_out_of_the_list(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path)
    made = store.start(SESSION, "kb", "KB")
    path = tmp_path / SESSION / f"{made}.jsonl"
    content = path.read_text("utf-8").replace('"format_version": 1', '"format_version": 2')
    path.write_text(content, "utf-8")
    (tmp_path / SESSION / "x.jsonl").write_text("no name of a conversation")
    other = store.start(SESSION, "kb", "KB")
    later = ConversationStore(tmp_path)
    with pytest.raises(FileOfLaterVersion, match=made):
        later.load(SESSION, made)
    assert [found.conversation_id for found in later.list(SESSION, "kb")] == [other]
    assert path.read_text("utf-8") == content
    with pytest.raises(ConversationNotFound):
        later.load(SESSION, "none-of-this-name")
