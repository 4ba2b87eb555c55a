"""One answer everywhere: page, command line, server and exports tell the same of it, case by case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.prompting import no_evidence, no_model
from chatbot_mvp.chat.quality import rephrase
from chatbot_mvp.chat.transcripts import UNSUPPORTED_MARK
from chatbot_mvp.cli import kb as kb_commands
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared import state
from streamlit_app.shared.state import get_app
from tests.chat.conftest import INSIDE, SOURCE
from tests.conftest import Command
from tests.fakes import FakeChatModel, FakeEmbedder, FakeOutage, fake_app
from tests.server.serving import TOKEN, running, user
from tests.ui.test_pages import open_page, texts
from tests.waiting import wait_until

TRUE = "Cada persona dispone de 23 días laborables de vacaciones [1]."
FALSE = "La empresa regala un yate [1]."
NEAR = "¿Cuántos días de vacaciones dan en Mongolia exterior?"
FAR = "¿Xqzw kjxv?"
UNPROVEN = "¿De cuántos días laborables de vacaciones no dispone cada persona?"
REFUSAL = no_evidence("es")


@dataclass(frozen=True)
class Case:
    """A question, the model's reply, and what every surface must tell of the answer."""

    question: str
    reply: str
    """"" if the provider fails."""
    mode: str
    outcome: str
    why: str | None
    from_kb: bool
    supported: tuple[bool, ...]
    text: str
    """A part of the answer's text."""
    fell_back: bool = False


CASES = {
    "supported": Case(INSIDE, TRUE, "strict", "answered", None, True, (True,), "23 días laborables"),
    "mixed": Case(INSIDE, f"{TRUE} {FALSE}", "strict", "answered", None, True, (True, False), "regala un yate"),
    "invented": Case(INSIDE, FALSE, "strict", "nearest", "unsupported", False, (), REFUSAL),
    "declined": Case(INSIDE, REFUSAL, "strict", "nearest", "declined", False, (), REFUSAL),
    "near": Case(NEAR, TRUE, "strict", "nearest", "evidence", False, (), REFUSAL),
    "far": Case(FAR, TRUE, "strict", "refused", "topic", False, (), REFUSAL),
    "provider fails": Case(INSIDE, "", "strict", "answered", None, True, (True,), "23 días laborables", True),
    "provider fails, unproven": Case(UNPROVEN, "", "strict", "nearest", "evidence", False, (), REFUSAL, True),
    "general": Case(INSIDE, TRUE, "general", "answered", None, True, (True,), "23 días laborables"),
    "general, invented": Case(INSIDE, FALSE, "general", "answered", None, False, (False,), "regala un yate"),
    "general, its own": Case(FAR, "Es un galimatías.", "general", "answered", None, False, (), "galimatías"),
    "general, provider fails": Case(FAR, "", "general", "refused", "topic", False, (), no_model("es"), True),
}


class Told:
    """An App whose model gives the reply of the case that is asked."""

    def __init__(self, app: App, url: str, kb_id: str) -> None:
        self.app, self.url, self.kb_id = app, url, kb_id
        self.reply = ""

    def answer(self, _: ChatRequest) -> str:
        if not self.reply:
            raise FakeOutage(provider="fake")
        return self.reply


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    holder: list[Told] = []
    model = FakeChatModel(lambda request: holder[0].answer(request))
    settings = load_settings(
        data_dir=tmp_path_factory.mktemp("data"), retrieval_strategy="LEXICAL", kb_doubt_evidence=1.0
    )
    app = fake_app(settings, lambda _: FakeEmbedder(), lambda: model)
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    with running(app) as url:
        holder.append(Told(app, url, kb_id))
        yield holder[0]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, told: Told) -> Case:
    found = CASES[request.param]
    told.reply = found.reply
    return found


def checked(reply: Any, case: Case) -> dict[str, Any]:
    """Check a reply in JSON against its case; what must be the same on all surfaces."""
    assert (reply["outcome"], reply["why"], reply["from_kb"]) == (case.outcome, case.why, case.from_kb)
    assert reply["fell_back"] is case.fell_back
    assert reply["abstained"] is (case.outcome != "answered")
    assert tuple(each["supported"] for each in reply["statements"]) == case.supported
    assert (reply["nearest"] is not None) is (case.outcome == "nearest" and case.mode == "strict")
    assert not reply["from_kb"] or any(each["supported"] for each in reply["statements"])
    same = {**reply, "sources": [{name: v for name, v in s.items() if name != "n"} for s in reply["sources"]]}
    names = ("outcome", "why", "from_kb", "abstained", "evidence", "relevance", "sources", "statements", "nearest")
    assert reply["hint"] == (rephrase("es") if case.outcome != "answered" else "")
    same["quality"] = {name: value for name, value in reply["quality"].items() if name != "seconds"}
    return {name: same[name] for name in (*names, "hint", "quality", "fell_back", "vectors_share")}


def on_record(told: Told, case: Case) -> tuple[str, dict[str, Any], str, str]:
    """Ask in a conversation: (text, reply, conversation as JSON, as Markdown)."""
    chat = told.app.chat
    session = chat.new_session()
    conversation = chat.start(session, told.kb_id, "manual.md")
    turn = chat.begin(session, conversation, case.question, UserContext(case.mode, "es"))  # type: ignore[arg-type]
    assert turn.join(20)
    exported, written = (chat.export(session, conversation, form, "es") for form in ("json", "markdown"))
    [of_json] = json.loads(exported)["turns"]
    return of_json["answer"], of_json, exported, written


def test_server_stream_command_and_export_tell_the_same(
    told: Told, case: Case, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    text, exported, _, written = on_record(told, case)
    expected = checked(exported, case)
    assert case.text in text

    client = openai.OpenAI(base_url=told.url, api_key=TOKEN, max_retries=0, timeout=20)
    asked: Any = {"model": f"{told.kb_id}:{case.mode}", "messages": user(case.question)}
    plain = client.chat.completions.create(**asked)
    # A client of this protocol shows the content alone, so it has the hint too.
    content = "\n\n".join(part for part in (text, expected["hint"]) if part)
    assert plain.choices[0].message.content == content
    assert checked(plain.model_dump(), case) == expected

    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
    assert chunks[-1].answer == text
    assert checked(chunks[-1].model_dump(), case) == expected

    monkeypatch.setattr(kb_commands, "open_app", lambda _: told.app)
    path = tmp_path / "manual.md"
    path.write_text(SOURCE, "utf-8")
    code, out, _ = command("kb", "ask", str(path), case.question, "--mode", case.mode, "--json")
    value = json.loads(out)
    assert (code, value["answer"]) == (0, text)
    assert checked(value, case) == expected

    code, out, _ = command("kb", "ask", str(path), case.question, "--mode", case.mode)
    assert code == 0
    assert out.startswith(text.partition(" [")[0].rstrip("."))
    legend = out.count(UNSUPPORTED_MARK) > 0
    assert out.count(UNSUPPORTED_MARK) - legend == case.supported.count(False)
    for said in (out, written):
        assert ("Reformule su pregunta" in said) is (case.outcome != "answered")
        for part in ("Calidad: evidencia", "pregunta ampliada: no · pasajes reordenados: no"):
            assert part in said
        shown = [*expected["sources"], *(expected["nearest"]["passages"] if expected["nearest"] else ())]
        assert said.count("(manual.md, ") == len(shown)
        assert ("no es una respuesta" in said) is (expected["nearest"] is not None)
        assert ("no respaldan ninguna" in said) is (case.why == "unsupported")
        assert ("no encontró la respuesta" in said) is (case.why == "declined")
        assert ("contestó «demo»" in said) is case.fell_back
        assert ("No procede de la base" in said) is (not case.from_kb and case.outcome == "answered")
    assert written.count("Sin respaldo en la fuente citada") == case.supported.count(False)


PAGE_CASES = ("mixed", "invented", "general, invented", "provider fails")


@pytest.mark.parametrize(
    "name", [name if name in PAGE_CASES else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_the_page_tells_the_same(told: Told, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    told.reply = case.reply
    monkeypatch.setattr(state, "build_app", lambda _: told.app)
    get_app.clear()
    page: AppTest = open_page("chat")
    if case.mode == "general":
        page.session_state["chat_mode"] = "general"
        page.run()
    page.chat_input[0].set_value(case.question).run()
    assert not page.exception, page.exception
    wait_until(lambda: "chat-stop" not in str(page), 10, "the answer")
    shown = texts(page)
    get_app.clear()
    near = case.outcome == "nearest" and case.mode == "strict"  # its heading says what is known, in place of a refusal
    assert ("Lo más cercano" if near else case.text.replace(" [1]", "")) in shown
    assert (REFUSAL in shown) is (case.outcome == "refused" and case.mode == "strict")
    assert shown.count(":orange-background[") == case.supported.count(False)
    assert ("no procede de la base" in shown) is (not case.from_kb and case.outcome == "answered")
    assert ("no es una respuesta" in shown or "no son una respuesta" in shown) is (case.outcome == "nearest")
    assert ("respaldo suficiente" in shown) is (False in case.supported)
    assert ("no respaldan ninguna" in shown) is (case.why == "unsupported")
    assert ("no encontró la respuesta" in shown) is (case.why == "declined")
    assert bool(page.warning) is case.fell_back
    assert ("Reformule su pregunta" in shown) is (case.outcome != "answered")
    decides = "prueba" if case.fell_back and case.outcome == "answered" else "evidencia"  # of a quote that is proven
    for part in (decides, "pregunta ampliada: no", "pasajes reordenados: no"):
        assert part in shown


def test_the_records_of_a_run_have_the_evidence_and_the_passages_of_the_answer(told: Told, tmp_path: Path) -> None:
    asked = {"inside": (INSIDE, "answerable"), "near": (NEAR, "near"), "far": (FAR, "far")}
    path = tmp_path / "questions.jsonl"
    rows = [{"id": name, "question": question, "kind": kind} for name, (question, kind) in asked.items()]
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    result = told.app.kb_evaluation.evaluate(told.kb_id, path)
    folder = told.app.settings.results_dir / str(result["run_id"])
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
    recorded = {row["query_id"]: row["payload"] for row in records if row["phase"] == "retrieve"}
    assert recorded.keys() == asked.keys()
    told.reply = TRUE
    for name, (question, _) in asked.items():
        answer = told.app.answering.ask(told.kb_id, question)
        assert recorded[name]["evidence"] == pytest.approx(answer.trace.evidence)
        assert recorded[name]["topic"] == answer.trace.topic
        final = [hit.chunk.chunk_id for hit in answer.trace.chunks_final]
        assert [passage[0] for passage in recorded[name]["passages"]] == final
        enough = recorded[name]["evidence"] >= told.app.settings.kb_min_evidence and bool(final)
        assert enough is (answer.outcome == "answered")
