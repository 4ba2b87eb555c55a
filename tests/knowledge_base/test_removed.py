"""A removed document is never found, answered, suggested, counted or completed again, wherever text shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chatbot_mvp.api import Turn, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.evaluation.kb.corpus import kb_corpus
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import Analyzer, fold
from tests.cases import batches
from tests.conftest import Command
from tests.fakes import FakeEmbedder, fake_app
from tests.moving import HOLIDAYS, document, moving_kb
from tests.removed import FOLDER, PLANTED, planted_kb, questions, remove, shown
from tests.server.serving import TOKEN, running

STRATEGIES = ("LEXICAL", "BRIDGE_HYBRID", "KB_CHAT", "HYBRID", "SIMPLE_VECTOR", "BRIDGE")
EACH = 20
"""Questions in a case."""


def over(settings: Settings) -> App:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", provider="demo", serve_token=TOKEN)
    return fake_app(changed, embedder=lambda _: FakeEmbedder())


class Place:
    """A server that has the documents before and after their removal, and another one over the same folder."""

    def __init__(self, settings: Settings) -> None:
        self.app, self.other = over(settings), over(settings)
        self.kb_id = planted_kb(self.app)
        self.second = moving_kb(self.app, document("segunda.md", f"{HOLIDAYS}\n# Segunda\n\nLa segunda base.\n"))

    def answers(self, question: str, turn: int) -> Iterator[tuple[str, Any]]:
        """Yield what a person, a program or a run is shown of a question, by the name of the place."""
        context = UserContext(retrieval=(("retrieval_strategy", STRATEGIES[turn % len(STRATEGIES)]),))
        for name, app in (("answer", self.app), ("answer of the other server", self.other)):
            answer = app.answering.ask(self.kb_id, question, context)
            yield name, answer
            yield f"{name} as a reply", record_of(answer).as_reply()
        yield "answer over several", self.app.answering.ask_over([self.kb_id, self.second], question, context)
        asked = Turn("1", question, "strict", "2026-01-01T00:00:00+00:00", "done", answer=record_of(answer))
        yield "questions to ask next", self.app.answering.follow_ups([self.kb_id], [asked], context)
        [trace] = self.app.kbs.pipeline(self.kb_id, search=context.retrieval).retrieve([question])
        yield "whole trace", trace

    def contents(self) -> Iterator[tuple[str, Any]]:
        """Yield what is shown without a question."""
        kbs, kb_id = self.app.kbs, self.kb_id
        yield "knowledge bases", kbs.records()
        yield "documents", self.app.kb_changes.documents(kb_id)
        yield "files", kbs.files(kb_id)
        yield "text", kbs.document(kb_id).text
        yield "chunks", [(one.section, one.text) for one in kbs.chunks(kb_id)]
        yield "contents", kbs.contents(kb_id)
        origin = {"set_id": "", "set_name": "x", "automatic": 0}
        yield (
            "what a run searches",
            kb_corpus(kbs, kb_id, [KbQuestion("1", "¿Dietas?")], origin, 1_200).dataset.documents,
        )
        yield "suggestions", kbs.suggested_questions(kb_id, 500)
        yield "proposed questions", self.app.kb_evaluation.propose_now(kb_id, 200, use_model=False)
        for strategy in ("LEXICAL", "BRIDGE_HYBRID"):
            index = kbs.pipeline(kb_id, search=(("retrieval_strategy", strategy),)).index
            kb = index.kb
            assert kb is not None
            yield "vocabulary", list(kb.vocab_terms.items())
            yield "words", [*kb.words, *kb.written]
            yield "neighbours", dict(kb.cooc_map)
            yield "headings", [*kb.section_titles_normalized, *kb.heading_words]
            letters = [fold(word)[:size] for word in PLANTED for size in range(4, len(word) + 1)]
            yield "completions and corrections", [kb.spellings.nearest(one) for one in letters]
            terms = {word: [*Analyzer("es").terms(word), *Analyzer("en").terms(word)] for word in PLANTED}
            yield "counts", [word for word in PLANTED if any(map(index.lexical.document_frequency, terms[word]))]


@pytest.fixture
def place(settings: Settings) -> Place:
    return Place(settings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", batches(1_000 // EACH, 6))
def test_nothing_of_a_removed_document_is_in_any_answer_to_a_thousand_questions(place: Place, case: int) -> None:
    asked = questions(1_000)[EACH * case : EACH * (case + 1)]
    told = {name for turn, one in enumerate(asked) for name, value in place.answers(one, turn) if shown(value, one)}
    assert {"answer", "answer of the other server", "answer over several", "whole trace"} <= told, "it shows before"
    remove(place.app, place.kb_id)
    for turn, question in enumerate(asked):
        for name, value in place.answers(question, turn):
            assert not shown(value, question), (name, question, shown(value, question))


def test_nothing_of_a_removed_document_is_listed_counted_suggested_or_completed(place: Place) -> None:
    before = list(place.contents())
    assert [name for name, value in before if not shown(value)] == [], "it shows before"
    remove(place.app, place.kb_id)
    after = list(place.contents())
    assert [(name, shown(value)) for name, value in after if shown(value)] == []
    assert len(after) == len(before)
    for app in (place.app, place.other):
        [record] = [one for one in app.kbs.records() if one.kb_id == place.kb_id]
        assert (record.number, len(record.files)) == (4, 4)


def test_nothing_of_a_removed_document_is_in_a_reply_of_the_server(place: Place) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with running(place.other) as url, httpx.Client(base_url=url, headers=headers, timeout=60) as http:

        def replies() -> Iterator[tuple[str, Any, str]]:
            for path in ("/models", "/knowledge_bases", f"/knowledge_bases/{place.kb_id}/documents"):
                yield path, http.get(path).text, ""
            missing = http.get(f"/knowledge_bases/{place.kb_id}/original", params={"path": f"{FOLDER}/x.md"})
            yield "original", missing.text, FOLDER
            for question in questions(40, 7):
                sent = {"model": f"{place.kb_id}:strict", "messages": [{"role": "user", "content": question}]}
                reply = http.post("/chat/completions", json=sent)
                assert reply.status_code == 200
                yield "answer", json.dumps(reply.json(), ensure_ascii=False), question

        assert {name for name, text, typed in replies() if shown(text, typed)} >= {"answer"}
        remove(place.app, place.kb_id)
        for name, text, typed in replies():
            assert not shown(text, typed), (name, typed)


def test_nothing_of_a_removed_document_is_printed_by_a_command(
    settings: Settings, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROVIDER", "demo")
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    app = over(settings.with_changes(data_dir=tmp_path / "data"))
    kb_id = planted_kb(app)
    asked = questions(6, 3)
    commands = [("list",), ("list", kb_id), *(("ask", kb_id, one) for one in asked)]
    assert any(shown(command("kb", *one, "--json")[1], one[-1]) for one in commands)
    remove(app, kb_id)
    for one in commands:
        code, out, err = command("kb", *one, "--json")
        assert code == 0
        assert not shown(out + err, one[-1]), one
