"""Knowledge bases over HTTP: the calls of the commands, against the real server on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, fake_app
from tests.server.serving import TOKEN, running

HOLIDAYS = "# Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n\nSe piden por escrito.\n"
COSTS = "# Gastos\n\nLos gastos de viaje se pagan en 30 días.\n"
BOTH = (("rrhh año/vacaciones días.md", HOLIDAYS), ("gastos.md", COSTS))


@dataclass(frozen=True)
class Calls:
    """A client of the knowledge bases of a server."""

    http: httpx.Client
    app: App

    def __call__(self, method: str, path: str = "", status: int = 200, **sent: Any) -> Any:
        reply = self.http.request(method, f"/knowledge_bases{path}", **sent)
        assert reply.status_code == status, reply.text
        return reply.json()

    def send(self, path: str, *files: tuple[str, str], status: int = 200, **fields: Any) -> Any:
        parts = [("file", (name, text.encode())) for name, text in files]
        return self("POST", path, status, files=parts, data=fields)

    def put(self, *files: tuple[str, str], status: int = 200, **fields: Any) -> Any:
        parts = [("file", (name, text.encode())) for name, text in files]
        return self("PUT", "/Manual/documents", status, files=parts, data=fields)

    def paths(self, **query: str) -> list[str]:
        return [one["path"] for one in self("GET", "/Manual/documents", params=query)["data"]]


@pytest.fixture
def calls(settings: Settings) -> Iterator[Calls]:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", serve_token=TOKEN, kb_max_upload_mb=1)
    app = fake_app(changed, embedder=lambda _: FakeEmbedder())
    with running(app) as url, httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        yield Calls(http, app)


def code_of(reply: Any) -> str:
    return str(reply["error"]["code"])


def test_every_call(calls: Calls) -> None:
    made = calls.send("", *BOTH, status=201, name="Manual", tag=["2026", "público"], date="2026-01-31")
    assert (made["kb_name"], made["version"], made["counts"]) == ("Manual", 1, {"added": 2})
    assert [one["kb_id"] for one in calls("GET")["data"]] == [made["kb_id"]]
    documents = calls("GET", "/Manual/documents")["data"]
    assert [one["path"] for one in documents] == ["gastos.md", "rrhh año/vacaciones días.md"]
    assert (documents[0]["tags"], documents[0]["date"]) == (["2026", "público"], "2026-01-31")

    added = calls.send("/Manual/documents", ("gastos.md", COSTS.replace("30", "45")), note="nuevos", tag="", date="")
    assert (added["version"], added["counts"]) == (2, {"replaced": 1})
    replaced = calls("GET", "/Manual/documents")["data"][0]
    assert (replaced["tags"], replaced["date"]) == ([], "")
    [changed] = calls("GET", "/Manual/diff", params={"a": "1"})["documents"]
    assert ["45 días" in text for text in changed["paragraphs"][0]["after"]] == [True]
    original = calls.http.get("/knowledge_bases/Manual/original", params={"path": "gastos.md", "version": "1"})
    assert (original.content.decode(), original.headers["content-disposition"]) == (COSTS, "attachment")

    steps = [
        {"move": "rrhh año", "to": "personas"},
        {"describe": "gastos.md", "title": "Gastos de viaje", "tags": []},
    ]
    staged = calls("PATCH", "/Manual/documents", json={"changes": steps, "stage": True})
    assert calls("GET", "/Manual/draft")["version_id"] == staged["version_id"]
    assert calls.paths(version="draft") == ["gastos.md", "personas/vacaciones días.md"]
    assert calls.paths() == ["gastos.md", "rrhh año/vacaciones días.md"]
    assert calls("POST", "/Manual/draft", json={"note": "listo"})["version"] == 3
    assert calls.paths() == ["gastos.md", "personas/vacaciones días.md"]
    calls("PATCH", "/Manual/documents", json={"changes": [{"remove": "personas"}], "stage": True})
    assert calls("DELETE", "/Manual/draft")["draft"] is None

    assert calls("POST", "/Manual/restore", json={"version": 1})["version"] == 4
    history = calls("GET", "/Manual/history")["data"]
    assert [step["what"] for step in history] == ["restored", "published", "changed", "created"]
    assert [step["note"] for step in history] == ["", "listo", "nuevos", ""]
    assert calls("PATCH", "/Manual", json={"name": "Personas"})["kb_name"] == "Personas"
    assert calls("GET", f"/{made['kb_id']}")["kb_name"] == "Personas"
    assert calls("DELETE", "/Personas")["deleted"] == made["kb_id"]
    assert calls("GET")["data"] == []


def test_documents_are_made_equal_to_the_files_that_are_sent(calls: Calls) -> None:
    calls.send("", *BOTH, ("otro.md", "# Otro\n\nUn texto.\n"), status=201, name="Manual", title="Un título")
    (_, holidays), new = BOTH[0], ("nuevo.md", "# Nuevo\n\nUn texto nuevo.\n")
    sent = (("personas/vacaciones.md", holidays), ("gastos.md", COSTS.replace("30", "45")), new)
    told = calls.put(*sent, dry_run="true")
    assert (told["dry_run"], told["version"], calls.paths()) == (True, 1, sorted([*dict(BOTH), "otro.md"]))
    made = calls.put(*sent, note="de la carpeta")
    assert made["counts"] == told["counts"] == {"added": 1, "moved": 1, "removed": 1, "replaced": 1}
    assert calls.paths() == ["gastos.md", "nuevo.md", "personas/vacaciones.md"]
    assert [one["title"] for one in calls("GET", "/Manual/documents")["data"]] == ["Un título", "", "Un título"]
    assert calls.put(*sent)["changed"] is False
    assert calls.put(("dos.md", COSTS), into="personas", yes="true")["counts"] == {"added": 1, "removed": 1}
    assert calls.paths() == ["gastos.md", "nuevo.md", "personas/dos.md"]
    assert code_of(calls.put(new, status=409)) == "kb_sync_removes_most"
    assert calls.put(new, yes="true", stage="true")["counts"] == {"removed": 2, "unchanged": 1}
    assert (calls.paths(version="draft"), len(calls.paths())) == (["nuevo.md"], 3)
    assert code_of(calls.put(new, status=400, title="x")) == "unknown_field"
    assert code_of(calls.put(new, status=400, yes="1")) == "invalid"


def test_errors_have_the_codes_of_the_commands_and_a_status(calls: Calls) -> None:
    calls.send("", *BOTH, status=201, name="Manual")
    one = {"params": {"path": "nada.md"}}
    for method, path, status, code, sent in (
        ("GET", "/Nada", 404, "kb_not_found", {}),
        ("GET", "/Manual/original", 404, "kb_document_not_found", one),
        ("GET", "/Manual/draft", 404, "kb_nothing_staged", {}),
        ("POST", "/Manual/draft", 404, "kb_nothing_staged", {}),
        ("GET", "/Manual/diff", 400, "missing", {}),
        ("GET", "/Manual/diff", 404, "kb_version_not_found", {"params": {"a": "7"}}),
        ("POST", "/Manual/restore", 400, "missing", {"json": {}}),
        ("POST", "/Manual/restore", 400, "unknown_field", {"json": {"verson": 1}}),
        ("POST", "/Manual/restore", 400, "not_json", {"content": b"{"}),
        ("PATCH", "/Manual", 400, "missing", {"json": {"name": " "}}),
        ("PATCH", "/Manual/documents", 400, "invalid", {"json": {"changes": []}}),
        ("PATCH", "/Manual/documents", 400, "invalid", {"json": {"changes": [{"remove": 1}]}}),
        ("PATCH", "/Manual/documents", 400, "invalid", {"json": {"changes": [{"erase": "gastos.md"}]}}),
        ("PATCH", "/Manual/documents", 404, "kb_document_not_found", {"json": {"changes": [{"remove": "x"}]}}),
        ("POST", "/Manual/documents", 415, "not_a_form", {"json": {}}),
        ("POST", "/Manual/documents", 400, "no_file", {"files": {"note": (None, "x")}}),
        ("POST", "/Manual/documents", 400, "unknown_field", {"files": {"tags": (None, "x"), "file": ("a.md", b"a")}}),
        ("POST", "/Manual/documents", 400, "upload_type_unsupported", {"files": {"file": ("a.png", b"a")}}),
        ("POST", "/Manual/documents", 413, "upload_too_large", {"files": {"file": ("a.md", b"a " * 600_000)}}),
        ("POST", "", 409, "kb_name_taken", {"files": {"name": (None, "Manual"), "file": ("a.md", b"# A\n\nTexto.")}}),
        ("POST", "", 400, "missing", {"files": {"file": ("a.md", b"# A\n\nTexto.")}}),
    ):
        assert code_of(calls(method, path, status, **sent)) == code, (method, path, sent)
    assert [step["number"] for step in calls("GET", "/Manual/history")["data"]] == [1]


def test_every_call_needs_the_token(calls: Calls) -> None:
    calls.send("", *BOTH, status=201, name="Manual")
    for path in (
        "",
        "/Manual",
        "/Manual/documents",
        "/Manual/original",
        "/Manual/history",
        "/Manual/diff",
        "/Manual/draft",
    ):
        assert httpx.get(f"{calls.http.base_url}knowledge_bases{path}").status_code == 401, path
    assert httpx.delete(f"{calls.http.base_url}knowledge_bases/Manual").status_code == 401
    assert httpx.post(f"{calls.http.base_url}knowledge_bases/Manual/restore", json={"version": 1}).status_code == 401
    assert len(calls("GET")["data"]) == 1


def test_an_unusable_file_among_others_is_told_and_the_others_go_in(calls: Calls) -> None:
    made = calls.send(
        "", *BOTH, ("foto.png", "x"), ("../../fuera.md", "# Fuera\n\nTexto.\n"), status=201, name="Manual"
    )
    assert (made["complete"], made["counts"]) == (False, {"added": 3, "failed": 1})
    assert calls.paths() == ["fuera.md", "gastos.md", "rrhh año/vacaciones días.md"]


def test_a_body_without_end_is_refused_before_it_is_kept(calls: Calls) -> None:
    def endless() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n'
        for _ in range(300):
            yield b"a" * 1_000_000

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    try:
        reply = calls.http.post("/knowledge_bases", content=endless(), headers=headers, timeout=60)
    except httpx.TransportError:  # the server closed the connection while it was sent
        return
    assert (reply.status_code, code_of(reply.json())) == (413, "request_too_large")


def test_those_who_add_at_once_are_both_there_or_told_to_try_again(calls: Calls) -> None:
    calls.send("", *BOTH, status=201, name="Manual")
    found: dict[str, int] = {}

    def add(name: str) -> None:
        files = {"file": (name, f"# {name}\n\nTexto de {name}.\n".encode())}
        found[name] = calls.http.post("/knowledge_bases/Manual/documents", files=files).status_code

    threads = [threading.Thread(target=add, args=(f"{number}.md",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found.values()) <= {200, 503}
    assert 200 in found.values()
    new = [path for path in calls.paths() if path in found]
    assert sorted(new) == sorted(name for name, status in found.items() if status == 200)
